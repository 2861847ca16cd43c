"""Programs that a running gateway is replaced by, and clients who must not notice."""

import os
import pathlib
import random
import shutil
import threading
import time

from .gateway import BINARY
from .waiting import eventually
from .wire import Connection, Truncated, request_bytes

# Runs $0 instead of the binary that stands first.
INSTEAD = ["/bin/sh", "-c", 'shift; exec "$0" "$@"']


class Program:
    """The path at which a gateway finds its program; a link to one of several."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.path = self.directory / "cutover"
        self.path.symlink_to(BINARY)
        self.options = {"prefix": [*INSTEAD, str(self.path)]}

    def point_to(self, target):
        """Another program lies at the path from now on: at once, as a package manager does it."""
        draft = self.directory / "draft"
        draft.symlink_to(target)
        os.replace(draft, self.path)

    def copy(self, name, replace=(b"", b"")):
        """A copy of the binary with some of its bytes changed."""
        made = self.directory / name
        if replace[0]:
            code = pathlib.Path(BINARY).read_bytes()
            assert replace[0] in code and len(replace[0]) == len(replace[1])
            made.write_bytes(code.replace(*replace))
            made.chmod(0o755)
        else:
            shutil.copy(BINARY, made)
        return made

    def script(self, name, text):
        made = self.directory / name
        made.write_text("#!/bin/sh\n" + text)
        made.chmod(0o755)
        return made


def runs(gateway):
    """The file that the process runs now."""
    return os.path.realpath(os.readlink(f"/proc/{gateway.process.pid}/exe"))


def upgrade(gateway, seconds=60):
    """Asks for it and waits until the next program is ready; the seconds that it took."""
    starts = gateway.log().count("cutover: ready")
    began = time.monotonic()
    gateway.process.send_signal(12)
    eventually(lambda: gateway.log().count("cutover: ready") > starts, "the next program is ready", seconds)
    return time.monotonic() - began


class Client(threading.Thread):
    """Asks one thing after the other and counts everything that a client of nginx would not have seen.

    A kept connection that is closed before a byte of the answer came is no error: any server may do that between two
    requests, and the client repeats (RFC 9112 §9.3.1). Anything else is.
    """

    def __init__(self, name, address, keeps, ended):
        super().__init__(daemon=True)
        self.who, self.address, self.keeps, self.ended = name, address, keeps, ended
        self.random = random.Random(name)
        self.errors, self.acknowledged = [], {}
        self.asked = self.repeated = 0
        self.longest = 0.0
        self.connection = None

    def run(self):
        while not self.ended.is_set():
            self.asked += 1
            began = time.monotonic()
            if self.asked % 3:
                self.ask("GET", "/notes/none", None)
            else:
                path = f"/notes/{self.who}-{self.asked}"
                body = f"{self.who} {self.asked}".encode()
                if self.ask("PUT", path, body) == 200:
                    self.acknowledged[path] = body
            self.longest = max(self.longest, time.monotonic() - began)
            time.sleep(self.random.uniform(0, 0.02))
        self.drop()

    def ask(self, method, path, body):
        headers = [("Idempotency-Key", f"key-{self.who}-{self.asked}")] if body is not None else []
        while True:
            isNew = self.connection is None
            seen = 0
            try:
                if isNew:
                    self.connection = Connection(self.address, timeout=60)
                seen = len(self.connection.reader.consumed)
                self.connection.send(request_bytes(method, path, headers, body, user=self.who))
                answer = self.connection.response(method)
            except (OSError, Truncated) as error:
                hasAnswer = self.connection is not None and (
                    len(self.connection.reader.consumed) > seen or self.connection.reader.buffer)
                self.drop()
                if isNew or hasAnswer:
                    self.errors.append(f"{method} {path}: {error!r}")
                    return None
                self.repeated += 1
                continue
            if answer.status not in (200, 404):
                self.errors.append(f"{method} {path}: {answer!r}")
            if not self.keeps or answer["Connection"] == "close":
                self.drop()
            return answer.status

    def drop(self):
        if self.connection:
            self.connection.close()
            self.connection = None


class Clients:
    """Several of them, half of which keep their connections."""

    def __init__(self, gateway, count=8):
        self.ended = threading.Event()
        self.all = [Client(f"user-{n}", gateway.address, n % 2 == 0, self.ended) for n in range(count)]
        for client in self.all:
            client.start()

    @property
    def asked(self):
        return sum(client.asked for client in self.all)

    def go_on(self, count=100):
        """Waits until so many more requests were made."""
        target = self.asked + count
        eventually(lambda: self.asked >= target, "clients are answered", 60)

    def finish(self):
        self.ended.set()
        for client in self.all:
            client.join(60)
            assert not client.is_alive(), f"{client.who} waits for an answer"
        return [error for client in self.all for error in client.errors]

    @property
    def acknowledged(self):
        return {path: body for client in self.all for path, body in client.acknowledged.items()}
