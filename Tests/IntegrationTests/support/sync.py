"""The sync service as a process of its own, and a client of it."""

import atexit
import http.client
import json
import pathlib
import re
import signal
import subprocess
import threading
import urllib.parse

from support.gateway import BINARY

PROGRAM = pathlib.Path(BINARY).with_name("cutover-sync")


class SyncService:
    """Starts on a free port; `kill` ends it as a power cut would, `start` brings it back with its data."""

    def __init__(self, directory, *flags):
        self.directory = pathlib.Path(directory)
        self.flags = flags
        self.process = None
        self.port = 0
        self.start()

    def start(self):
        # Ended with this process at the latest, whatever has become of the test.
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--data", str(self.directory / "sync"), *self.flags],
            stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            found = re.search(r"listening on \w+://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        else:
            raise AssertionError(f"cutover-sync did not start: {''.join(lines)}")
        # Whoever does not read what it says would stop it at last.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        assert self.process.wait(timeout=30) in (0, -signal.SIGKILL)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, target, body=None, headers=None, connection=None):
        """(status, headers, body): JSON as a value, anything else as bytes."""
        own = connection or self.connect()
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        own.request(method, target, body=body, headers=headers or {})
        answer = own.getresponse()
        data = answer.read()
        if not connection:
            own.close()
        is_json = data and answer.headers.get("Content-Type") in ("application/json", "application/problem+json")
        return answer.status, answer.headers, json.loads(data) if is_json else data

    def get(self, target, user=None):
        return self.ask("GET", target, headers={"X-User-Id": user} if user else {})

    def put(self, *changes, connection=None):
        """One change alone, or a list of several."""
        body = changes[0] if len(changes) == 1 else {"changes": list(changes)}
        return self.ask("POST", "/changes", body, {"Content-Type": "application/json"}, connection)

    def all(self, target, user=None, limit=3):
        """Every item of a list, page by page."""
        items, cursor = [], ""
        mark = "&" if "?" in target else "?"
        while cursor is not None:
            place = urllib.parse.quote(cursor, safe="")
            status, _, page = self.get(f"{target}{mark}cursor={place}&limit={limit}", user)
            assert status == 200, page
            assert len(page["items"]) <= limit
            items += page["items"]
            cursor = page["next"]
        return items


def change(record, revision, payload=None, user="u1", kind="document", key=None, **more):
    """A change in the contract's shape; no payload deletes."""
    made = {
        "id": f"c-{record}-{revision}", "userId": user, "recordId": record, "deviceId": "d1", "revision": revision,
        "type": kind, "idempotencyKey": key or f"{record}-{revision}", **more,
    }
    if payload is None:
        made["deleted"] = True
    else:
        made["payload"] = payload
    return made
