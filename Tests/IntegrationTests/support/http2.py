"""A client of HTTP/2 that sends what it is told to, frame by frame, whether that is allowed or not.

hpack comes from PyPI and lives in build/venv (`scripts/setup test`).
"""

import contextlib
import socket
import struct
import time

from . import pypi  # noqa: F401 first: what follows is there through it

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS = 0x1, 0x1, 0x4
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, \
    REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(12)


def frame(kind, flags, stream, payload=b"", length=None):
    """A frame's bytes; `length` lies about its length."""
    return struct.pack(">I", len(payload) if length is None else length)[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


class Answer:
    """What came on one stream."""

    def __init__(self):
        self.interim, self.headers, self.body, self.ended, self.error = [], None, b"", False, None

    @property
    def status(self):
        return int(dict(self.headers)[":status"])

    def __getitem__(self, name):
        return next((value for key, value in self.headers or () if key == name.lower()), None)

    @property
    def is_over(self):
        return self.ended or self.error is not None


class Client:
    """One connection. `answers` by stream; windows are opened as bytes come, unless `takes` is false."""

    def __init__(self, gateway, settings=(), takes=True, starts=True, peer=None):
        self.socket = peer or socket.create_connection((gateway.host, gateway.port), timeout=30)
        if peer is None:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.host = f"{gateway.host}:{gateway.port}"
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        # What a head may come to is the gateway's limit to set, not the client's.
        self.decoder.max_header_list_size = 1 << 20
        self.takes, self.next_stream, self.answers, self.frames = takes, 1, {}, []
        self.goaway = None
        self.is_closed = False
        self._received = b""
        if starts:
            self.send(PREFACE + frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in settings)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    # Requests

    def fields(self, method="GET", path="/", user=None, extra=(), authority=None):
        fields = [(":method", method), (":scheme", "http"), (":path", path), (":authority", authority or self.host)]
        return fields + ([("x-user-id", user)] if user else []) + list(extra)

    def begin(self, fields, ends=True):
        """Sends the head of a request; its stream."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.answers[stream] = Answer()
        flags = END_HEADERS | (END_STREAM if ends else 0)
        self.send(frame(HEADERS, flags, stream, self.encoder.encode(fields)))
        return stream

    def data(self, stream, body, ends=True):
        """Sends a body as far as frames go; who sends more than the window has does so on purpose."""
        for start in range(0, max(1, len(body)), 16384):
            part = body[start:start + 16384]
            is_last = start + 16384 >= len(body)
            self.send(frame(DATA, END_STREAM if ends and is_last else 0, stream, part))

    def request(self, method="GET", path="/", user=None, extra=(), body=None):
        """A request and its whole answer."""
        stream = self.begin(self.fields(method, path, user, extra), ends=body is None)
        if body is not None:
            self.data(stream, body)
        return self.finish(stream)

    # Answers

    def finish(self, stream, seconds=20):
        """Waits for the end of an answer."""
        answer = self.answers[stream]
        self.until(lambda: answer.is_over, f"stream {stream} ends", seconds)
        return answer

    def until(self, condition, what, seconds=20):
        """Reads frames until the condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            left = deadline - time.monotonic()
            assert left > 0 and not self.is_closed, f"not within {seconds} s: {what} (closed: {self.is_closed})"
            self.read(left)

    def ends(self, seconds=20):
        """Reads until the gateway closes; the error code of its GOAWAY, if it sent one."""
        deadline = time.monotonic() + seconds
        while not self.is_closed:
            left = deadline - time.monotonic()
            assert left > 0, f"the connection is still open after {seconds} s"
            self.read(left)
        return self.goaway

    def read(self, seconds):
        """One frame, or the end, or nothing in time."""
        while len(self._received) < 9 or len(self._received) < 9 + self._length():
            self.socket.settimeout(max(0.001, seconds))
            try:
                got = self.socket.recv(65536)
            except TimeoutError:
                return None
            except OSError:
                got = b""
            if not got:
                self.is_closed = True
                return None
            self._received += got
        size = 9 + self._length()
        whole, self._received = self._received[:size], self._received[size:]
        found = (whole[3], whole[4], struct.unpack(">I", whole[5:9])[0], whole[9:])
        self.frames.append(found)
        self._take(*found)
        return found

    def _length(self):
        return struct.unpack(">I", b"\0" + self._received[:3])[0]

    def _take(self, kind, flags, stream, payload):
        answer = self.answers.get(stream)
        if kind == HEADERS:
            fields = self.decoder.decode(payload)
            status = dict(fields).get(":status", "")
            if status.startswith("1"):
                answer.interim.append(fields)
            elif answer.headers is None:
                answer.headers = fields
        elif kind == DATA:
            answer.body += payload
            if self.takes and payload:
                self.open(stream, len(payload))
        elif kind == RST_STREAM and answer:
            answer.error = struct.unpack(">I", payload)[0]
        elif kind == GOAWAY:
            self.goaway = struct.unpack(">II", payload[:8])[1]
        elif kind in (SETTINGS, PING) and not flags & ACK:
            with contextlib.suppress(OSError):
                self.send(frame(kind, ACK, 0, payload if kind == PING else b""))
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            answer.ended = True

    def open(self, stream, count):
        """Opens the windows of the connection and of a stream."""
        with contextlib.suppress(OSError):
            step = struct.pack(">I", count)
            self.send(frame(WINDOW_UPDATE, 0, 0, step) + frame(WINDOW_UPDATE, 0, stream, step))
