"""A real Prometheus that scrapes gateways by the scrape example, every second."""

import json
import pathlib
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from .gateway import ROOT, free_port
from .waiting import eventually

DASHBOARDS = ROOT / "dashboards"


class Prometheus:
    """Its configuration is the shipped one with other targets, a faster pace, and rules that wait for nothing."""

    def __init__(self, directory, *gateways):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir()
        self.targets = [f"{gateway.admin_host}:{gateway.admin_port}" for gateway in gateways]
        rules = (DASHBOARDS / "prometheus-rules.yaml").read_text()
        # How long a condition has to last is played by promtool; here it is whether it holds on real series.
        rules = re.sub(r"(?m)^( +)for: .*$", r"\1for: 0s", rules)
        (self.directory / "prometheus-rules.yaml").write_text(rules)
        config = (DASHBOARDS / "prometheus.yaml").read_text()
        config, paces = re.subn(r"(scrape|evaluation)_interval: 5s", r"\1_interval: 1s", config)
        config, targets = re.subn(r"targets: \[.*\]", f"targets: {json.dumps(self.targets)}", config)
        assert (paces, targets) == (2, 1), "the scrape example is not what it was"
        (self.directory / "prometheus.yaml").write_text(config)
        self.log = open(self.directory / "prometheus.log", "wb")
        self.url = f"http://127.0.0.1:{free_port()}"
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.directory}/prometheus.yaml",
             f"--storage.tsdb.path={self.directory}/data", f"--web.listen-address={self.url.removeprefix('http://')}"],
            stdout=self.log, stderr=subprocess.STDOUT)
        eventually(self.is_ready, "Prometheus is ready", 60)

    def is_ready(self):
        assert self.process.poll() is None, (self.directory / "prometheus.log").read_text()[-4000:]
        try:
            with urllib.request.urlopen(self.url + "/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()

    def ask(self, path, **parameters):
        """The data of an answer of its API, which has to be a success."""
        query = urllib.parse.urlencode(parameters, doseq=True)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=30) as answer:
                body = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path} {parameters}: {error.read().decode()}") from None
        assert body["status"] == "success", body
        return body["data"]

    def query(self, expression):
        """The series that an expression has now: [(labels, value)]."""
        result = self.ask("query", query=expression)["result"]
        return [(series["metric"], float(series["value"][1])) for series in result]

    def scrapes(self):
        """How many scrapes of each gateway it has, at least."""
        counts = [value for _, value in self.query('count_over_time(cutover_workers{job="cutover"}[5m])')]
        return min(counts) if len(counts) == len(self.targets) else 0

    def rules(self):
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def alerts(self):
        """The names of the alerts that fire."""
        return {alert["labels"]["alertname"] for alert in self.ask("alerts")["alerts"] if alert["state"] == "firing"}
