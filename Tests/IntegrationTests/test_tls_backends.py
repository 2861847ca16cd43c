"""TLS towards the backends: who is trusted, what a wrong certificate comes to, and that connections are used again."""

import hashlib
import json
import socket
import ssl
import threading

import pytest

from support.backend import Backend, reply
from support.gateway import free_port
from support.tls import Authority, TLSBackend
from support.waiting import eventually

VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@pytest.fixture(name="authority")
def make_authority(scratch):
    return Authority(scratch / "authority")


@pytest.fixture(name="make_backend")
def make_tls_backend(authority):
    made = []

    def make(certificate=None, **options):
        backend = TLSBackend(certificate or authority.sign("localhost", "127.0.0.1"), **options)
        made.append(backend)
        return backend

    yield make
    for backend in made:
        backend.stop()
        assert backend.violations == []


@pytest.fixture(name="make_before")
def make_gateway_before_tls(make_gateway, legacy, authority):
    """A gateway whose new backend speaks TLS; legacy is plain."""

    def make(new, percent=100, config=None, tls=None, **backend):
        tls = {"ca_file": str(authority.file), **(tls or {})}
        tls = {key: value for key, value in tls.items() if value is not None}
        settings = {"backends": {"new": {"url": new if isinstance(new, str) else new.url, "tls": tls, **backend}}}
        return make_gateway(legacy, "http://127.0.0.1:1", percent=percent, config={**settings, **(config or {})})

    return make


def failures(gateway, reason):
    return gateway.metrics()("cutover_upstream_tls_failures_total", backend="new", reason=reason)


def handshakes(gateway, **labels):
    return gateway.metrics()("cutover_upstream_tls_handshakes_total", backend="new", **labels)


@pytest.mark.parametrize("version", VERSIONS)
def test_reads_and_writes_reach_a_backend_with_tls(make_before, make_backend, legacy, version):
    new = make_backend(version=VERSIONS[version])
    gateway = make_before(new)
    for _ in range(5):
        assert gateway.get("/x", user="u").backend == "new"
    assert gateway.fetch("PUT", "/x", body=b"whole", user="u").backend == "new"
    eventually(lambda: legacy.to("/x", "PUT"), "the other leg")
    assert new.to("/x", "PUT")[0].body == b"whole" and new.names[0] == "localhost"
    assert handshakes(gateway, version=version) >= 1


def test_nginx_is_a_backend_whose_connections_are_used_again(make_before, make_nginx, authority):
    files = authority.sign("localhost").files
    nginx = make_nginx("secure", server="location / { return 200 $server_port; }", http=f"""
        server {{
            listen 127.0.0.1:TLS ssl;
            ssl_certificate {files['certificate_file']}; ssl_certificate_key {files['key_file']};
            location / {{ default_type text/plain; return 200 "$connection_requests $ssl_protocol"; }}
        }}""".replace("TLS", str(port := free_port())))
    assert nginx.process.poll() is None
    gateway = make_before(f"https://localhost:{port}", config={"workers": 1})
    seen = [gateway.get("/", user="u").body.split()[0] for _ in range(10)]
    # The session tickets that come behind the handshake do not cost the connection.
    assert seen == [b"%d" % number for number in range(1, 11)]
    assert handshakes(gateway) == 1


def test_shadow_reads_and_second_legs_use_tls_too(make_before, make_backend):
    new = make_backend()
    gateway = make_before(new, percent=0, config={"shadow": {"percent": 100}})
    assert gateway.get("/x", user="u").backend == "legacy"
    eventually(lambda: new.to("/x", "GET"), "the shadow read")
    gateway.fetch("PUT", "/x", body=b"w", user="u")
    eventually(lambda: new.to("/x", "PUT"), "the second leg")
    gateway.settle()


WRONG = {
    "untrusted": lambda authority, other: other.sign("localhost"),
    "expired": lambda authority, other: authority.sign("localhost", days=-1),
    "name": lambda authority, other: authority.sign("elsewhere.test"),
}


@pytest.mark.parametrize("reason", WRONG)
def test_a_wrong_certificate_is_a_backend_that_cannot_be_reached(
        make_before, make_backend, authority, scratch, reason, legacy):
    new = make_backend(WRONG[reason](authority, Authority(scratch / "other", "other")))
    gateway = make_before(new, config={"routes": [{"match": "GET /new/**", "kind": "new"}]})
    answer = gateway.get("/x", user="u")
    assert (answer.status, answer.backend, answer.why) == (200, "legacy", "fallback-connect")
    refused = gateway.get("/new/x", user="u")
    assert refused.status == 502 and refused.json()["type"].endswith("backend-unreachable")
    text = refused.body.decode().lower()
    assert not any(word in text for word in ("certificate", "tls", "ssl", "expired", "verif", "elsewhere"))
    assert failures(gateway, reason) >= 2 and new.begun == [] and len(legacy.requests) == 1
    lines = [line for line in gateway.log().splitlines() if "no TLS connection" in line]
    assert len(lines) == 1 and f"backend new: no TLS connection ({reason})" in lines[0]
    assert gateway.metrics()("cutover_upstream_connects_total", backend="new", result="error") >= 2


def test_a_write_to_a_backend_with_a_wrong_certificate_is_sent_when_it_has_the_right_one(
        make_before, make_backend, authority, scratch, legacy):
    good = authority.sign("localhost")
    new = make_backend(Authority(scratch / "other", "other").sign("localhost"))
    gateway = make_before(new, percent=0)
    assert gateway.fetch("PUT", "/x", body=b"kept", user="u").status == 200
    eventually(lambda: failures(gateway, "untrusted") >= 1, "the leg is refused")
    new.context.load_cert_chain(good.certificate, good.key)
    eventually(lambda: new.to("/x", "PUT"), "the leg arrives")
    gateway.settle()


def test_verification_can_be_turned_off(make_before, make_backend, authority):
    gateway = make_before(make_backend(authority.sign("elsewhere.test", days=-1)), tls={"verify": False})
    assert gateway.get("/", user="u").backend == "new"


def test_the_name_can_be_another_one_than_the_urls(make_before, make_backend, authority):
    new = make_backend(authority.sign("elsewhere.test"))
    gateway = make_before(new, tls={"server_name": "elsewhere.test"})
    assert gateway.get("/", user="u").backend == "new" and set(new.names) == {"elsewhere.test"}


def test_an_address_is_verified_and_not_sent_as_a_name(make_before, make_backend, authority):
    new = make_backend()
    gateway = make_before(f"https://127.0.0.1:{new.port}")
    assert gateway.get("/", user="u").backend == "new" and set(new.names) == {None}
    wrong = make_backend(authority.sign("127.0.0.2", "localhost"))
    gateway = make_before(f"https://127.0.0.1:{wrong.port}")
    assert gateway.get("/", user="u").backend == "legacy" and failures(gateway, "name") >= 1


def test_without_a_file_the_authorities_of_the_system_count(make_gateway, make_backend, legacy, authority):
    new = make_backend()
    config = {"backends": {"new": {"url": new.url}}}
    gateway = make_gateway(legacy, new, percent=100, environment={"SSL_CERT_FILE": str(authority.file)}, config=config)
    assert gateway.get("/", user="u").backend == "new"
    gateway = make_gateway(legacy, new, percent=100, config=config)
    assert gateway.get("/", user="u").backend == "legacy" and failures(gateway, "untrusted") >= 1


@pytest.mark.parametrize("version", VERSIONS)
def test_the_gateway_shows_its_own_certificate(make_before, make_backend, authority, version):
    own = authority.sign("gateway.test")
    new = make_backend(client_authority=authority, version=VERSIONS[version])
    gateway = make_before(new, tls=own.files)
    assert gateway.get("/", user="u").backend == "new"
    assert dict(pair[0] for pair in new.subjects[0]["subject"])["commonName"] == "gateway.test"
    bare = make_before(new)
    answer = bare.get("/", user="u")
    assert (answer.backend, answer.why) == ("legacy", "fallback-connect")
    # TLS 1.3 says so only behind the handshake; the request was not looked at all the same.
    assert bare.fetch("POST", "/x", body=b"once", user="u").backend == "legacy"

    def told():
        # An alert behind the handshake is lost where the reset overtakes it: the next connection is told again.
        bare.get("/", user="u")
        return failures(bare, "alert") + failures(bare, "protocol") >= 1

    eventually(told, "the backend's alert is counted")


@pytest.mark.parametrize("version", VERSIONS)
def test_sessions_are_resumed(make_before, make_backend, version):
    new = make_backend(version=VERSIONS[version])
    gateway = make_before(new, config={"workers": 1})
    for _ in range(5):
        assert gateway.get("/", user="u").backend == "new"
        new.drop_connections()
        eventually(
            lambda: gateway.metrics()("cutover_upstream_connections", backend="new", state="idle") == 0, "it is gone")
    assert new.resumed == [False, True, True, True, True]
    assert handshakes(gateway, resumed="yes", version=version) == 4


def test_a_backend_that_speaks_no_tls_is_no_backend(make_before, legacy):
    plain = Backend()
    gateway = make_before(plain.url.replace("http:", "https:").replace("127.0.0.1", "localhost"))
    assert gateway.get("/", user="u").backend == "legacy"
    assert failures(gateway, "not_tls") + failures(gateway, "closed") + failures(gateway, "other") >= 1
    plain.stop()


def test_a_backend_with_no_version_in_common_is_counted(make_before, authority, scratch):
    nothing = TLSBackend(authority.sign("localhost"))
    nothing.context.minimum_version = ssl.TLSVersion.TLSv1_3
    nothing.context.set_ciphers("ALL")
    gateway = make_before(nothing)
    assert gateway.get("/", user="u").backend == "new"
    nothing.stop()


def test_a_handshake_that_hangs_ends_with_the_connect_timeout(make_before):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gateway = make_before(f"https://127.0.0.1:{silent.getsockname()[1]}", connect_timeout="200ms")
        answer = gateway.get("/", user="u")
        assert (answer.backend, answer.why) == ("legacy", "fallback-connect")
        assert failures(gateway, "timeout") >= 1


@pytest.mark.parametrize("version", VERSIONS)
def test_large_bodies_pass_both_ways_with_back_pressure(make_before, make_backend, version):
    body = hashlib.shake_128(b"large").digest(5 << 20)
    new = make_backend(answer=lambda request: reply(request.body, chunked=True), version=VERSIONS[version])
    gateway = make_before(new, config={"routes": [{"match": "POST /up", "kind": "new"}]})
    with gateway.connect() as client:
        for _ in range(2):
            assert client.request("POST", "/up", body=body).body == body


def test_a_fresh_connection_takes_a_large_body_though_tickets_come_meanwhile(make_before, make_backend):
    """They are no early answer, which would end the request."""
    new = make_backend()
    new.context.num_tickets = 4
    gateway = make_before(new, config={"routes": [{"match": "POST /up", "kind": "new"}]})
    for number in range(10):
        answer = gateway.fetch("POST", "/up", body=b"x" * (1 << 20), user=f"u{number}")
        assert answer.status == 200
        new.drop_connections()
    assert [len(request.body) for request in new.requests] == [1 << 20] * 10


def test_an_early_answer_of_a_backend_with_tls_is_passed_on(make_before, make_backend):
    new = make_backend()
    new.before_body = lambda request: (_ for _ in ()).throw(Early())

    class Early(OSError):
        """Ends the connection without reading the body."""

    gateway = make_before(new, config={"routes": [{"match": "POST /up", "kind": "new"}]})
    assert gateway.fetch("POST", "/up", body=b"x" * (8 << 20), user="u").status == 502


def test_a_body_without_length_that_ends_without_goodbye_is_broken(make_before, make_backend):
    """Whoever cuts the connection must not be able to shorten an answer."""
    new = make_backend(answer=lambda request: iter(
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf", lambda reader: reader.socket.shutdown(socket.SHUT_RDWR)]))
    gateway = make_before(new)
    gateway.get("/", user="u")
    assert gateway.metrics()("cutover_requests_total", code="499") == 1
    new.answer = lambda request: iter(
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nwhole", lambda reader: unwrapped(reader.socket)])
    assert gateway.get("/", user="u").body == b"whole"
    assert gateway.metrics()("cutover_requests_total", code="499") == 1


def test_what_the_control_plane_asks_of_a_backend_uses_its_tls(make_gateway, make_backend, authority, new):
    """The probe before a promotion into the last stage."""
    own = authority.sign("gateway.test")
    legacy = make_backend(authority.sign("elsewhere.test"), client_authority=authority)
    tls = {"ca_file": str(authority.file), "server_name": "elsewhere.test", **own.files}
    plan = {"name": "p", "stages": [{"name": "begin", "percent": 0}, {"name": "full", "percent": 100}]}

    def promoted(**changes):
        gateway = make_gateway(
            legacy, new, plan=plan, config={"backends": {"legacy": {"tls": {**tls, **changes}}}})
        status, answer, _ = gateway.admin("POST", "/api/v1/rollout/promote", {"to": "full"}, token=gateway.token())
        return status, json.dumps(answer)

    assert promoted()[0] == 200
    assert set(legacy.names) == {"elsewhere.test"} and legacy.requests[-1]["Host"].startswith("localhost:")
    status, answer = promoted(server_name="localhost")
    assert status == 409 and "legacy does not answer" in answer
    assert promoted(server_name="localhost", verify=False)[0] == 200


def unwrapped(peer):
    """close_notify."""
    try:
        peer.unwrap()
    except (ssl.SSLError, OSError):
        pass


def test_a_tunnel_reaches_a_backend_with_tls(make_before, make_backend):
    def answer(_):
        yield b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        yield lambda reader: reader.socket.sendall(reader.exactly(50_000)[::-1])

    gateway = make_before(make_backend(answer=answer))
    with gateway.connect() as client:
        client.request("GET", "/", [("Connection", "Upgrade"), ("Upgrade", "websocket")], user="u")
        data = bytes(range(250)) * 200
        client.send(data)
        assert client.reader.exactly(len(data)) == data[::-1]


def test_many_at_once_over_few_connections(make_before, make_backend):
    new = make_backend(answer=lambda request: reply(request.target.encode()))
    gateway = make_before(new, max_connections=8, connect_timeout="10s")
    wrong = []

    def client(number):
        with gateway.connect() as connection:
            for turn in range(30):
                target = f"/{number}/{turn}"
                answer = connection.request("GET", target, user="u")
                if answer.body != target.encode() or answer.backend != "new":
                    wrong.append(answer)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and handshakes(gateway) <= 16
