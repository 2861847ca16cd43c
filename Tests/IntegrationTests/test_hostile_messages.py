"""Messages that never end, come by the drop, or are as large as no machine.

Each is ended by its limit, and nobody else notices.
"""

import threading
import time

import pytest

from support.backend import CLOSE, reply
from support.hostile import Bystander, Crowd, allow_many_descriptors, connections, hits
from support.waiting import eventually
from support.wire import Truncated, WireError, request_bytes

MEBIBYTE = 1 << 20
HOST = b"Host: example.test\r\n"
POST = b"POST /x HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
SPLIT = [{"match": "POST /x", "kind": "split"}]


class Source:
    """Sends one piece over and over, as fast as the other end takes it, and remembers how much that was."""

    def __init__(self, piece, total=float("inf")):
        self.piece, self.total, self.sent, self.ended = piece, total, 0, threading.Event()

    def into(self, peer):
        try:
            while self.sent < self.total:
                peer.sendall(self.piece)
                self.sent += len(self.piece)
        except OSError:
            pass
        self.ended.set()


def peak(gateway, until, most, seconds=20):
    """Waits for an event; the memory meanwhile may not have grown by more than `most` bytes."""
    before, grown = gateway.resident_bytes(), 0
    deadline = time.monotonic() + seconds
    while not until.is_set():
        grown = max(grown, gateway.resident_bytes() - before)
        assert grown < most, f"memory has grown by {grown / MEBIBYTE:.0f} MiB"
        assert time.monotonic() < deadline, f"not ended within {seconds} s"
        time.sleep(0.01)


# What a client sends

ENDLESS = {
    "request line": (b"GET /", b"a" * 65536, 414),
    "header line": (b"GET / HTTP/1.1\r\n" + HOST + b"X: ", b"a" * 65536, 431),
    "header lines": (b"GET / HTTP/1.1\r\n" + HOST, b"X: a\r\n" * 10_000, 431),
    "empty header lines": (b"GET / HTTP/1.1\r\n" + HOST, b"a:\r\n" * 10_000, 431),
    "cookies": (b"GET / HTTP/1.1\r\n" + HOST, b"Cookie: a=b\r\n" * 10_000, 431),
    "chunk extension": (CHUNKED + b"1;", b"a" * 65536, 400),
    "chunk extensions": (CHUNKED, b"1;aaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n" * 2000, 400),
    "white space after a chunk size": (CHUNKED + b"1", b" " * 65536, 400),
    "zeros of a chunk size": (CHUNKED, b"0" * 65536, 400),
    "trailer line": (CHUNKED + b"0\r\nX: ", b"a" * 65536, 400),
    "trailer lines": (CHUNKED + b"0\r\n", b"X: a\r\n" * 10_000, 400),
}


@pytest.mark.parametrize("kind", ["whole", "streamed"])
@pytest.mark.parametrize("name", ENDLESS)
def test_what_has_no_end_is_refused_at_its_limit(make_gateway, legacy, new, name, kind):
    """However fast it comes: the rest is dropped for a second, while the answer can be read and others are served."""
    begin, piece, status = ENDLESS[name]
    gateway = make_gateway(legacy, new, config={"workers": 1, "routes": SPLIT if kind == "streamed" else []})
    bystander = Bystander(gateway)
    with gateway.connect() as client:
        client.send(begin)
        source = Source(piece)
        begun = time.monotonic()
        threading.Thread(target=source.into, args=(client.socket,), daemon=True).start()
        assert client.head().status == status
        peak(gateway, source.ended, 24 * MEBIBYTE)
        assert time.monotonic() - begun < 6
    bystander.finish()
    assert legacy.to("/x") == [] and {request.target for request in legacy.requests} == {"/bystander"}


def test_the_smallest_chunks_are_passed_on_and_cost_nobody_else_a_turn(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1})
    count = 500_000
    bystander = Bystander(gateway)
    with gateway.connect() as client:
        client.send(CHUNKED + b"1\r\nx\r\n" * count + b"0\r\n\r\n")
        assert client.response("POST").status == 200
    bystander.finish()
    assert {len(request.body) for request in legacy.to("/x")} == {count}


LENGTHS = {
    "2^63 - 1": (1 << 63) - 1, "2^63": 1 << 63, "2^64 - 1": (1 << 64) - 1, "2^64": 1 << 64, "2^64 + 1": (1 << 64) + 1,
    "10^40": 10 ** 40, "a thousand digits": "1" * 1000, "a thousand zeros and a 5": "0" * 1000 + "5",
    "with a plus": "+5", "negative": "-1", "minus nothing": "-0", "a fraction": "5.0", "an exponent": "5e0",
    "twice in one line": "5, 5", "with a comma": "5,", "Arabic digits": "\u00b2",
}


@pytest.mark.parametrize("kind", ["write", "streamed"])
@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_that_nobody_could_mean_are_refused(make_gateway, legacy, new, name, kind):
    """It may be as long as a machine's word; two equal ones, and leading zeros, are one length (RFC 9110 §8.6)."""
    gateway = make_gateway(legacy, new, config={"routes": SPLIT if kind == "streamed" else []})
    with gateway.connect() as client:
        line = f"Content-Length: {LENGTHS[name]}\r\n\r\n".encode("latin-1")
        client.send(POST + line + b"hello")
        if name == "2^63 - 1" and kind == "streamed":
            eventually(lambda: legacy.begun, "it is streamed")
            return
        answer = client.response("POST")
        if name in ("a thousand zeros and a 5", "twice in one line") and answer.status == 200:
            assert legacy.to("/x")[0].body == b"hello"
            return
        assert answer.status in (400, 413)
        assert client.is_closed_by_peer()
    assert legacy.begun == [] and new.begun == []


def test_a_thousand_heads_that_come_by_the_drop_are_ended_in_their_time(make_gateway, legacy, new):
    allow_many_descriptors()
    gateway = make_gateway(legacy, new, config={"timeouts": {"head": "2s"}})
    assert gateway.get("/").status == 200
    before = gateway.resident_bytes()
    bystander = Bystander(gateway, fresh=True)
    with Crowd(gateway) as crowd:
        crowd.add(2000, data=b"GET / HTTP/1.1\r\n")
        begun = time.monotonic()
        eventually(lambda: connections(gateway) >= 2000, "they are connected")
        # Each byte comes in time; the head as a whole does not.
        while crowd.say(b"X") and time.monotonic() - begun < 8:
            assert gateway.resident_bytes() - before < 2000 * 40 * 1024
            time.sleep(0.5)
        assert crowd.ended() == len(crowd.sockets)
    bystander.finish()
    assert hits(gateway, "client_head_time") >= 2000
    eventually(lambda: connections(gateway) <= 1, "all are ended")
    assert len(legacy.to("/")) == 1


@pytest.mark.parametrize("kind", ["write", "streamed"])
def test_many_bodies_that_come_by_the_drop_hold_up_nobody(make_gateway, legacy, new, kind):
    """Streamed ones hold a connection to the backend each, and only as many as there are; who says nothing is ended."""
    allow_many_descriptors()
    gateway = make_gateway(legacy, new, config={
        "timeouts": {"body": "3s"}, "routes": [{"match": "POST /x", "kind": "new"}] if kind == "streamed" else []})
    assert gateway.get("/").status == 200
    before = gateway.resident_bytes()
    bystander = Bystander(gateway, fresh=True)
    count = 150 if kind == "streamed" else 1500
    with Crowd(gateway) as crowd:
        crowd.add(count, data=POST + b"Content-Length: 1000000\r\n\r\nx")
        eventually(lambda: connections(gateway) >= count, "they are connected")
        for _ in range(5):
            assert crowd.say(b"x") == count
            time.sleep(0.3)
        assert gateway.resident_bytes() - before < count * 64 * 1024 + 16 * MEBIBYTE
        eventually(lambda: crowd.ended() == count, "nothing comes any more: they are ended")
    bystander.finish()
    assert hits(gateway, "client_body_time") == count
    assert legacy.to("/x") == [] and new.to("/x") == []


def test_clients_that_do_not_read_their_answers_are_cut_off(make_gateway, legacy, new):
    large = reply(b"x" * 8 * MEBIBYTE)
    legacy.answer = lambda request: large if request.target == "/large" else reply()
    gateway = make_gateway(legacy, new, config={"timeouts": {"body": "1s"}})
    assert gateway.get("/bystander").status == 200
    before = gateway.resident_bytes()
    bystander = Bystander(gateway, fresh=True)
    clients = [gateway.connect(receive_buffer=4096) for _ in range(50)]
    for client in clients:
        client.send(request_bytes("GET", "/large"))
    eventually(lambda: len(legacy.to("/large")) == 50, "all have asked")
    assert gateway.resident_bytes() - before < 50 * 128 * 1024 + 16 * MEBIBYTE
    eventually(lambda: connections(gateway) <= 1, "they are cut off", 30)
    bystander.finish()
    for client in clients:
        with pytest.raises((Truncated, OSError)):
            client.response()
        client.close()


# What a backend sends

NEVER_ENDING_HEADS = {
    "header line": (OK + b"X: ", b"a" * 65536),
    "header lines": (OK, b"X: a\r\n" * 10_000),
    "status line": (b"HTTP/1.1 200 ", b"a" * 65536),
}


@pytest.mark.parametrize("percent", [0, 100])
@pytest.mark.parametrize("name", NEVER_ENDING_HEADS)
def test_a_head_of_two_gigabytes_is_502_or_a_fallback(make_gateway, legacy, new, name, percent):
    begin, piece = NEVER_ENDING_HEADS[name]
    source = Source(piece, 2 << 30)
    side = new if percent else legacy
    side.answer = lambda request: [begin, lambda reader: source.into(reader.socket), CLOSE]
    gateway = make_gateway(legacy, new, percent=percent)
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/", user="u"))
        peak(gateway, source.ended, 24 * MEBIBYTE)
        answer = client.response()
    assert answer.status == (200 if percent else 502)
    assert source.sent < 16 * MEBIBYTE
    assert gateway.metrics()("cutover_malformed_responses_total", backend="new" if percent else "legacy") == 1


INTERIM = {"100": b"HTTP/1.1 100 Continue\r\n\r\n", "103": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"}


@pytest.mark.parametrize("kind", ["read", "write", "streamed"])
@pytest.mark.parametrize("status", INTERIM)
def test_interim_answers_without_end_are_ended_by_the_backends_timeout(make_gateway, legacy, new, status, kind):
    """They come as fast as they are taken: the loop serves the others, and the deadline comes nearer, all the same."""
    source = Source(INTERIM[status] * 500)
    legacy.answer = lambda request: (
        reply() if request.target != "/x" else [lambda reader: source.into(reader.socket), CLOSE])
    gateway = make_gateway(legacy, new, config={
        "workers": 1, "backends": {"legacy": {"timeout": "2s"}}, "routes": SPLIT if kind == "streamed" else []})
    bystander = Bystander(gateway)
    with gateway.connect() as client:
        begun = time.monotonic()
        if kind == "read":
            client.send(request_bytes("GET", "/x"))
        else:
            client.send(POST + b"Content-Length: 5\r\n\r\nhello")
        taken = threading.Thread(target=drain, args=(client,), daemon=True)
        taken.start()
        peak(gateway, source.ended, 24 * MEBIBYTE)
        assert time.monotonic() - begun < 8
        taken.join(10)
        assert not taken.is_alive()
        bystander.finish()
    assert gateway.get("/").status == 200


def drain(client):
    """Reads all that comes, and asks for the end once the final answer is there."""
    received = b""
    while b"HTTP/1.1 504" not in received and b"HTTP/1.1 502" not in received:
        try:
            received = received[-64:] + client.socket.recv(65536)
        except OSError:
            return
        if not received:
            return


ENDLESS_CHUNKS = {
    "extension": (b"1;", b"a" * 65536),
    "extensions": (b"", b"1;aaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n" * 2000),
    "size": (b"", b"0" * 65536),
    "trailer line": (b"0\r\nX: ", b"a" * 65536),
    "trailer lines": (b"0\r\n", b"X: a\r\n" * 10_000),
}


@pytest.mark.parametrize("name", ENDLESS_CHUNKS)
def test_endless_framing_of_a_backend_breaks_the_answer_off(make_gateway, legacy, new, name):
    begin, piece = ENDLESS_CHUNKS[name]
    source = Source(piece, 500 * MEBIBYTE)
    head = OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    legacy.answer = lambda request: (
        [head + begin, lambda reader: source.into(reader.socket), CLOSE] if request.target == "/x" else reply())
    gateway = make_gateway(legacy, new, config={"workers": 1})
    bystander = Bystander(gateway)
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/x"))
        try:
            assert client.response().status == 502
        except WireError as error:
            # Its head was out already.
            assert isinstance(error, Truncated)
        peak(gateway, source.ended, 24 * MEBIBYTE)
    assert source.sent < 32 * MEBIBYTE
    bystander.finish()
    assert gateway.metrics()("cutover_malformed_responses_total", backend="legacy") == 1


# Very many requests

PIPELINED = 100_000


def test_a_hundred_thousand_requests_in_one_go_are_answered_in_order(make_gateway, legacy, new):
    """By an answer of the gateway's own, which waits for no backend: the others have their turns all the same."""
    gateway = make_gateway(legacy, new, config={
        "workers": 1, "routes": [{"match": "POST /x", "kind": "write", "require_idempotency_key": True}]})
    bystander = Bystander(gateway)
    before = gateway.resident_bytes()
    requests = b"".join(
        b"POST /x HTTP/1.1\r\nHost: a\r\nX-Request-Id: r%d\r\nContent-Length: 0\r\n\r\n" % n for n in range(PIPELINED))
    with gateway.connect() as client:
        sender = threading.Thread(target=client.send, args=(requests,), daemon=True)
        sender.start()
        data, ids = b"", []
        while len(ids) < PIPELINED:
            data += client.socket.recv(1 << 20)
            parts = data.split(b"X-Request-Id: r")
            # The last one may not be whole.
            ids += [int(part[:part.index(b"\r")]) for part in parts[1:-1]]
            data = b"X-Request-Id: r" + parts[-1] if len(parts) > 1 else parts[-1]
            if len(ids) == PIPELINED - 1 and b"\r" in parts[-1]:
                ids.append(int(parts[-1].split(b"\r")[0]))
        assert ids == list(range(PIPELINED))
    bystander.finish()
    assert gateway.resident_bytes() - before < 16 * MEBIBYTE
    assert legacy.to("/x") == []


@pytest.mark.parametrize("whose", ["own", "backend"])
def test_a_hundred_thousand_requests_whose_answers_nobody_reads_hold_no_memory(make_gateway, legacy, new, whose):
    gateway = make_gateway(legacy, new, config={
        "workers": 1, "timeouts": {"body": "2s"},
        "routes": [{"match": "POST /x", "kind": "write", "require_idempotency_key": True}]})
    line = b"POST /x HTTP/1.1\r\nContent-Length: 0\r\n" if whose == "own" else b"GET /x HTTP/1.1\r\n"
    legacy.answer = lambda request: reply(b"x" * (10 if request.target == "/bystander" else 4096))
    bystander = Bystander(gateway)
    before = gateway.resident_bytes()
    with gateway.connect(receive_buffer=4096) as client:
        source = Source((line + HOST + b"\r\n") * PIPELINED, 1)
        threading.Thread(target=source.into, args=(client.socket,), daemon=True).start()
        time.sleep(1.5)
        assert gateway.resident_bytes() - before < 16 * MEBIBYTE
        eventually(lambda: connections(gateway) <= 1, "it is cut off", 10)
    bystander.finish()
    assert len(legacy.to("/x")) < PIPELINED


# Half-open connections

@pytest.mark.parametrize("sent", [
    b"", b"GET / HT", POST + b"Content-Length: 5\r\n\r\nhe"], ids=["nothing", "head", "body"])
def test_clients_that_only_close_their_half_are_let_go(gateway, sent):
    with Crowd(gateway) as crowd:
        crowd.add(200, data=sent)
        for client in crowd.sockets:
            client.shutdown(1)
        eventually(lambda: crowd.ended() == 200, "the other half is closed, too")
    eventually(lambda: connections(gateway) == 0, "nobody is left")
