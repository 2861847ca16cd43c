"""What is ambiguous or too large is refused before a backend sees any of it."""

import pytest

from support.backend import CLOSE, reply
from support.waiting import eventually
from support.wire import Truncated, WireError, request_bytes

HOST = b"Host: example.test\r\n"
POST = b"POST /x HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"

AMBIGUOUS = {
    "both lengths": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "both lengths, other order": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "differing lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "differing lengths in one line": POST + b"Content-Length: 5, 6\r\n\r\nhello!",
    "length with a sign": POST + b"Content-Length: +5\r\n\r\nhello",
    "negative length": POST + b"Content-Length: -5\r\n\r\nhello",
    "hexadecimal length": POST + b"Content-Length: 0x5\r\n\r\nhello",
    "length with a space": POST + b"Content-Length: 5 5\r\n\r\nhello",
    "empty length": POST + b"Content-Length:\r\n\r\n",
    "length beyond 64 bits": POST + b"Content-Length: 99999999999999999999999\r\n\r\n",
    "chunked twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked not last": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding with a control": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunked in 1.0": b"POST /x HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bare LF after the request line": b"GET / HTTP/1.1\n" + HOST + b"\r\n",
    "bare LF after a header": b"GET / HTTP/1.1\r\nHost: example.test\nX: 1\r\n\r\n",
    "bare LF at the end": b"GET / HTTP/1.1\r\n" + HOST + b"\n",
    "bare CR in a value": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\rb\r\n\r\n",
    "obs-fold": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
    "obs-fold with a tab": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n\tb\r\n\r\n",
    "space before the first header": b"GET / HTTP/1.1\r\n Host: example.test\r\n\r\n",
    "space before a colon": b"GET / HTTP/1.1\r\n" + HOST + b"X : a\r\n\r\n",
    "tab before a colon": b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length\t: 5\r\n\r\nhello",
    "empty name": b"GET / HTTP/1.1\r\n" + HOST + b": a\r\n\r\n",
    "no colon": b"GET / HTTP/1.1\r\n" + HOST + b"nonsense\r\n\r\n",
    "name with a bracket": b"GET / HTTP/1.1\r\n" + HOST + b"X(Y): a\r\n\r\n",
    "NUL in a value": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\x00b\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\nX: a\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\n" + HOST + b"Host: other.test\r\n\r\n",
    "host with a space": b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "two spaces": b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n",
    "target with a space": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "target with a control": b"GET /a\x01b HTTP/1.1\r\n" + HOST + b"\r\n",
    "target without a slash": b"GET a HTTP/1.1\r\n" + HOST + b"\r\n",
    "no target": b"GET HTTP/1.1\r\n" + HOST + b"\r\n",
    "no version": b"GET /\r\n" + HOST + b"\r\n",
    "version in lower case": b"GET / http/1.1\r\n" + HOST + b"\r\n",
    "version with a tail": b"GET / HTTP/1.1x\r\n" + HOST + b"\r\n",
    "method with a bracket": b"GE(T / HTTP/1.1\r\n" + HOST + b"\r\n",
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "chunk size is no number": CHUNKED + b"G\r\nabc\r\n0\r\n\r\n",
    "chunk size with a prefix": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "negative chunk size": CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n",
    "chunk size beyond 64 bits": CHUNKED + b"10000000000000003\r\nabc\r\n0\r\n\r\n",
    "empty chunk size": CHUNKED + b"\r\nabc\r\n0\r\n\r\n",
    "chunk longer than its size": CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n",
    "bare LF after a chunk size": CHUNKED + b"3\nabc\r\n0\r\n\r\n",
    "bare LF in a chunk extension": CHUNKED + b"3;a\n=b\r\nabc\r\n0\r\n\r\n",
    "bad trailer": CHUNKED + b"0\r\nX : 1\r\n\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_ambiguous_requests_are_refused_and_the_connection_closed(gateway, legacy, new, name):
    with gateway.connect() as client:
        client.send(AMBIGUOUS[name] + request_bytes("GET", "/smuggled"))
        answer = client.response()
        # An unknown coding is 501 (RFC 9112 §6.1), a length that no machine can hold may be 413.
        assert answer.status in {"unknown coding": (400, 501), "length beyond 64 bits": (400, 413)}.get(name, (400,))
        assert answer["Content-Type"] == "application/problem+json"
        assert client.is_closed_by_peer()
    assert legacy.begun == [] and new.begun == []
    assert gateway.get("/").status == 200


def test_empty_lines_before_a_request_are_forgiven(gateway):
    with gateway.connect() as client:
        client.send(b"\r\n" + request_bytes("GET", "/"))
        assert client.response().status == 200


TOO_LARGE = {
    "target": (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
    "one header line": (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 17000 + b"\r\n\r\n", 431),
    "all headers": (b"GET / HTTP/1.1\r\n" + HOST + (b"X: " + b"a" * 8000 + b"\r\n") * 9 + b"\r\n", 431),
    "header lines": (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n" * 201 + b"\r\n", 431),
    "a request line without end": (b"GET /" + b"a" * 70000, 414),
    "body": (POST + b"Content-Length: 70000\r\n\r\n" + bytes(70000), 413),
    "body in chunks": (CHUNKED + b"11170\r\n" + bytes(70000) + b"\r\n0\r\n\r\n", 413),
    "body that asks first": (POST + b"Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n", 413),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_is_refused_with_its_status(make_gateway, legacy, new, name):
    gateway = make_gateway(legacy, new, config={"writes": {"body_max": "64KiB"}})
    data, status = TOO_LARGE[name]
    with gateway.connect() as client:
        client.send(data)
        assert client.response().status == status
    assert legacy.begun == [] and new.begun == []


def test_limits_themselves_are_accepted(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"writes": {"body_max": "64KiB"}})
    assert gateway.get("/" + "a" * 8000).status == 200
    assert gateway.get("/", headers=[("X", "a" * 16000)]).status == 200
    assert gateway.get("/", headers=[("X", "a")] * 190).status == 200
    assert gateway.fetch("POST", "/x", body=bytes(65536)).status == 200


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nHost: exa", POST + b"Content-Length: 10\r\n\r\nabc"])
def test_a_client_that_stops_in_the_middle_gets_408(make_gateway, legacy, new, sent):
    gateway = make_gateway(legacy, new, config={"timeouts": {"head": "200ms", "body": "200ms"}})
    with gateway.connect() as client:
        client.send(sent)
        assert client.response().status == 408
        assert client.is_closed_by_peer()
    assert legacy.requests == []


def test_an_idle_connection_is_closed_without_a_word(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"timeouts": {"client_idle": "200ms"}})
    with gateway.connect() as client:
        assert client.request("GET", "/").status == 200
        assert client.is_closed_by_peer()


def test_connections_beyond_the_limit_are_turned_away(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1, "limits": {"connections": 8}})
    clients = [gateway.connect() for _ in range(8)]
    for client in clients:
        assert client.request("GET", "/").status == 200
    with gateway.connect() as surplus:
        surplus.send(request_bytes("GET", "/"))
        try:
            assert surplus.response().status == 503
        except (Truncated, OSError):
            pass
    assert all(client.request("GET", "/").status == 200 for client in clients)
    clients.pop().close()
    eventually(lambda: is_served(gateway), "there is room again")
    for client in clients:
        client.close()


def is_served(gateway):
    try:
        return gateway.get("/").status == 200
    except (Truncated, OSError):
        return False


OK = b"HTTP/1.1 200 OK\r\n"
GARBAGE = {
    "no HTTP": b"220 mail.example.test ESMTP\r\n\r\n",
    "both lengths": OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "differing lengths": OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "bad length": OK + b"Content-Length: five\r\n\r\nhello",
    "bare LF": b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "obs-fold": OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "space before a colon": OK + b"Content-Length : 0\r\n\r\n",
    "bad status": b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
    "unknown coding": OK + b"Transfer-Encoding: xchunked\r\n\r\nhello",
    "head without end": OK + b"X: " + b"a" * 200_000,
    "closed in the head": OK + b"X: a",
    "nothing": b"",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_a_backend_that_answers_garbage_is_502(gateway, legacy, name):
    legacy.answer = lambda request: [GARBAGE[name], CLOSE]
    with gateway.connect() as client:
        answer = client.request("GET", "/")
        assert answer.status == 502
        assert answer["Content-Type"] == "application/problem+json"
        legacy.answer = lambda request: reply(b"well again")
        assert client.request("GET", "/").body == b"well again"


@pytest.mark.parametrize("tail", [b"G\r\nabc\r\n0\r\n\r\n", b"3\r\nabcd\r\n0\r\n\r\n", b"3\nabc\r\n0\r\n\r\n"])
def test_a_bad_chunk_of_a_backend_ends_the_connection(gateway, legacy, tail):
    legacy.answer = lambda request: [OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", 0.05, tail, CLOSE]
    with gateway.connect() as client:
        try:
            assert client.request("GET", "/").status == 502
        except WireError as error:
            assert isinstance(error, Truncated)


def test_an_answer_that_nobody_asked_for_is_never_delivered(gateway, legacy):
    legacy.answer = lambda request: reply(b"asked") + reply(b"poison") if request.target == "/a" else reply(b"right")
    with gateway.connect() as client:
        assert client.request("GET", "/a").body == b"asked"
        for _ in range(3):
            assert client.request("GET", "/b").body == b"right"
