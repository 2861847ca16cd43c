"""Connections to backends: re-use, staleness, time-outs, limits, and a backend that comes and goes."""

import re
import socket
import threading
import time

import pytest

from support.backend import CLOSE, HANG, RESET, reply
from support.parallel import in_parallel
from support.waiting import eventually, stays
from support.wire import request_bytes

ONE_WORKER = {"workers": 1, "routes": [{"match": "* /split/**", "kind": "split"}]}
BRIEF = {"backends": {"legacy": {"timeout": "300ms"}}}


@pytest.fixture
def single(make_gateway, legacy, new):
    """A gateway with one worker, so that there is one pool."""
    return make_gateway(legacy, new, config=ONE_WORKER)


def test_a_connection_is_used_again(single, legacy):
    for _ in range(3):
        with single.connect() as client:
            for _ in range(10):
                assert client.request("GET", "/").status == 200
    assert legacy.connections == 1


def test_a_connection_is_not_used_again_when_the_backend_says_close(single, legacy):
    legacy.answer = lambda request: reply(headers=[("Connection", "close")])
    with single.connect() as client:
        for _ in range(3):
            assert client.request("GET", "/").status == 200
    assert legacy.connections == 3


def test_connections_that_the_backend_closed_while_idle_are_noticed(single, legacy):
    with single.connect() as client:
        for method in ("GET", "POST", "POST"):
            assert client.request(method, "/split/x", body=b"x" if method == "POST" else None).status == 200
            legacy.drop_connections()
            eventually(lambda: not legacy._sockets, "the backend's side is closed")
    assert len(legacy.requests) == 3


@pytest.mark.parametrize("ending", [CLOSE, RESET])
def test_a_read_on_a_connection_that_just_went_stale_is_sent_again(single, legacy, ending):
    seen = set()

    def once_per_connection(request):
        if request.connection in seen:
            return [ending]
        seen.add(request.connection)
        return reply()

    legacy.answer = once_per_connection
    with single.connect() as client:
        for _ in range(4):
            assert client.request("GET", "/").status == 200


@pytest.mark.parametrize("target", ["/split/x", "/write"])
@pytest.mark.parametrize("ending", [CLOSE, RESET])
def test_a_post_is_never_sent_twice(single, legacy, target, ending):
    legacy.answer = lambda request: [ending] if request.method == "POST" else reply()
    with single.connect() as client:
        assert client.request("GET", "/").status == 200
        assert client.request("POST", target, body=b"pay", user="u").status == 502
    stays(lambda: len(legacy.to(target)) == 1, "the POST goes out once")


@pytest.mark.parametrize("target", ["/split/x", "/write"])
def test_a_post_that_times_out_is_not_sent_again(make_gateway, legacy, new, target):
    gateway = make_gateway(legacy, new, config={**ONE_WORKER, **BRIEF})
    legacy.answer = lambda request: [HANG]
    assert gateway.fetch("POST", target, body=b"pay", user="u").status == 504
    stays(lambda: len(legacy.to(target)) == 1 and not new.begun, "the POST goes out once", seconds=1)


def test_a_refused_connection_is_502_and_says_so(gateway, legacy):
    legacy.stop()
    answer = gateway.get("/")
    assert answer.status == 502 and answer.backend == "legacy"
    assert answer["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == 502 and problem["title"]
    assert len(problem["request_id"]) == 32


def test_a_backend_that_does_not_answer_in_time_is_504(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config=BRIEF)
    legacy.answer = lambda request: [HANG]
    answer = gateway.get("/")
    assert answer.status == 504 and answer["Content-Type"] == "application/problem+json"


def test_a_body_that_stops_in_the_middle_ends_the_connection(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config=BRIEF)
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", HANG]
    with gateway.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: example.test\r\n\r\n")
        assert client.head().status == 200
        assert client.reader.exactly(3) == b"abc"
        assert client.is_closed_by_peer()


def test_a_connection_that_is_not_accepted_times_out(make_gateway, new):
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # The kernel drops what comes after the backlog is full.
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        gateway = make_gateway(url, new, config={"backends": {"legacy": {"connect_timeout": "200ms"}}})
        assert gateway.get("/").status in (502, 504)
        for filler in fillers:
            filler.close()


def test_no_more_connections_than_allowed_are_opened(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1, "backends": {"legacy": {"max_connections": 3}}})
    release = threading.Event()
    legacy.answer = lambda request: [release, reply()]
    with_release = threading.Timer(0.5, release.set)
    with_release.start()
    answers = in_parallel(lambda _: gateway.get("/").status, range(12))
    assert answers == [200] * 12
    assert legacy.connections <= 3


def test_a_backend_that_comes_back_is_used_again(gateway, legacy):
    assert gateway.get("/").status == 200
    legacy.stop()
    assert gateway.get("/").status == 502
    legacy.start()
    assert gateway.get("/").status == 200


def test_host_names_are_resolved(make_gateway, legacy, new):
    gateway = make_gateway(f"http://localhost:{legacy.port}", new)
    assert gateway.get("/").status == 200


def test_real_nginx_with_real_curl(make_gateway, make_nginx, curl):
    legacy, new = make_nginx("legacy"), make_nginx("new")
    content = bytes(range(256)) * 40_000
    for server in (legacy, new):
        (server.root / "blob.bin").write_bytes(content)
        (server.root / "index.html").write_text("<p>index</p>")
    gateway = make_gateway(legacy, new)
    assert curl(gateway.url + "/blob.bin") == content
    assert curl(gateway.url + "/blob.bin", "--http1.0") == content
    assert curl(gateway.url + "/blob.bin", "--range", "100-299") == content[100:300]
    assert curl(gateway.url + "/", "--compressed", "--header", "X-User-Id: u") == b"<p>index</p>"
    head = curl(gateway.url + "/blob.bin", "--head").decode()
    etag = re.search(r"ETag: (\S+)", head)[1]
    conditional = curl(gateway.url + "/blob.bin", "--header", f"If-None-Match: {etag}", "--include").decode()
    assert conditional.startswith("HTTP/1.1 304")
    twice = curl(gateway.url + "/index.html", gateway.url + "/index.html")
    assert twice == b"<p>index</p>" * 2


def test_a_post_needs_no_room_beside_connections_that_were_idle_for_long(make_gateway, legacy, new):
    config = {"workers": 1, "backends": {"legacy": {"max_connections": 2}, "new": {"max_connections": 2}}}
    gateway = make_gateway(legacy, new, config=config)
    release = threading.Event()
    legacy.answer = lambda request: [release, reply()]
    readers = [threading.Thread(target=gateway.get, args=("/", "u")) for _ in range(2)]
    for reader in readers:
        reader.start()
    eventually(lambda: len(legacy.requests) == 2, "both connections are taken")
    release.set()
    for reader in readers:
        reader.join()
    time.sleep(0.6)  # longer than a connection is taken for surely open
    for _ in range(3):
        assert gateway.fetch("POST", "/x", body=b"x", user="u").status == 200
    assert gateway.metrics()("cutover_limit_hits_total", limit="pool_wait") == 0


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_an_answer_without_length_that_breaks_off_ends_in_a_reset(make_gateway, legacy, new, method):
    """Nothing else could tell the client that something is missing (RFC 9112 §8)."""
    gateway = make_gateway(legacy, new)
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\n\r\npart", 0.2, RESET]
    with gateway.connect() as client:
        client.send(request_bytes(method, "/notes/1", body=b"x" if method == "PUT" else None, user="u"))
        assert client.head().status == 200
        with pytest.raises(ConnectionResetError):
            while client.socket.recv(4096):
                pass
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\n\r\nwhole", CLOSE]
    assert gateway.get("/", user="u").body == b"whole"
