"""A backend in a process of its own that deduplicates by `Idempotency-Key` and remembers what it applied, in order.

Run as a script it serves; `Recorder` is the handle that a test holds. Commands and answers are lines of JSON on the
script's standard input and output, and it ends with its standard input: nothing is left behind, whatever a test does.

A write is named by its header `X-Write`, which both legs carry: a gateway that sent one write under two keys would be
found out, because the name would then be applied twice.
"""

import asyncio
import json
import pathlib
import socket
import subprocess
import sys
import threading

STORED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n" b'{"stored":true}'
ABSENT = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
DELETED = b"HTTP/1.1 204 No Content\r\n\r\n"


def refusal(status):
    return b"HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}" % status


class Ledger:
    """What was applied, and how the backend misbehaves at the moment."""

    def __init__(self):
        self.documents, self.revisions, self.answers = {}, {}, {}
        self.order = {}  # record → names of writes, in the order of their application
        self.arrivals = {}  # key → how often it came
        self.connects = self.requests = 0
        self.violations = []
        self.mode = {"status": None, "refuse": {}, "slam": False, "delay": 0.0}

    def answer(self, method, target, headers, body):
        """The whole answer to one request."""
        self.requests += 1
        if self.mode["status"]:
            return refusal(self.mode["status"])
        path = target.split("?")[0]
        if method in ("GET", "HEAD"):
            return self._read(path, method)
        key = headers.get(b"idempotency-key")
        if key is None:
            self.violations.append(f"a {method} without a key")
            return refusal(400)
        self.arrivals[key] = self.arrivals.get(key, 0) + 1
        refused = self.mode["refuse"].get(path)
        if refused:
            return refusal(refused)
        known = self.answers.get(key)
        if known is None:
            known = self._write(method, path, headers, body)
            if not known.startswith(b"HTTP/1.1 4"):
                self.answers[key] = known
        return known

    def _read(self, path, method):
        body = self.documents.get(path)
        if body is None:
            return ABSENT
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body)
        return head if method == "HEAD" else head + body

    def _write(self, method, path, headers, body):
        name = headers.get(b"x-write", b"?").decode()
        if path == "/changes":
            change = json.loads(body)
            path = "/records/" + change["recordId"]
            if change["revision"] <= self.revisions.get(path, 0):
                return refusal(409)
            self.revisions[path] = change["revision"]
        if method == "DELETE":
            if self.documents.pop(path, None) is None:
                return ABSENT
        else:
            self.documents[path] = body
        self.order.setdefault(path, []).append(name)
        return DELETED if method == "DELETE" else STORED


class Peer(asyncio.Protocol):
    """One connection of the gateway."""

    def __init__(self, ledger, peers):
        self.ledger, self.peers, self.buffer = ledger, peers, b""

    def connection_made(self, transport):
        self.transport = transport
        self.peers.add(self)
        self.ledger.connects += 1
        if self.ledger.mode["slam"]:
            transport.abort()

    def connection_lost(self, _):
        self.peers.discard(self)

    def data_received(self, data):
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            lines = self.buffer[:end].split(b"\r\n")
            headers = {}
            for line in lines[1:]:
                name, _, value = line.partition(b":")
                headers[name.lower()] = value.strip()
            length = int(headers.get(b"content-length", 0))
            if len(self.buffer) < end + 4 + length:
                return
            body, self.buffer = self.buffer[end + 4:end + 4 + length], self.buffer[end + 4 + length:]
            method, target, _ = lines[0].decode("latin-1").split(" ")
            self._reply(self.ledger.answer(method, target, headers, body))

    def _reply(self, answer):
        delay = self.ledger.mode["delay"]
        if delay:
            asyncio.get_running_loop().call_later(delay, self.transport.write, answer)
        else:
            self.transport.write(answer)


class Service:
    """The listener and the commands."""

    def __init__(self):
        self.ledger, self.peers = Ledger(), set()
        self.server, self.reserved = None, self._bound(0)
        self.port = self.reserved.getsockname()[1]

    @staticmethod
    def _bound(port):
        """A socket that owns the port without listening: whoever connects is refused, and nobody else can have it."""
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        return bound

    async def listen(self):
        if self.server is None:
            loop = asyncio.get_running_loop()
            self.server = await loop.create_server(
                lambda: Peer(self.ledger, self.peers), sock=self.reserved, backlog=1024)

    async def deafen(self):
        """Ends the listener and every connection."""
        if self.server is not None:
            self.server.close()
            self.server = None
            self.reserved = self._bound(self.port)
        for peer in list(self.peers):
            peer.transport.abort()

    async def run(self, command):
        ledger = self.ledger
        match command.pop("do"):
            case "mode":
                ledger.mode.update(command)
            case "listen":
                await self.listen()
            case "deafen":
                await self.deafen()
            case "counts":
                return {"connects": ledger.connects, "requests": ledger.requests,
                        "applied": sum(map(len, ledger.order.values()))}
            case "ledger":
                documents = {path: body.decode("latin-1") for path, body in ledger.documents.items()}
                arrivals = {key.decode(): count for key, count in ledger.arrivals.items()}
                return {"order": ledger.order, "documents": documents, "arrivals": arrivals,
                        "violations": ledger.violations}
        return {}

    async def serve(self):
        await self.listen()
        print(json.dumps({"port": self.port}), flush=True)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(await self.run(json.loads(line))), flush=True)


class Recorder:
    """The handle of a recorder's process."""

    def __init__(self):
        self._lock = threading.Lock()
        self.process = subprocess.Popen(
            [sys.executable, str(pathlib.Path(__file__).resolve())], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = json.loads(self.process.stdout.readline())["port"]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def _ask(self, do, **arguments):
        with self._lock:
            self.process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        assert line, f"the recorder ended with {self.process.wait(10)}"
        return json.loads(line)

    def mode(self, **changes):
        """How it answers from now on: `status` (to everything), `refuse` ({path: status}), `slam` (connections are
        reset as soon as they are open), `delay` (seconds before each answer)."""
        self._ask("mode", **changes)

    def start(self):
        self._ask("listen")

    def stop(self):
        """Refuses and drops connections, and remembers everything."""
        self._ask("deafen")

    def counts(self):
        """Connections made, requests received, writes applied."""
        return self._ask("counts")

    def ledger(self):
        return self._ask("ledger")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


if __name__ == "__main__":
    asyncio.run(Service().serve())
