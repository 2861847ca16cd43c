"""Framing, streaming and keep-alive in both directions (RFC 9112, contract §8)."""

import socket
import threading
import time

import pytest

from support.backend import CLOSE, HANG, reply
from support.waiting import eventually, quiet
from support.wire import Truncated, chunked_bytes, request_bytes

SPLIT = {"routes": [{"match": "* /split/**", "kind": "split"}], "workers": 1}
# Around the sizes of the blocks that a body passes through, and around both together.
SIZES = [0, 1, 16383, 16384, 16385, 65535, 65536, 65537, 81919, 81920, 81921, 1 << 20, (5 << 20) + 1]


@pytest.fixture
def splitting(make_gateway, legacy, new):
    """A gateway that streams bodies of any method to the user's side below /split."""
    return make_gateway(legacy, new, config=SPLIT)


def pattern(size):
    return (b"0123456789abcdef" * (size // 16 + 1))[:size]


def test_requests_share_a_client_connection(gateway):
    with gateway.connect() as client:
        for _ in range(20):
            assert client.request("GET", "/").status == 200


def test_pipelined_requests_are_answered_in_order(gateway, legacy):
    legacy.answer = lambda request: reply(request.target.encode(), chunked=request.target.endswith("3"))
    with gateway.connect() as client:
        client.send(b"".join(request_bytes("GET", f"/{index}") for index in range(30)))
        for index in range(30):
            assert client.response().body == b"/%d" % index


def test_a_request_may_arrive_byte_by_byte(gateway, legacy):
    with gateway.connect() as client:
        for byte in request_bytes("POST", "/notes/1", body=b"hello", user="u"):
            client.send(bytes([byte]))
        assert client.response("POST").status == 200
    assert legacy.requests[0].body == b"hello"


def test_the_client_may_ask_to_close(gateway):
    with gateway.connect() as client:
        answer = client.request("GET", "/", [("Connection", "close")])
        assert answer.status == 200 and "close" in answer["Connection"].lower()
        assert client.is_closed_by_peer()


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_answers_arrive_whole(splitting, legacy, size, chunked):
    legacy.answer = lambda request: reply(pattern(size), chunked=chunked)
    with splitting.connect() as client:
        for _ in range(2):
            assert client.request("GET", "/split/x").body == pattern(size)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_streamed_uploads_arrive_whole(splitting, legacy, size, chunked):
    body = pattern(size)
    with splitting.connect() as client:
        for _ in range(2):
            if chunked:
                client.send(request_bytes("POST", "/split/x", [("Transfer-Encoding", "chunked")]))
                client.send(chunked_bytes(body[:7], body[7:20000], body[20000:]))
            else:
                client.send(request_bytes("POST", "/split/x", body=body))
            assert client.response("POST").status == 200
    assert [request.body for request in legacy.requests] == [body, body]


def test_uploads_that_follow_each_other_share_a_connection_to_the_backend(splitting, legacy):
    with splitting.connect() as client:
        for size in (5, 100_000, 300_000):
            assert client.request("POST", "/split/x", body=pattern(size)).status == 200
    assert [request.body for request in legacy.requests] == [pattern(size) for size in (5, 100_000, 300_000)]
    assert legacy.connections == 1


def test_an_upload_goes_over_no_connection_that_was_idle_for_long(splitting, legacy):
    with splitting.connect() as client:
        assert client.request("POST", "/split/x", body=pattern(100_000)).status == 200
        time.sleep(0.8)
        assert client.request("POST", "/split/x", body=pattern(100_000)).status == 200
    assert legacy.connections == 2


class AnswersEarly:
    """A backend that answers as soon as it has seen a head, keeps the connection and never looks at what follows."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.peers = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.peers.append(peer)
            head = b""
            while b"\r\n\r\n" not in head:
                head += peer.recv(65536)
            peer.sendall(reply(b"early"))

    def stop(self):
        for socket_of_it in [self.listener, *self.peers]:
            socket_of_it.close()


def test_a_connection_whose_backend_answered_before_the_whole_upload_is_not_used_again(make_gateway, new):
    backend = AnswersEarly()
    try:
        gateway = make_gateway(backend, new, config=SPLIT)
        with gateway.connect() as client:
            client.send(request_bytes("POST", "/split/x", [("Content-Length", "1000000")]) + pattern(1000))
            assert client.response("POST").body == b"early"
        assert gateway.fetch("POST", "/split/x", body=b"whole").body == b"early"
        assert len(backend.peers) == 2
    finally:
        backend.stop()


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_a_read_with_a_chunked_body_of_any_size_arrives_whole(gateway, legacy, size):
    body = pattern(size)
    parts = [body[at:at + 50_000] for at in range(0, size, 50_000)]
    with gateway.connect() as client:
        head = request_bytes("PROPFIND", "/", [("Transfer-Encoding", "chunked")], user="u")
        client.send(head + chunked_bytes(*parts))
        assert client.response("PROPFIND").status == 200
    assert legacy.requests[0].body == body


def test_trailers_pass_both_ways(splitting, legacy):
    legacy.answer = lambda request: reply(
        b"body", headers=[("Trailer", "X-Sum")], chunked=True, trailers=[("X-Sum", "9")])
    with splitting.connect() as client:
        client.send(request_bytes("POST", "/split/x", [
            ("Transfer-Encoding", "chunked"), ("TE", "trailers"), ("Trailer", "X-Check")]))
        client.send(chunked_bytes(b"abc", trailers=[("X-Check", "7")]))
        answer = client.response("POST")
    assert legacy.requests[0].trailers == [("X-Check", "7")]
    assert answer.body == b"body" and answer.trailers == [("X-Sum", "9")]


@pytest.mark.parametrize("target", ["/split/x", "/write"])
def test_expect_100_continue_is_answered_before_the_body(splitting, legacy, target):
    with splitting.connect() as client:
        client.send(request_bytes("POST", target, [("Expect", "100-continue"), ("Content-Length", "20000")], user="u"))
        assert client.head().status == 100
        client.send(pattern(20000))
        assert client.response("POST").status == 200
    assert legacy.requests[0].body == pattern(20000)


def test_head_has_no_body_and_get_follows_on_the_same_upstream_connection(splitting, legacy):
    legacy.answer = lambda request: reply(b"0123456789")
    with splitting.connect() as client:
        for method in ("HEAD", "GET", "HEAD", "GET"):
            answer = client.request(method, "/")
            assert answer["Content-Length"] == "10"
            assert answer.body == (b"" if method == "HEAD" else b"0123456789")
    assert legacy.connections == 1


@pytest.mark.parametrize("head", [
    b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 100\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
])
def test_answers_without_body_end_with_their_head(splitting, legacy, head):
    legacy.answer = lambda request: head if request.target == "/empty" else reply(b"after")
    with splitting.connect() as client:
        assert client.request("GET", "/empty").status == int(head[9:12])
        assert client.request("GET", "/").body == b"after"


def test_interim_answers_reach_the_client(gateway, legacy):
    legacy.answer = lambda request: [
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n", reply()]
    with gateway.connect() as client:
        answer = client.request("GET", "/")
        assert [interim.status for interim in answer.interim] == [103, 102]
        assert answer.interim[0]["Link"] == "</a.css>; rel=preload"
        assert client.request("GET", "/").status == 200


def test_a_client_of_http_1_0_gets_a_body_that_ends_with_the_connection(gateway, legacy):
    legacy.answer = lambda request: [b"HTTP/1.1 103 Early Hints\r\n\r\n", reply(b"all of it", chunked=True)]
    with gateway.connect() as client:
        client.send(b"GET / HTTP/1.0\r\nHost: example.test\r\n\r\n")
        answer = client.response()
        assert answer.interim == [] and "Transfer-Encoding" not in answer.headers
        assert answer.body == b"all of it"
        assert client.is_closed_by_peer()


def test_an_answer_that_ends_with_the_connection_arrives_whole(gateway, legacy):
    legacy.answer = lambda request: [b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n", pattern(100_000), CLOSE]
    with gateway.connect() as client:
        assert client.request("GET", "/").body == pattern(100_000)


@pytest.mark.parametrize("rest", [
    b"Content-Length: 100\r\n\r\npart of", b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n9\r\npart of"])
def test_an_answer_cut_short_never_looks_whole(gateway, legacy, rest):
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\n" + rest, CLOSE]
    with gateway.connect() as client, pytest.raises(Truncated):
        client.request("GET", "/")


def test_a_bad_chunk_that_comes_with_the_head_is_502(gateway, legacy):
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", CLOSE]
    assert gateway.get("/", user="u").status == 502
    answer = gateway.fetch("PUT", "/x", body=b"x", user="u")
    assert answer.status == 502 and answer["Content-Type"] == "application/problem+json"


def test_a_client_of_http_1_0_that_names_no_host_gets_the_backends(gateway, legacy):
    with gateway.connect() as client:
        client.send(b"GET /old HTTP/1.0\r\n\r\n")
        assert client.response().status == 200
    assert legacy.requests[0].headers.all("Host") == [f"127.0.0.1:{legacy.port}"]


def test_an_answer_streams_while_the_backend_still_works(gateway, legacy):
    legacy.answer = lambda request: [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n", HANG]
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/"))
        assert client.head().status == 200
        assert client.reader.line() == b"5" and client.reader.exactly(5) == b"first"


def test_a_slow_reader_holds_the_backend_back(splitting, legacy):
    piece, pieces = bytes(1 << 20), 128
    sent = []

    def stream(request):
        yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(piece) * pieces)
        for index in range(pieces):
            yield piece
            sent.append(index)

    legacy.answer = stream
    before = splitting.resident_bytes()
    with splitting.connect(receive_buffer=65536) as client:
        client.send(request_bytes("GET", "/split/large"))
        eventually(lambda: sent, "the first piece is sent")
        assert quiet(lambda: len(sent)) < pieces / 2
        assert splitting.resident_bytes() - before < 16 << 20
        assert len(client.response().body) == len(piece) * pieces
        assert splitting.resident_bytes() - before < 16 << 20


def test_a_slow_backend_holds_the_uploading_client_back(splitting, legacy):
    release, total = threading.Event(), 96 << 20
    legacy.before_body = lambda request: release.wait(60)
    before = splitting.resident_bytes()
    sent = [0]

    def upload(client):
        client.send(request_bytes("POST", "/split/up", [("Content-Length", str(total))]))
        while sent[0] < total:
            client.send(bytes(1 << 20))
            sent[0] += 1 << 20

    with splitting.connect(timeout=60) as client:
        thread = threading.Thread(target=upload, args=(client,), daemon=True)
        thread.start()
        eventually(lambda: legacy.begun, "the head arrives")
        assert quiet(lambda: sent[0]) < total / 2
        assert splitting.resident_bytes() - before < 16 << 20
        release.set()
        assert client.response("POST").status == 200
        thread.join()
    assert len(legacy.requests[0].body) == total


@pytest.mark.parametrize("answer", [[HANG], [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", HANG]])
def test_a_client_that_goes_away_cancels_its_backend_request(gateway, legacy, answer):
    legacy.answer = lambda request: answer
    client = gateway.connect()
    client.send(request_bytes("GET", "/"))
    eventually(lambda: legacy.requests, "the request arrives")
    client.close()
    assert legacy.requests[0].peer_gone.wait(10)


def test_an_upgrade_is_tunnelled_to_the_users_side(gateway, legacy, new):
    def echo(reader):
        while data := reader.some():
            reader.socket.sendall(data.upper())

    switching = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello"
    new.answer = lambda request: [switching, echo, CLOSE]
    gateway.pin("u", "new")
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/socket", [
            ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "x3JJHMbDL1EzLkh9GBhXDw==")],
            user="u") + b"early")
        assert client.head().status == 101
        assert client.reader.exactly(10) == b"helloEARLY"
        client.send(b"more")
        assert client.reader.exactly(4) == b"MORE"
    assert new.requests[0]["Upgrade"] == "websocket" and new.requests[0]["Connection"].lower() == "upgrade"
    assert legacy.requests == []
