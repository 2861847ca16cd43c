"""TLS towards clients: curl, openssl s_client and Python as peers; what is no TLS, what breaks off, what is slow."""

import hashlib
import pathlib
import socket
import ssl
import subprocess
import threading
import time

import pytest

from support import http2
from support.backend import reply
from support.metrics import Metrics
from support.tls import Authority, HalfHandshake, TLSConnection, client_context
from support.waiting import eventually, quiet
from support.wire import request_bytes

VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@pytest.fixture(name="authority")
def make_authority(scratch):
    return Authority(scratch / "authority")


@pytest.fixture(name="make_secure")
def make_secure_gateway(make_gateway, legacy, new, authority):
    """A gateway that speaks TLS with its clients."""

    def make(tls=None, **config):
        tls = {**authority.sign("localhost", "127.0.0.1").files, **(tls or {})}
        return make_gateway(legacy, new, config={"listen": [{"address": "127.0.0.1:0", "tls": tls}], **config})

    return make


@pytest.fixture(name="secure")
def secure_gateway(make_secure):
    return make_secure()


def connect(gateway, authority, **options):
    certificate, version = options.pop("certificate", None), options.pop("version", None)
    context = options.pop("context", None) or client_context(authority, certificate, version)
    return TLSConnection(gateway.address, context, **options)


def failures(gateway, reason):
    return gateway.metrics()("cutover_tls_failures_total", listener="client", reason=reason)


def test_curl_is_answered_and_the_backend_knows_of_the_encryption(secure, authority, legacy, curl):
    url = f"https://localhost:{secure.port}/x"
    assert curl(url, "--cacert", authority.file) == b'{"ok":true}'
    assert legacy.requests[0].headers.all("X-Forwarded-Proto") == ["https"]
    assert curl(url, "--cacert", authority.file, "-d", "written") == b'{"ok":true}'
    eventually(lambda: legacy.to("/x", "POST"), "the write")
    assert legacy.to("/x", "POST")[0].headers.all("X-Forwarded-Proto") == ["https"]


@pytest.mark.parametrize("version", VERSIONS)
def test_both_versions_are_spoken_and_counted(secure, authority, version):
    with connect(secure, authority, version=VERSIONS[version]) as client:
        assert client.socket.version() == f"TLSv{version}" and client.socket.selected_alpn_protocol() == "http/1.1"
        for _ in range(3):
            assert client.request("GET", "/").status == 200
    metrics = secure.metrics()
    assert metrics("cutover_tls_handshakes_total", listener="client", version=version, resumed="no") == 1
    assert metrics("cutover_tls_handshakes_total") == 1 and metrics("cutover_tls_failures_total") == 0


def test_older_versions_are_refused_and_counted(secure):
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{secure.port}", "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"],
        input="", capture_output=True, text=True)
    assert done.returncode != 0 and "Cipher is (NONE)" in done.stdout
    eventually(lambda: failures(secure, "protocol") == 1, "the refusal is counted")


def test_openssl_verifies_the_chain_and_the_name(secure, authority):
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{secure.port}", "-CAfile", authority.file,
         "-verify_return_error", "-verify_hostname", "localhost", "-quiet"],
        input="GET / HTTP/1.1\nHost: a\nConnection: close\n\n".replace("\n", "\r\n"), capture_output=True, text=True)
    assert done.stdout.startswith("HTTP/1.1 200"), done.stderr


def test_plain_http_is_told_to_use_tls(secure):
    with secure.connect() as client:
        answer = client.request("GET", "/")
        assert answer.status == 400 and answer["Content-Type"] == "application/problem+json"
        assert answer.json()["type"].endswith("tls-required") and answer["X-Request-Id"]
        assert client.is_closed_by_peer()
    assert failures(secure, "not_tls") == 1


@pytest.mark.parametrize("garbage", [b"\x00" * 64, b"SSH-2.0-x\r\n", b"\x16\x03\x01\x00\x05hello", b"\xff" * 5000])
def test_garbage_is_closed_and_counted(secure, authority, garbage):
    with secure.connect() as client:
        client.send(garbage)
        client.finish_sending()
        while True:
            try:
                if not client.socket.recv(4096):
                    break
            except ConnectionResetError:
                break
    eventually(lambda: secure.metrics()("cutover_tls_failures_total", listener="client") == 1, "it is counted")
    with connect(secure, authority) as client:
        assert client.request("GET", "/").status == 200


def test_a_handshake_that_takes_too_long_is_ended(make_secure):
    gateway = make_secure(timeouts={"head": "300ms"})
    with gateway.connect() as client:
        hello = iter(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500)
        begin = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() < begin + 20:
                client.send(bytes([next(hello)]))
                time.sleep(0.02)
        assert time.monotonic() < begin + 10
    assert failures(gateway, "timeout") == 1


def test_a_handshake_byte_by_byte_holds(secure, authority):
    """TLS records in the smallest pieces: nothing is lost between two reads."""
    with InPieces(secure, authority) as client:
        client.step(client.tls.do_handshake)
        client.tls.write(request_bytes("GET", "/"))
        client.send()
        assert client.step(lambda: client.tls.read(12)) == b"HTTP/1.1 200"


class InPieces:
    """A client whose every byte is a packet of its own, and that reads one at a time."""

    def __init__(self, gateway, authority):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = client_context(authority).wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.peer = socket.create_connection(gateway.address, timeout=20)
        self.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.peer.close()

    def send(self):
        for byte in self.outgoing.read():
            self.peer.sendall(bytes([byte]))

    def step(self, action):
        """What an action of the protocol returns when it has what it needs."""
        while True:
            try:
                return action()
            except ssl.SSLWantReadError:
                self.send()
                data = self.peer.recv(1)
                if data:
                    self.incoming.write(data)
                else:
                    self.incoming.write_eof()


def test_a_client_that_says_it_sends_no_more_is_still_answered(secure, authority, legacy):
    """close_notify closes one direction only (RFC 8446 §6.1); the connection itself is open."""
    go = threading.Event()
    legacy.answer = lambda request: [go, reply(b"late")]
    with InPieces(secure, authority) as client:
        client.step(client.tls.do_handshake)
        client.tls.write(request_bytes("GET", "/"))
        with pytest.raises(ssl.SSLWantReadError):
            client.tls.unwrap()
        client.send()
        eventually(lambda: legacy.begun, "the request is under way")
        go.set()
        assert b"late" in client.step(lambda: client.tls.read(4096))


def test_clients_that_vanish_in_the_handshake_leave_nothing(secure):
    for data in (b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"):
        with secure.connect() as client:
            client.send(data)
    eventually(lambda: failures(secure, "closed") == 3, "all are counted")
    eventually(lambda: secure.metrics()("cutover_client_connections") == 0, "all are gone")


@pytest.mark.parametrize("version", VERSIONS)
def test_large_bodies_pass_both_ways(secure, authority, legacy, version):
    body = hashlib.shake_128(b"body").digest(3 << 20)
    legacy.answer = lambda request: reply(request.body, chunked=True)
    with connect(secure, authority, version=VERSIONS[version]) as client:
        for _ in range(2):
            assert client.request("POST", "/echo", body=body, user="u").body == body


def test_a_slow_reader_holds_the_backend_back(secure, authority, legacy):
    sent = []

    def answer(_):
        yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (64 << 20)
        for _ in range(64):
            yield b"x" * (1 << 20)
            sent.append(1)

    legacy.answer = answer
    with connect(secure, authority, receive_buffer=64 << 10) as client:
        client.send(request_bytes("GET", "/"))
        eventually(lambda: sent, "it begins")
        assert quiet(lambda: len(sent), 1.0) < 40
        assert len(client.response().body) == 64 << 20


def test_a_slow_backend_holds_an_upload_back(make_secure, authority, legacy):
    gateway = make_secure(
        routes=[{"match": "POST /up", "kind": "split"}], backends={"legacy": {"timeout": "60s"}},
        timeouts={"body": "60s"})
    go = threading.Event()
    legacy.before_body = lambda request: go.wait(60)
    size, sent = 48 << 20, []

    def upload(client):
        client.send(b"POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(48):
            client.send(b"x" * (1 << 20))
            sent.append(1)

    with connect(gateway, authority) as client:
        thread = threading.Thread(target=upload, args=(client,))
        thread.start()
        assert quiet(lambda: len(sent), 1.0) < 40
        go.set()
        assert client.response().status == 200
        thread.join()
    assert len(legacy.requests[0].body) == size


def test_pipelined_requests_in_one_record_are_answered_in_order(secure, authority, legacy):
    legacy.answer = lambda request: reply(request.target.encode())
    with connect(secure, authority) as client:
        client.send(b"".join(request_bytes("GET", f"/{number}") for number in range(40)))
        assert [client.response().body for _ in range(40)] == [b"/%d" % number for number in range(40)]


def test_a_request_in_many_records_is_one(secure, authority, legacy):
    with connect(secure, authority) as client:
        for byte in request_bytes("POST", "/x", body=b"pieces", user="u"):
            client.send(bytes([byte]))
        assert client.response().status == 200
    eventually(lambda: legacy.requests and legacy.requests[0].body == b"pieces", "the whole body")


def test_the_end_of_an_answer_is_told_from_a_break(secure, authority, legacy):
    """close_notify after a whole answer; none after one that broke off."""
    with connect(secure, authority) as client:
        client.send(request_bytes("GET", "/", [("Connection", "close")]))
        assert client.response().body == b'{"ok":true}'
        assert client.socket.recv(1) == b""
    legacy.answer = lambda request: iter([
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart",
        lambda reader: reader.socket.shutdown(socket.SHUT_RDWR)])
    with connect(secure, authority) as client:
        client.send(request_bytes("GET", "/"))
        assert client.head().status == 200
        with pytest.raises(ssl.SSLError, match="UNEXPECTED_EOF"):
            client.reader.rest()


def test_a_client_that_says_goodbye_while_it_waits_cancels_its_request(secure, authority, legacy):
    legacy.answer = lambda request: [60.0, reply()]
    with connect(secure, authority) as client:
        client.send(request_bytes("GET", "/"))
        eventually(lambda: legacy.begun, "the request is under way")
        client.socket.settimeout(0.2)
        client.say_goodbye()
    eventually(lambda: legacy.begun[0].peer_gone.is_set(), "the backend's request is given up")
    assert secure.metrics()("cutover_client_aborts_total") == 1


def test_an_idle_client_with_tls_keeps_its_connection(make_secure, authority):
    """It does not rest as one without TLS does, and is closed after its time all the same."""
    gateway = make_secure(timeouts={"client_idle": "3s"})
    with connect(gateway, authority) as client:
        assert client.request("GET", "/").status == 200
        time.sleep(1.5)
        assert client.request("GET", "/").status == 200
        begin = time.monotonic()
        assert client.socket.recv(1) == b""
        assert time.monotonic() - begin > 2
    assert gateway.metrics()("cutover_limit_hits_total", limit="client_idle_time") == 1


def test_part_of_a_record_starts_the_clock_of_a_head(make_secure, authority):
    gateway = make_secure(timeouts={"client_idle": "60s", "head": "500ms"})
    with connect(gateway, authority) as client:
        assert client.request("GET", "/").status == 200
        raw = socket.socket(fileno=client.socket.detach())
        with raw:
            raw.sendall(b"\x17\x03\x03\x40\x00")
            begin = time.monotonic()
            # A byte now and then prolongs nothing.
            with pytest.raises(OSError):
                while time.monotonic() < begin + 20:
                    raw.sendall(b"x")
                    time.sleep(0.05)
            assert time.monotonic() - begin < 8


def test_a_thousand_handshakes_leave_memory_and_descriptors_as_they_were(secure, authority):
    context = client_context(authority)

    def one():
        with connect(secure, authority, context=context) as client:
            assert client.request("GET", "/").status == 200

    def descriptors():
        return len(list(pathlib.Path(f"/proc/{secure.process.pid}/fd").iterdir()))

    for _ in range(200):
        one()
    memory, open_files = secure.resident_bytes(), descriptors()
    for _ in range(1000):
        one()
    eventually(lambda: secure.metrics()("cutover_client_connections") == 0, "all are gone")
    eventually(lambda: descriptors() <= open_files + 8, "their descriptors, too")
    assert secure.resident_bytes() < memory + (8 << 20)


def test_a_session_is_resumed_on_any_worker(secure, authority):
    context = client_context(authority)
    with connect(secure, authority, context=context) as client:
        assert client.request("GET", "/").status == 200
        session = client.socket.session
    for _ in range(6):
        with connect(secure, authority, context=context, session=session) as client:
            assert client.socket.session_reused and client.request("GET", "/").status == 200
            session = client.socket.session
    assert secure.metrics()("cutover_tls_handshakes_total", resumed="yes", listener="client") == 6


def test_the_certificate_is_chosen_by_name(make_secure, authority):
    one, wild, exact = authority.sign("one.test"), authority.sign("*.wild.test"), authority.sign("exact.wild.test")
    gateway = make_secure(tls={"certificates": [one.files, wild.files, exact.files]})

    def shown(name):
        context = client_context(authority)
        context.check_hostname = False
        with connect(gateway, authority, context=context, name=name) as client:
            assert client.request("GET", "/").status == 200
            return client.names

    assert shown("one.test") == ["one.test"]
    assert shown("any.wild.test") == ["*.wild.test"]
    assert shown("exact.wild.test") == ["exact.wild.test"]
    # A wildcard stands for one label, and for underscores too.
    assert shown("my_app.wild.test") == ["*.wild.test"]
    assert shown("_a_.WILD.test") == ["*.wild.test"]
    assert "localhost" in shown("a.any.wild.test") and "localhost" in shown("a_b.any.wild.test")
    assert "localhost" in shown("wild.test")
    assert "localhost" in shown("unknown.test") and "localhost" in shown(None)


def test_only_clients_with_a_certificate_of_the_authority_are_let_in(make_secure, authority, scratch):
    other = Authority(scratch / "other", "other")
    gateway = make_secure(tls={"client_ca_file": str(authority.file)})
    with connect(gateway, authority, certificate=authority.sign("somebody")) as client:
        assert client.request("GET", "/").status == 200
    for certificate in (None, other.sign("somebody"), authority.sign("late", days=-1)):
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            with connect(gateway, authority, certificate=certificate) as client:
                client.request("GET", "/")
    assert failures(gateway, "certificate") == 1 and failures(gateway, "untrusted") == 1
    assert failures(gateway, "expired") == 1


def test_a_certificate_may_be_optional_but_not_wrong(make_secure, authority, scratch):
    other = Authority(scratch / "other", "other")
    gateway = make_secure(tls={"client_ca_file": str(authority.file), "client_certificate": "optional"})
    for certificate in (None, authority.sign("somebody")):
        with connect(gateway, authority, certificate=certificate) as client:
            assert client.request("GET", "/").status == 200
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        with connect(gateway, authority, certificate=other.sign("somebody")) as client:
            client.request("GET", "/")


def test_a_client_without_a_protocol_in_common_is_refused(secure, authority):
    context = client_context(authority)
    context.set_alpn_protocols(["spdy/1"])
    with pytest.raises(ssl.SSLError):
        connect(secure, authority, context=context)
    eventually(lambda: failures(secure, "protocol") == 1, "it is counted")


def test_renegotiation_is_refused(secure, authority):
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{secure.port}", "-tls1_2", "-CAfile", authority.file],
        input="R\n", capture_output=True, text=True, timeout=30)
    assert "no renegotiation" in done.stdout + done.stderr


def test_keys_may_be_changed_in_the_middle(secure, authority):
    """`K` makes openssl change its keys and ask for new ones of the gateway's."""
    with subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{secure.port}", "-CAfile", authority.file, "-crlf"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
        seen = []
        thread = threading.Thread(target=lambda: seen.extend(iter(client.stdout.readline, b"")))
        thread.start()
        eventually(lambda: any(b"Verify return code" in line for line in seen), "the handshake")
        for _ in range(2):
            client.stdin.write(b"K\n")
            client.stdin.flush()
            eventually(lambda: any(b"KEYUPDATE" in line for line in seen), "the keys are changed")
            seen.clear()
            time.sleep(0.2)  # openssl takes a command only at the begin of what it reads.
            client.stdin.write(b"GET / HTTP/1.1\nHost: a\n\n")
            client.stdin.flush()
            eventually(lambda: any(line.startswith(b"HTTP/1.1 200") for line in seen), "the answer")
        client.stdin.close()
        client.kill()
        thread.join()


def test_an_upgrade_is_tunnelled(secure, authority, legacy):
    def answer(_):
        yield b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello"
        yield lambda reader: reader.socket.sendall(reader.exactly(100_000)[::-1])

    legacy.answer = answer
    with connect(secure, authority) as client:
        client.send(request_bytes("GET", "/", [("Connection", "Upgrade"), ("Upgrade", "websocket")]))
        assert client.response().status == 101
        assert client.reader.exactly(5) == b"hello"
        data = bytes(range(250)) * 400
        client.send(data)
        assert client.reader.exactly(len(data)) == data[::-1]


def test_a_drain_ends_handshakes_and_idle_clients(make_secure, authority):
    secure = make_secure(timeouts={"drain": "20s", "head": "60s"})
    with secure.connect() as silent, connect(secure, authority) as idle:
        silent.send(b"\x16")
        assert idle.request("GET", "/").status == 200
        assert secure.stop() == 0


def test_a_drain_does_not_wait_for_those_who_never_ask(make_secure, authority):
    secure = make_secure(timeouts={"drain": "20s", "client_idle": "60s"})
    with connect(secure, authority):
        eventually(lambda: secure.metrics()("cutover_tls_handshakes_total", listener="client") == 1, "it is secured")
        assert secure.stop() == 0


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
def test_a_drain_answers_whoever_is_at_the_handshake(make_secure, authority, protocol):
    secure = make_secure(timeouts={"drain": "200s"})
    context = client_context(authority)
    context.set_alpn_protocols([protocol])
    with HalfHandshake(secure.address, context) as late:
        # The first byte is with the gateway once another client, who came later, is served.
        with connect(secure, authority) as other:
            assert other.request("GET", "/").status == 200
        stopping = threading.Thread(target=secure.stop, args=(40,))
        stopping.start()
        eventually(lambda: "draining" in secure.log(), "it drains")
        late.finish()
        if protocol == "h2":
            client = http2.Client(secure, peer=late)
            assert client.finish(client.begin(client.fields())).status == 200
            assert client.ends() == http2.NO_ERROR
        else:
            late.sendall(request_bytes("GET", "/"))
            assert late.recv(65536).startswith(b"HTTP/1.1 200 ")
        stopping.join()


def test_every_series_is_there_from_the_begin(make_gateway, legacy, new):
    metrics = make_gateway(legacy, new).metrics()
    assert isinstance(metrics, Metrics)
    for listener in ("client", "admin"):
        assert metrics("cutover_tls_failures_total", listener=listener, reason="not_tls") == 0
        assert metrics("cutover_tls_handshakes_total", listener=listener, version="1.3", resumed="yes") == 0
    for backend in ("legacy", "new"):
        for reason in ("untrusted", "expired", "name", "certificate", "protocol", "timeout", "closed", "other"):
            assert metrics("cutover_upstream_tls_failures_total", backend=backend, reason=reason) == 0
