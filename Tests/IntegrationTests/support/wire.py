"""HTTP/1.1 on a bare socket: sends exactly the bytes it is given and reads answers strictly."""

import base64
import json
import socket


class WireError(AssertionError):
    """The peer broke a rule of RFC 9112, or closed too early."""


class Truncated(WireError):
    """The peer closed before a message was whole."""


class Headers(list):
    """Header lines as (name, value) pairs in the order received, with their case."""

    def all(self, name):
        return [value for key, value in self if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def __contains__(self, name):
        return bool(self.all(name))


class Reader:
    """Reads lines and counted bytes from a socket and keeps everything it has read."""

    def __init__(self, peer):
        self.socket = peer
        self.buffer = b""
        self.consumed = bytearray()

    def _fill(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def _take(self, count):
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        self.consumed += data
        return data

    def line(self):
        """The next line without its CRLF; None when the peer closed before its first byte."""
        while b"\n" not in self.buffer:
            if not self._fill():
                if self.buffer:
                    raise Truncated(f"closed within a line: {self.buffer[:200]!r}")
                return None
        line = self._take(self.buffer.index(b"\n") + 1)
        if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
            raise WireError(f"line does not end in CRLF: {line[:200]!r}")
        return line[:-2]

    def exactly(self, count):
        parts = []
        while count:
            if not self.buffer and not self._fill():
                raise Truncated(f"closed with {count} bytes still to come")
            data = self._take(min(count, len(self.buffer)))
            parts.append(data)
            count -= len(data)
        return b"".join(parts)

    def some(self):
        """What has arrived already, else what arrives next; empty at the end."""
        if not self.buffer:
            self._fill()
        return self._take(len(self.buffer))

    def rest(self):
        while self._fill():
            pass
        return self._take(len(self.buffer))

    def headers(self):
        headers = Headers()
        while line := self.line():
            name, colon, value = line.partition(b":")
            if not colon or not name or name != name.strip():
                raise WireError(f"bad header line {line!r}")
            headers.append((name.decode("latin-1"), value.strip().decode("latin-1")))
        if line is None:
            raise Truncated("closed within the head")
        return headers

    def chunked(self):
        """A chunked body: its bytes, its chunk sizes and its trailers."""
        parts, sizes = [], []
        while True:
            line = self.line()
            if line is None:
                raise Truncated("closed between chunks")
            size = int(line.split(b";")[0], 16)
            if size == 0:
                return b"".join(parts), sizes, self.headers()
            parts.append(self.exactly(size))
            sizes.append(size)
            if self.exactly(2) != b"\r\n":
                raise WireError("chunk does not end in CRLF")


class Response:
    """One answer, interim answers before it included."""

    def __init__(self, version, status, reason, headers):
        self.version, self.status, self.reason, self.headers = version, status, reason, headers
        self.body, self.trailers, self.interim, self.chunks = b"", Headers(), [], []

    def json(self):
        return json.loads(self.body)

    def __getitem__(self, name):
        return self.headers.get(name)

    @property
    def backend(self):
        return self["Cutover-Backend"]

    @property
    def why(self):
        return self["Cutover-Reason"]

    def __repr__(self):
        return f"<{self.status} {self.reason} {dict(self.headers)} {self.body[:200]!r}>"


class Connection:
    """A client connection."""

    def __init__(self, address, timeout=20.0, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = Reader(self.socket)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def finish_sending(self):
        self.socket.shutdown(socket.SHUT_WR)

    def is_closed_by_peer(self):
        """Waits for the end of the connection; a byte instead is an error."""
        try:
            data = self.reader.buffer or self.socket.recv(4096)
        except ConnectionResetError:
            return True
        if data:
            raise WireError(f"expected the end of the connection, got {data[:200]!r}")
        return True

    def head(self):
        """Reads a status line and header lines."""
        line = self.reader.line()
        if line is None:
            raise Truncated("closed before an answer")
        version, status, reason = (line.decode("latin-1").split(" ", 2) + [""])[:3]
        if version not in ("HTTP/1.1", "HTTP/1.0"):
            raise WireError(f"bad status line {line!r}")
        return Response(version, int(status), reason, self.reader.headers())

    def response(self, method="GET"):
        """Reads one whole answer to a request of `method`."""
        interim = []
        answer = self.head()
        while answer.status < 200 and answer.status != 101:
            interim.append(answer)
            answer = self.head()
        answer.interim = interim
        self._read_body(answer, method)
        return answer

    def _read_body(self, answer, method):
        lengths = answer.headers.all("Content-Length")
        codings = answer.headers.all("Transfer-Encoding")
        if lengths and codings:
            raise WireError("both Content-Length and Transfer-Encoding")
        if answer.status == 204 and (lengths or codings):
            raise WireError("204 with framing headers")
        if method == "HEAD" or answer.status in (101, 204, 304):
            return
        if codings:
            if codings != ["chunked"]:
                raise WireError(f"unknown coding {codings}")
            answer.body, answer.chunks, answer.trailers = self.reader.chunked()
        elif lengths:
            if len(set(lengths)) != 1:
                raise WireError(f"several lengths {lengths}")
            answer.body = self.reader.exactly(int(lengths[0]))
        else:
            answer.body = self.reader.rest()

    def request(self, method, target, headers=(), body=None, host="example.test", user=None):
        """Sends one request with a Content-Length body and reads the answer."""
        self.send(request_bytes(method, target, headers, body, host, user))
        return self.response(method)


def request_bytes(method, target, headers=(), body=None, host="example.test", user=None):
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    if user is not None:
        lines.append(f"X-User-Id: {user}")
    lines += [f"{name}: {value}" for name, value in (headers.items() if isinstance(headers, dict) else headers)]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


def chunked_bytes(*parts, trailers=()):
    """A chunked body of these parts."""
    data = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts if part)
    lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in trailers)
    return data + b"0\r\n" + lines + b"\r\n"


def basic(user, password="secret"):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
