"""A backend that can be scripted down to the byte, and records what it received byte for byte."""

import select
import socket
import struct
import threading
import time

from .wire import Headers, Reader, Truncated, WireError, chunked_bytes

# Steps of a scripted answer, besides bytes (sent), numbers (seconds to wait), events (waited for) and functions
# (called with the connection's reader).
CLOSE = object()  # end the connection in order
RESET = object()  # end it with a TCP reset
HANG = object()  # never go on, until the peer or the test ends it

REASONS = {200: "OK", 201: "Created", 204: "No Content", 304: "Not Modified", 404: "Not Found", 409: "Conflict"}


class Request:
    """A request as it arrived."""

    def __init__(self, method, target, version, headers, connection):
        self.method, self.target, self.version, self.headers = method, target, version, headers
        self.connection = connection
        self.body, self.chunked, self.trailers, self.raw = b"", False, Headers(), b""
        self.at = time.monotonic()
        self.peer_gone = threading.Event()

    def __getitem__(self, name):
        return self.headers.get(name)

    def __repr__(self):
        return f"<{self.method} {self.target} {len(self.body)} bytes on {self.connection}>"


def reply(body=b'{"ok":true}', status=200, headers=(), kind="application/json", chunked=False, trailers=()):
    """The bytes of an ordinary answer. `headers` are pairs; `kind=None` sends no Content-Type."""
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}"]
    if kind:
        lines.append(f"Content-Type: {kind}")
    lines += [f"{name}: {value}" for name, value in headers]
    if chunked:
        lines.append("Transfer-Encoding: chunked")
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + chunked_bytes(body, trailers=trailers)
    if status not in (204, 304):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class Backend:
    """Answers with `self.answer(request)`: bytes, or an iterable of steps.

    Every connection has a thread. `begun` holds requests whose head arrived, `requests` those that arrived whole, both
    in order; `violations` what broke RFC 9112, which no test may leave behind.
    """

    def __init__(self, answer=None):
        self.answer = answer or (lambda request: reply())
        self.requests, self.violations, self.begun = [], [], []
        self.connections = self.truncated = 0
        self.before_body = lambda request: None
        self._lock = threading.Lock()
        self._sockets = set()
        self._listener = self._reserved = None
        self._closing = threading.Event()
        self.port = 0
        self.start()

    # Life

    def start(self):
        """Listens, on the port it had before if it had one."""
        assert self._listener is None
        self._closing = threading.Event()
        if self._reserved:
            self._reserved.close()
            self._reserved = None
        listener = self._bound()
        listener.listen(512)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener, self._closing), daemon=True).start()

    def _bound(self):
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", self.port))
        return made

    def stop(self):
        """Ends listener and connections; connecting is refused until `start`."""
        if self._listener is None:
            return
        self._closing.set()
        # A close alone leaves the listening socket alive while another thread is in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._listener = None
        # Bound and not listening: else another test's server might get the port, and take what was meant for this one.
        self._reserved = self._bound()
        self.drop_connections()

    def drop_connections(self):
        """Ends every connection that is open, in order."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for peer in sockets:
            try:
                peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def to(self, target, method=None):
        """The requests with this target (and method)."""
        return [r for r in list(self.requests) if r.target == target and method in (None, r.method)]

    def forget(self):
        self.requests.clear()
        self.begun.clear()

    # Serving

    def _accept(self, listener, closing):
        while not closing.is_set():
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                number = self.connections
                self._sockets.add(peer)
            threading.Thread(target=self._serve, args=(peer, number, closing), daemon=True).start()

    def _serve(self, peer, number, closing):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = Reader(peer)
        try:
            while not closing.is_set():
                reader.consumed.clear()
                request = self._read(reader, peer, number)
                if request is None:
                    break
                answer = self.answer(request)
                if isinstance(answer, bytes):
                    # An ordinary answer to HEAD is its head.
                    answer = [answer[:answer.index(b"\r\n\r\n") + 4] if request.method == "HEAD" else answer]
                if not all(self._step(step, reader, request, closing) for step in answer):
                    break
        except Truncated:
            self.truncated += 1
        except WireError as error:
            self.violations.append(str(error))
        except OSError:
            pass
        finally:
            with self._lock:
                self._sockets.discard(peer)
            peer.close()

    def _read(self, reader, peer, number):
        line = reader.line()
        if line is None:
            return None
        parts = line.decode("latin-1").split(" ")
        if len(parts) != 3:
            raise WireError(f"bad request line {line!r}")
        request = Request(*parts, reader.headers(), number)
        self.begun.append(request)
        lengths, codings = request.headers.all("Content-Length"), request.headers.all("Transfer-Encoding")
        if lengths and codings or len(lengths) > 1 or [coding.lower() for coding in codings] not in ([], ["chunked"]):
            raise WireError(f"ambiguous framing: {lengths} {codings}")
        self.before_body(request)
        if "Expect" in request.headers:
            peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if codings:
            request.chunked = True
            request.body, _, request.trailers = reader.chunked()
        elif lengths:
            request.body = reader.exactly(int(lengths[0]))
        request.raw = bytes(reader.consumed)
        self.requests.append(request)
        return request

    def _step(self, step, reader, request, closing):
        """Runs one step; false ends the connection."""
        peer = reader.socket
        if isinstance(step, (bytes, bytearray)):
            try:
                peer.sendall(step)
            except OSError:
                request.peer_gone.set()
                return False
            return True
        if step is CLOSE:
            return False
        if step is RESET:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if callable(step):
            step(reader)
            return True
        deadline = time.monotonic() + (step if isinstance(step, (int, float)) else 3600)
        event = step if isinstance(step, threading.Event) else None
        while time.monotonic() < deadline and not (event and event.is_set()):
            if closing.is_set() or self._is_gone(peer, request):
                return False
            time.sleep(0.01)
        return True

    @staticmethod
    def _is_gone(peer, request):
        if select.select([peer], [], [], 0)[0] and not peer.recv(1, socket.MSG_PEEK):
            request.peer_gone.set()
            return True
        return False
