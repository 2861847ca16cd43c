"""Authorities and certificates made for a test, and peers that speak TLS."""

import itertools
import pathlib
import socket
import ssl
import subprocess

from .backend import Backend
from .wire import Connection, Reader


def _openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)


class Certificate:
    """A certificate with its key, as files."""

    def __init__(self, certificate, key):
        self.certificate, self.key = pathlib.Path(certificate), pathlib.Path(key)

    @property
    def files(self):
        """As the configuration names them."""
        return {"certificate_file": str(self.certificate), "key_file": str(self.key)}

    def replace(self, other):
        """Puts another certificate into the same files."""
        self.certificate.write_bytes(other.certificate.read_bytes())
        self.key.write_bytes(other.key.read_bytes())


class Authority:
    """Signs certificates. Everything is ECDSA P-256, because making RSA keys takes long."""

    def __init__(self, directory, name="authority"):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.numbers = itertools.count(1)
        self.file, self.key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        self._make_key(self.key)
        _openssl("req", "-new", "-x509", "-key", self.key, "-subj", f"/CN={name}", "-days", 30, "-out", self.file)

    @staticmethod
    def _make_key(path):
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)

    def sign(self, *names, days=30):
        """A certificate for these names and addresses; one of `days=-1` has expired."""
        base = self.directory / f"{next(self.numbers)}"
        key, request, out, extensions = (base.with_suffix(end) for end in (".key", ".csr", ".pem", ".ext"))
        kinds = ["IP" if name.replace(".", "").isdigit() else "DNS" for name in names]
        extensions.write_text("subjectAltName=" + ",".join(f"{kind}:{name}" for kind, name in zip(kinds, names)) + "\n")
        self._make_key(key)
        _openssl("req", "-new", "-key", key, "-subj", f"/CN={names[0]}", "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key, "-set_serial",
                 int.from_bytes(base.name.encode(), "big") + id(self) % 100_000, "-days", days,
                 "-extfile", extensions, "-out", out)
        return Certificate(out, key)


def client_context(authority, certificate=None, version=None):
    """How a client that trusts this authority alone speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.file)
    # Python takes an end without close_notify for an end, unless it is told not to.
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    context.set_alpn_protocols(["http/1.1"])
    if certificate:
        context.load_cert_chain(certificate.certificate, certificate.key)
    if version:
        context.minimum_version = context.maximum_version = version
    return context


class TLSConnection(Connection):
    """A client connection with TLS. An end without close_notify is an error: `ssl.SSLError`."""

    def __init__(self, address, context, name="localhost", session=None, **options):
        super().__init__(address, **options)
        self.socket = context.wrap_socket(
            self.socket, server_hostname=name, session=session, suppress_ragged_eofs=False)
        self.reader = Reader(self.socket)

    @property
    def names(self):
        """Those of the certificate that was shown."""
        return [value for _, value in self.socket.getpeercert()["subjectAltName"]]

    def say_goodbye(self):
        """close_notify, and nothing is read any more."""
        try:
            self.socket.unwrap()
        except (ssl.SSLError, OSError):
            pass


class HalfHandshake:
    """A client that stops after the first byte of its handshake, until `finish` is called; then it is a socket."""

    def __init__(self, address, context, name="localhost"):
        self.socket = socket.create_connection(address, timeout=20)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname=name)
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = self.outgoing.read()
        self.socket.sendall(hello[:1])
        self.left = hello[1:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def finish(self):
        """The rest of the handshake."""
        self.socket.sendall(self.left)
        self._until_done(self.tls.do_handshake)

    def sendall(self, data):
        """As of a socket."""
        self.tls.write(data)
        self.socket.sendall(self.outgoing.read())

    def recv(self, count):
        """As of a socket."""
        return self._until_done(lambda: self.tls.read(count))

    def settimeout(self, seconds):
        """As of a socket."""
        self.socket.settimeout(seconds)

    def close(self):
        """As of a socket."""
        self.socket.close()

    def _until_done(self, step):
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self.socket.sendall(self.outgoing.read())
                data = self.socket.recv(65536)
                if data:
                    self.incoming.write(data)
                else:
                    self.incoming.write_eof()
            except ssl.SSLZeroReturnError:
                return b""
            finally:
                if self.outgoing.pending:
                    self.socket.sendall(self.outgoing.read())


class TLSBackend(Backend):
    """A scripted backend that speaks TLS; handshakes that failed are in `refused`."""

    def __init__(self, certificate, answer=None, client_authority=None, version=None):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate.certificate, certificate.key)
        if client_authority:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(client_authority.file)
        if version:
            self.context.minimum_version = self.context.maximum_version = version
        self.refused, self.names, self.resumed, self.subjects = [], [], [], []
        self.context.sni_callback = lambda _, name, __: self.names.append(name)
        super().__init__(answer)

    @property
    def url(self):
        return f"https://localhost:{self.port}"

    def _serve(self, peer, number, closing):
        with self._lock:
            self._sockets.discard(peer)
        try:
            secured = self.context.wrap_socket(peer, server_side=True)
        except (ssl.SSLError, OSError) as error:
            self.refused.append(str(error))
            peer.close()
            return
        self.resumed.append(secured.session_reused)
        self.subjects.append(secured.getpeercert())
        with self._lock:
            self._sockets.add(secured)
        super()._serve(secured, number, closing)

    @staticmethod
    def _is_gone(peer, request):
        peer.setblocking(False)
        try:
            gone = socket.socket.recv(peer, 1, socket.MSG_PEEK) == b""
        except (BlockingIOError, ssl.SSLWantReadError):
            gone = False
        finally:
            peer.setblocking(True)
        if gone:
            request.peer_gone.set()
        return gone
