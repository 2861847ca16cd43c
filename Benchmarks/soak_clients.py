"""Clients of many kinds for a soak, each of which counts what a client of a well-kept server would not have seen.

A kept connection that is closed before a byte of the answer came is no error: any server may do that between two
requests, and clients repeat (RFC 9112 §9.3.1). The same holds for an HTTP/2 stream above the number that GOAWAY names
(RFC 9113 §6.8), and for a tunnel that is closed: it ends with the process that holds it.
"""

import collections
import contextlib
import itertools
import math
import os
import random
import struct
import threading
import time

from support import http2
from support.store import RecordingStore
from support.tls import TLSConnection
from support.wire import Connection, Truncated, WireError, request_bytes

DOWNLOAD = bytes(range(256)) * 12_000
# No answer of these means that something broke; the others a server without a backend has to give.
FINE = (200, 404)


def _frame(payload, mask=b""):
    """A short binary frame (RFC 6455 §5.2)."""
    key = mask or b"\0\0\0\0"
    body = bytes(byte ^ key[index % 4] for index, byte in enumerate(payload))
    return bytes([0x82, len(payload) | (0x80 if mask else 0)]) + mask + body


def _unframe(reader):
    first, length = reader.exactly(2)
    assert first == 0x82, first
    key = reader.exactly(4) if length & 0x80 else b"\0\0\0\0"
    return bytes(byte ^ key[index % 4] for index, byte in enumerate(reader.exactly(length & 0x7F)))


def _echo(reader):
    while True:
        reader.socket.sendall(_frame(_unframe(reader)))


class Store(RecordingStore):
    """Keeps documents, and has a large download, an event stream and a WebSocket as well."""

    def _handle(self, request):
        if request.target == "/download":
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(DOWNLOAD) + DOWNLOAD
        if request.target == "/events":
            events = itertools.chain.from_iterable((b"5\r\nevent\r\n", 0.1) for _ in range(10))
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            return itertools.chain([head], events, [b"0\r\n\r\n"])
        if request["Upgrade"]:
            head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
            return [head, _echo]
        return super()._handle(request)


class Trouble:
    """Backends that fail for a moment."""

    def __init__(self, dice, legacy, new):
        self.dice, self.legacy, self.new = dice, legacy, new
        self.last = -math.inf

    @property
    def is_recent(self):
        return time.monotonic() < self.last + 2

    def make(self):
        """A third of the time nothing happens for once."""
        what = self.dice.random()
        self.last = time.monotonic()
        if what < 0.4:
            self._outage(self.new, 2)
        elif what < 0.5:
            self._outage(self.legacy, 1)
        elif what < 0.65:
            self.dice.choice([self.legacy, self.new]).drop_connections()
        else:
            self.last = -math.inf

    def _outage(self, backend, seconds):
        backend.stop()
        time.sleep(self.dice.random() * seconds)
        backend.start()
        self.last = time.monotonic()


class Front:
    """A proxy under test as clients see it: its two addresses, and what is counted."""

    def __init__(self, name, plain, secure, context, trouble):
        self.name, self.plain, self.secure, self.context = name, plain, secure, context
        self.trouble = trouble
        self.host, self.port = secure
        self.done = collections.Counter()
        # Answers that say that there is no backend, by kind of client and title; those that no failure of a backend
        # explains, apart.
        self.refusals, self.unexplained = collections.Counter(), collections.Counter()
        # What broke on the connection, what did so because a backend left in the middle of its answer, which no proxy
        # can hide, and what was wrong in an answer: in words.
        self.broken, self.cut, self.wrong = [], [], []
        self.acknowledged = {}
        self.ended = threading.Event()
        self.threads = [
            threading.Thread(target=self._run, args=(kind, f"{name}-{kind.__name__}-{number}"), daemon=True)
            for kind in KINDS for number in range(2)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def _run(self, kind, user):
        dice = random.Random(user)
        with contextlib.closing(kind(self, user)) as client:
            while not self.ended.is_set():
                try:
                    client.exchange()
                    self.done[kind.__name__] += 1
                except (OSError, Truncated) as error:
                    excused = kind in LONG and isinstance(error, Truncated) and self.trouble.is_recent
                    (self.cut if excused else self.broken).append(f"{user}: {error!r}")
                    client.close()
                except (WireError, AssertionError) as error:
                    self.wrong.append(f"{user}: {error!r}")
                    client.close()
                self.ended.wait(dice.uniform(0, 0.06))

    def finish(self):
        self.ended.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive(), f"{thread.name} waits for an answer"

    def note(self, client, status, title=""):
        """Counts an answer by its status."""
        if status not in FINE:
            what = f"{type(client).__name__} {status} {title}".strip()
            (self.refusals if self.trouble.is_recent else self.unexplained)[what] += 1

    @property
    def refused(self):
        return sum(self.refusals.values()) + sum(self.unexplained.values())


class _Kept:
    """A client that keeps its connection for some requests."""

    keeps = 20

    def __init__(self, front, user):
        self.front, self.user, self.connection, self.asked, self.session = front, user, None, 0, None

    def connect(self):
        return Connection(self.front.plain, timeout=60)

    def ask(self, method, path, headers=(), body=None):
        """The answer; repeated on another connection where the kept one was closed between two requests."""
        while True:
            is_new, seen = self.connection is None, 0
            try:
                if is_new:
                    self.connection = self.connect()
                seen = len(self.connection.reader.consumed)
                self.connection.send(request_bytes(method, path, headers, body, user=self.user))
                answer = self.connection.response(method)
            except (OSError, Truncated):
                has_answer = self.connection and (
                    len(self.connection.reader.consumed) > seen or self.connection.reader.buffer)
                self.close()
                if is_new or has_answer:
                    raise
                continue
            is_problem = answer["Content-Type"] == "application/problem+json"
            self.front.note(self, answer.status, answer.json()["title"] if is_problem else "")
            self.asked += 1
            self.connection.reader.consumed.clear()
            if answer["Connection"] == "close" or self.asked % self.keeps == 0:
                self.close()
            return answer

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None


class Writer(_Kept):
    """Writes documents and reads them back."""

    def exchange(self):
        number = self.asked // 2
        path, body = f"/notes/{self.user}-{number % 500}", f"{self.user} {number}".encode() * 40
        answer = self.ask("PUT", path, [("Idempotency-Key", f"{self.user}-{number}")], body)
        if answer.status != 200:
            # Whether it has arrived nobody knows: the path is not judged any more until it is written anew.
            self.front.acknowledged.pop(path, None)
            return
        self.front.acknowledged[path] = body
        answer = self.ask("GET", path)
        assert answer.status != 200 or answer.body == body, f"{path} read back wrong: {answer!r}"


class Secure(_Kept):
    """Reads over TLS, with sessions that are resumed half of the time."""

    keeps = 5

    def connect(self):
        made = TLSConnection(self.front.secure, self.front.context, session=self.session, timeout=60)
        return made

    def exchange(self):
        answer = self.ask("GET", "/notes/none")
        assert answer.status != 200, "there is no such document"
        if self.connection:
            self.session = self.connection.socket.session if self.asked % 2 else None


class Downloader(_Kept):
    """Takes three megabytes, by turns with and without TLS."""

    keeps = 2

    def connect(self):
        if self.asked % 4 < 2:
            return super().connect()
        return TLSConnection(self.front.secure, self.front.context, timeout=60)

    def exchange(self):
        answer = self.ask("GET", "/download")
        assert answer.status != 200 or answer.body == DOWNLOAD, "the download is another"


class Uploader(_Kept):
    """Writes half a megabyte at a time."""

    def exchange(self):
        path, body = f"/notes/{self.user}-{self.asked % 4}", os.urandom(1024) * 512
        answer = self.ask("PUT", path, [("Idempotency-Key", f"{self.user}-{self.asked}")], body)
        if answer.status == 200:
            self.front.acknowledged[path] = body
        else:
            self.front.acknowledged.pop(path, None)


class Listener(_Kept):
    """Listens to a second of server-sent events."""

    def exchange(self):
        answer = self.ask("GET", "/events")
        assert answer.status != 200 or answer.body == b"event" * 10, answer.body


class Multiplexer:
    """Reads over HTTP/2, ten streams at a time."""

    def __init__(self, front, user):
        self.front, self.user, self.client, self.rounds = front, user, None, 0

    def exchange(self):
        if self.client is None:
            self.client = self._connect()
        streams = []
        try:
            streams = [self.client.begin(self.client.fields(path="/notes/none", user=self.user)) for _ in range(10)]
            self.client.until(lambda: all(self.client.answers[stream].is_over for stream in streams), "answers", 60)
        except (OSError, AssertionError) as error:
            if self.client.goaway != http2.NO_ERROR:
                self.close()
                raise Truncated(f"no GOAWAY: {error!r}") from None
        last = self.client.last_taken
        for stream in streams:
            answer = self.client.answers[stream]
            if answer.headers and answer.ended:
                self.front.note(self, answer.status)
            elif last is None or stream <= last:
                self.close()
                raise Truncated(f"stream {stream} of {streams}: error {answer.error}, last taken {last}")
        self.rounds += 1
        if last is not None or self.rounds % 10 == 0:
            self.close()

    def _connect(self):
        secured = TLSConnection(self.front.secure, self.front.context.for_http2, timeout=60)
        return Following(self.front, peer=secured.socket)

    def close(self):
        if self.client:
            self.client.socket.close()
            self.client = None


class Following(http2.Client):
    """Knows the last stream that the server has taken."""

    last_taken = None

    def _take(self, kind, flags, stream, payload):
        if kind == http2.GOAWAY:
            self.last_taken = struct.unpack(">I", payload[:4])[0]
        super()._take(kind, flags, stream, payload)


class Tunnel(_Kept):
    """Echoes over a WebSocket, which may end whenever the server wants."""

    def exchange(self):
        if self.connection is None:
            self.connection = self.connect()
            headers = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
                       ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]
            self.connection.send(request_bytes("GET", "/socket", headers, user=self.user))
            status = self.connection.head().status
            if status != 101:
                self.front.note(self, status)
                return self.close()
        said = os.urandom(8)
        try:
            self.connection.send(_frame(said, mask=os.urandom(4)))
            heard = _unframe(self.connection.reader)
        except (OSError, Truncated):
            return self.close()
        assert heard == said, f"{said!r} came back as {heard!r}"
        self.connection.reader.consumed.clear()
        return None


# Their answers take so long that a backend may leave in the middle.
LONG = [Downloader, Listener]
KINDS = [Writer, Secure, Downloader, Uploader, Listener, Multiplexer, Tunnel]
