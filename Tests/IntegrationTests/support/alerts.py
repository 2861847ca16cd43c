"""Receivers of alerts: one that can be scripted, and the real Alertmanager."""

import json
import subprocess
import urllib.request

from .backend import Backend, reply
from .gateway import free_port
from .waiting import eventually


class Receiver(Backend):
    """Takes what is posted to it; `self.answer` may be scripted as that of any backend."""

    def __init__(self):
        super().__init__(lambda request: reply(b"ok"))

    @property
    def hook(self):
        """The URL of a plain receiver; its path is a secret."""
        return self.url + "/hook/s3cret"

    def alerts(self, name=None, status=None):
        """What has arrived, in order."""
        got = [json.loads(request.body) for request in list(self.requests)]
        return [alert for alert in got if name in (None, alert["name"]) and status in (None, alert["status"])]

    def wait_for(self, name, count=1, status=None, seconds=30):
        """The alerts of that name, once there are so many."""
        found = eventually(
            lambda: len(self.alerts(name, status)) >= count and self.alerts(name, status),
            f"{count} {name} {status or ''} arrive", seconds)
        assert len(found) == count, found
        return found


class Alertmanager:
    """The real one, alone, telling nobody."""

    def __init__(self, directory):
        config = directory / "alertmanager.yml"
        config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = open(directory / "alertmanager.log", "wb")
        self.process = subprocess.Popen(
            ["prometheus-alertmanager", f"--config.file={config}", f"--storage.path={directory / 'alertmanager'}",
             f"--web.listen-address={self.url.removeprefix('http://')}", "--cluster.listen-address="],
            stdout=self.log, stderr=subprocess.STDOUT)
        eventually(self._is_ready, "Alertmanager is ready", 60)

    def _is_ready(self):
        assert self.process.poll() is None, "Alertmanager ended"
        try:
            with urllib.request.urlopen(self.url + "/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def alerts(self, name=None):
        """What Alertmanager shows: what has not ended."""
        with urllib.request.urlopen(self.url + "/api/v2/alerts", timeout=10) as answer:
            return [alert for alert in json.load(answer) if name in (None, alert["labels"]["alertname"])]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
