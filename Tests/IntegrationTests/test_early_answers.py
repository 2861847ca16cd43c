"""What a backend says before it has the whole body: interim answers end nothing, its answer counts (RFC 9112 §9.3)."""

import threading
import time

import pytest

from support.backend import CLOSE, reply
from support.waiting import eventually
from support.wire import request_bytes

ROUTES = {"routes": [{"match": "POST /up", "kind": "split"}, {"match": "POST /read", "kind": "read"}]}


@pytest.fixture
def gateway(make_gateway, legacy, new):
    return make_gateway(legacy, new, config={**ROUTES, "writes": {"body_max": "32MiB"}})


@pytest.fixture
def talkative(legacy, new):
    """Both backends say `interim` as soon as they have a head, and then take the body slowly."""
    def become(*sides, interim):
        for backend in sides or (legacy, new):
            read = backend._read  # pylint: disable=protected-access

            def tell(reader, peer, number, read=read, backend=backend):
                def before_body(request):
                    if request.method == "GET":
                        return
                    peer.sendall(interim)
                    time.sleep(0.3)
                backend.before_body = before_body
                return read(reader, peer, number)
            backend._read = tell  # pylint: disable=protected-access
    return become


INTERIM = {
    "100": b"HTTP/1.1 100 Continue\r\n\r\n",
    "102": b"HTTP/1.1 102 Processing\r\n\r\n",
    "103 and half a head": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early",
}
REST = {"103 and half a head": b" Hints\r\nLink: </b>\r\n\r\n"}


@pytest.mark.parametrize("kind", ["length", "chunked"])
@pytest.mark.parametrize("said", INTERIM)
def test_an_interim_answer_does_not_end_an_upload(gateway, legacy, talkative, said, kind):
    talkative(legacy, interim=INTERIM[said])
    legacy.answer = lambda request: REST.get(said, b"") + reply(b"whole")
    size = 3_000_000
    with gateway.connect() as client:
        if kind == "length":
            client.send(request_bytes("POST", "/up", [("Content-Length", str(size))], user="u") + b"x" * (size // 2))
            time.sleep(0.1)
            client.send(b"x" * (size // 2))
        else:
            client.send(request_bytes("POST", "/up", [("Transfer-Encoding", "chunked")], user="u"))
            client.send(b"%x\r\n%s\r\n" % (size // 2, b"x" * (size // 2)))
            time.sleep(0.1)
            client.send(b"%x\r\n%s\r\n0\r\n\r\n" % (size // 2, b"x" * (size // 2)))
        answer = client.response("POST")
    assert (answer.status, answer.body) == (200, b"whole")
    assert len(legacy.requests[0].body) == size


@pytest.mark.parametrize("said", INTERIM)
def test_an_interim_answer_does_not_end_a_leg(gateway, legacy, new, talkative, said):
    talkative(interim=INTERIM[said])
    legacy.answer = new.answer = lambda request: REST.get(said, b"") + reply(b"{}")
    body = b"y" * 8_000_000
    assert gateway.fetch("PUT", "/note", body=body, user="u").status == 200
    eventually(lambda: new.requests, "the second leg")
    gateway.settle()
    assert [[len(request.body) for request in backend.requests] for backend in (legacy, new)] == [[len(body)]] * 2


@pytest.mark.parametrize("path", ["/read", "/note"])
def test_an_answer_that_comes_early_counts_whatever_becomes_of_the_body(gateway, legacy, path):
    server = Refusing(legacy)
    try:
        for _ in range(20):
            assert gateway.fetch("POST", path, body=b"z" * 900_000, user="u").status == 413
    finally:
        server.restore()


class Refusing:
    """Answers 413 to every head and closes at once, with the body unread."""

    def __init__(self, backend):
        self.backend, self.serve = backend, backend._serve  # pylint: disable=protected-access
        backend._serve = self._serve  # pylint: disable=protected-access

    def restore(self):
        self.backend._serve = self.serve  # pylint: disable=protected-access

    @staticmethod
    def _serve(peer, _number, _closing):
        received = b""
        while b"\r\n\r\n" not in received:
            got = peer.recv(65536)
            if not got:
                return peer.close()
            received += got
        peer.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmuch")
        return peer.close()


def test_a_refused_upload_is_no_failure_of_its_backend(gateway, legacy, new):
    """A client with uploads that are too large must not turn everybody off a backend."""
    servers = [Refusing(legacy), Refusing(new)]
    statuses = []
    for _ in range(60):
        with gateway.connect() as client:
            client.send(request_bytes("POST", "/up", [("Content-Length", "5000000")], user="u"))
            try:
                client.send(b"z" * 5_000_000)
            except OSError:
                pass
            try:
                statuses.append(client.response("POST").status)
            except OSError:
                # Its own sending broke the connection before it could read.
                continue
    # A reset may overtake the answer on its way to the gateway; that is rare.
    assert statuses.count(413) > 0.9 * len(statuses) > 30, statuses
    assert all(gateway.status()["backends"][side]["healthy"] for side in ("legacy", "new"))
    for server in servers:
        server.restore()


def test_a_backend_that_closes_without_a_word_costs_one_upload_and_not_every_other(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={**ROUTES, "workers": 1})
    legacy.answer = lambda request: [reply(b"done"), 0.001, CLOSE]
    statuses = [gateway.fetch("POST", "/up", body=b"b" * 1000, user="u").status for _ in range(60)]
    assert statuses.count(502) <= 3 and statuses.count(200) >= 57, statuses


def test_a_connection_keeps_no_buffer_of_a_large_body(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1})
    gateway.fetch("PUT", "/warm", body=b"w" * 100, user="w")
    gateway.settle()
    before = gateway.resident_bytes()

    def put(number):
        with gateway.connect(timeout=60) as client:
            client.send(request_bytes("PUT", f"/{number}", [("Content-Length", "7900000")], user=f"u{number}"))
            client.send(b"l" * 7_900_000)
            assert client.response("PUT").status == 200

    threads = [threading.Thread(target=put, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gateway.settle()
    # Twenty bodies on their way to both backends are 320 MB of output alone.
    eventually(lambda: gateway.resident_bytes() - before < 120 << 20, "the memory goes back", 30)


def test_a_list_at_the_root_may_be_unordered(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"shadow": {"percent": 100, "unordered": [""], "recheck_after": "50ms"}})
    legacy.answer = lambda request: reply(b"[1,2,3]")
    new.answer = lambda request: reply(b"[3,1,2]")
    assert gateway.get("/", user="u").status == 200
    eventually(lambda: gateway.status()["shadow"]["matched"] == 1, "a match")
