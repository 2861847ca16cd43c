"""HTTP/2 towards clients: the same gateway, whatever version a client speaks (contract §8; RFC 9113)."""

import json
import struct
import subprocess
import threading

import pytest

from support import http2
from support.backend import CLOSE, HANG, RESET, reply
from support.store import CHANGE_ROUTES, change
from support.tls import Authority
from support.waiting import eventually, stays

LISTEN = {"listen": [{"address": "127.0.0.1:0", "http2": True}]}


@pytest.fixture
def gateway(make_gateway, legacy, new):
    return make_gateway(legacy, new, config=LISTEN)


@pytest.fixture
def client(gateway):
    with http2.Client(gateway) as connection:
        yield connection


def floods(gateway):
    return gateway.metrics()("cutover_limit_hits_total", limit="http2_flood")


# The same proxy


@pytest.fixture
def make_secure(make_gateway, legacy, new, scratch):
    """A gateway with TLS, and the file of its authority."""
    authority = Authority(scratch / "authority")

    def make(**listener):
        tls = authority.sign("localhost", "127.0.0.1").files
        gateway = make_gateway(legacy, new, config={"listen": [{"address": "127.0.0.1:0", "tls": tls, **listener}]})
        return f"https://localhost:{gateway.port}", ["--cacert", str(authority.file)]

    return make


def test_with_tls_both_agree_on_http2_in_the_handshake(make_secure, legacy, curl):
    url, trust = make_secure()
    shown = curl(f"{url}/a", "-i", *trust, "--http2").decode()
    assert shown.startswith("HTTP/2 200") and legacy.requests[0]["X-Forwarded-Proto"] == "https"
    assert legacy.requests[0]["Via"] == "2.0 cutover"
    assert curl(f"{url}/up", *trust, "--http2", "-X", "PUT", "-d", "x" * 100_000) == b'{"ok":true}'
    assert curl(f"{url}/a", "-i", *trust, "--http1.1").startswith(b"HTTP/1.1 200")
    done = subprocess.run(["h2load", "-n", "200", "-c", "4", "-m", "10", f"{url}/a"], capture_output=True, timeout=60)
    assert b"200 succeeded, 0 failed" in done.stdout, done.stdout


def test_http2_can_be_left_out(make_secure, curl):
    url, trust = make_secure(http2=False)
    assert curl(f"{url}/a", "-i", *trust, "--http2").startswith(b"HTTP/1.1 200")


def test_curl_speaks_http2_and_is_served_like_anybody(gateway, legacy, curl):
    legacy.answer = lambda request: reply(b'{"n":1}', headers=[("X-Back", "1")])
    shown = curl(f"{gateway.url}/a?b=c", "-i", "--http2-prior-knowledge", "-H", "X-User-Id: u").decode()
    assert shown.startswith("HTTP/2 200") and shown.endswith('{"n":1}')
    assert "cutover-backend: legacy\r\n" in shown and "x-back: 1\r\n" in shown
    request = legacy.requests[0]
    assert (request.method, request.target, request.version) == ("GET", "/a?b=c", "HTTP/1.1")
    assert request["Host"] == f"{gateway.host}:{gateway.port}" and request["X-User-Id"] == "u"
    assert request["X-Forwarded-For"] == "127.0.0.1" and request["X-Forwarded-Proto"] == "http"


def test_h2load_gets_every_answer(gateway, legacy):
    legacy.answer = lambda request: reply(b"x" * 20_000)
    done = subprocess.run(
        ["h2load", "-n", "400", "-c", "4", "-m", "20", gateway.url + "/a"], capture_output=True, text=True, timeout=120)
    assert "400 succeeded, 0 failed, 0 errored" in done.stdout, done.stdout + done.stderr
    assert "400 2xx" in done.stdout


def test_http1_is_still_spoken_at_the_same_address(gateway):
    assert gateway.get("/", user="u").status == 200
    with gateway.connect() as client:
        for _ in range(3):
            assert client.request("GET", "/", user="u").status == 200


def test_who_did_not_ask_for_http2_does_not_get_it(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    with http2.Client(gateway) as client:
        while client.read(10) or not client.is_closed:
            pass
    assert legacy.begun == []


def test_requests_of_one_connection_do_not_wait_for_each_other(client, legacy):
    release = threading.Event()
    legacy.answer = lambda request: [release, reply(b"slow")] if request.target == "/slow" else reply(b"fast")
    slow = client.begin(client.fields(path="/slow"))
    for _ in range(30):
        assert client.request(path="/fast").body == b"fast"
    assert not client.answers[slow].is_over
    release.set()
    assert client.finish(slow).body == b"slow"


def test_a_write_goes_to_both_and_is_replayed_by_its_key(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={**LISTEN, "routes": CHANGE_ROUTES})
    body = change("u", "r", 1)
    kind = ("content-type", "application/json")
    with http2.Client(gateway) as client:
        first = client.request("POST", "/changes", extra=[kind], body=body)
        assert first.status == 200 and first["idempotent-replayed"] is None
        again = client.request("POST", "/changes", extra=[kind], body=body)
        assert again.status == 200 and again["idempotent-replayed"] == "true"
        stale = client.request("POST", "/changes", extra=[kind], body=change("u", "r", 0, key="other"))
        assert stale.status == 409 and json.loads(stale.body)["current_revision"] == 1
    gateway.settle()
    assert legacy_store.applied == new_store.applied and len(new_store.applied) == 1


def test_a_read_is_shadowed_and_compared(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={**LISTEN, "shadow": {"percent": 100}})
    with http2.Client(gateway) as client:
        assert client.request(path="/a", user="u", extra=[("cookie", "a=1"), ("cookie", "b=2")]).status == 200
    eventually(lambda: gateway.status()["shadow"]["matched"] == 1, "the comparison")
    assert legacy.requests[0]["Cookie"] == new.requests[0]["Cookie"] == "a=1; b=2"


def test_a_body_of_unknown_length_goes_on_with_its_trailers(make_gateway, legacy, new):
    config = {**LISTEN, "routes": [{"match": "POST /up", "kind": "split"}]}
    gateway = make_gateway(legacy, new, config=config)
    with http2.Client(gateway) as client:
        stream = client.begin(client.fields("POST", "/up"), ends=False)
        client.data(stream, b"abc" * 1000, ends=False)
        trailers = client.encoder.encode([("x-sum", "9")])
        client.send(http2.frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, stream, trailers))
        assert client.finish(stream).status == 200
    assert legacy.requests[0].body == b"abc" * 1000 and legacy.requests[0].chunked
    assert legacy.requests[0].trailers.get("x-sum") == "9"


@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_a_body_have_none(client, legacy, status):
    legacy.answer = lambda request: reply(b"", status, kind=None)
    answer = client.request(path="/")
    assert (answer.status, answer.body) == (status, b"")
    legacy.answer = lambda request: reply(b"12345")
    answer = client.request("HEAD", "/")
    assert (answer.status, answer["content-length"], answer.body) == (200, "5", b"")


def test_interim_answers_and_expectations_pass(client, legacy):
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    legacy.answer = lambda request: [hints, 0.05, reply(b"done")]
    answer = client.request(path="/")
    assert answer.body == b"done" and [dict(fields)[":status"] for fields in answer.interim] == ["103"]
    legacy.answer = lambda request: reply(b"took")
    stream = client.begin(client.fields("POST", "/", extra=[("expect", "100-continue")]), ends=False)
    client.until(lambda: client.answers[stream].interim, "100 Continue")
    client.data(stream, b"body")
    assert client.finish(stream).body == b"took"


def test_an_answer_that_ends_with_its_connection_is_whole(client, legacy):
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\n\r\n" + b"z" * 100_000, CLOSE]
    answer = client.request(path="/")
    assert answer.ended and answer.body == b"z" * 100_000


@pytest.mark.parametrize("head, end", [("Content-Length: 1000\r\n", CLOSE), ("", RESET)], ids=["length", "none"])
def test_an_answer_that_breaks_off_is_reset_and_not_ended(client, legacy, head, end):
    legacy.answer = lambda request: [f"HTTP/1.1 200 OK\r\n{head}\r\nbegin".encode(), 0.2, end]
    answer = client.request(path="/")
    assert not answer.ended and answer.error == http2.INTERNAL_ERROR
    legacy.answer = lambda request: reply(b"next")
    assert client.request(path="/").body == b"next", "the connection lives on"


# Back-pressure


def test_a_client_that_does_not_take_its_answer_holds_only_its_own_stream(gateway, legacy):
    sent = []

    def endless(request):
        if request.target != "/big":
            return reply(b"small")
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
        for _ in range(1000):
            sent.append(100_000)
            yield b"x" * 100_000

    legacy.answer = lambda request: endless(request) if request.target == "/big" else reply(b"small")
    with http2.Client(gateway, takes=False) as client:
        big = client.begin(client.fields(path="/big"))
        client.until(lambda: len(client.answers[big].body) == 65_535, "the window is full")
        client.open(0, 1_000_000)
        assert client.request(path="/small").body == b"small"
        # What the kernel holds between backend and gateway is some megabytes.
        stays(lambda: sum(sent) < 30_000_000, "the backend is held back", 1)
        assert len(client.answers[big].body) == 65_535


def test_an_upload_goes_on_only_as_its_backend_takes_it(make_gateway, legacy, new):
    config = {**LISTEN, "routes": [{"match": "POST /up", "kind": "split"}]}
    gateway = make_gateway(legacy, new, config=config)
    release = threading.Event()
    legacy.before_body = lambda request: release.wait(30)
    size = 20_000_000
    with http2.Client(gateway) as client:
        stream = client.begin(client.fields("POST", "/up", extra=[("content-length", str(size))]), ends=False)
        window = {0: 65_535, stream: 65_535}
        left, held = size, 0

        def credit():
            for kind, _, target, payload in client.frames:
                if kind == http2.WINDOW_UPDATE and target in window:
                    window[target] += struct.unpack(">I", payload)[0]
                elif kind == http2.SETTINGS and payload:
                    pairs = dict(struct.iter_unpack(">HI", payload))
                    window[stream] += pairs.get(4, 65_535) - 65_535
            client.frames.clear()

        while left:
            count = min(window[0], window[stream], left, 16_384)
            if count == 0:
                if client.read(1):
                    credit()
                    continue
                # Windows are shut: the backend takes nothing. Kernel and gateway hold some of it.
                assert not client.is_closed and not release.is_set()
                held = size - left
                release.set()
                continue
            client.send(http2.frame(http2.DATA, http2.END_STREAM if count == left else 0, stream, b"b" * count))
            window[0], window[stream], left = window[0] - count, window[stream] - count, left - count
        assert client.finish(stream).status == 200
    assert 0 < held < size, "the client was held back"
    assert len(legacy.requests[0].body) == size


def test_who_takes_a_request_back_frees_its_backend(client, legacy, gateway):
    legacy.answer = lambda request: [HANG]
    stream = client.begin(client.fields(path="/slow"))
    begun = eventually(lambda: legacy.requests, "the request arrives")
    client.send(http2.frame(http2.RST_STREAM, 0, stream, struct.pack(">I", http2.CANCEL)))
    assert begun[0].peer_gone.wait(10)
    eventually(lambda: gateway.metrics()("cutover_requests_in_flight") == 0, "nothing is under way")
    legacy.answer = lambda request: reply(b"next")
    assert client.request(path="/").body == b"next"


@pytest.mark.parametrize("error", [http2.NO_ERROR, http2.CANCEL])
def test_who_takes_a_request_back_in_the_middle_of_its_answer_holds_nothing(make_gateway, legacy, new, error):
    gateway = make_gateway(legacy, new, config={**LISTEN, "timeouts": {"body": "10m"}})
    legacy.answer = lambda request: reply(b"x" * 1_000_000)
    with http2.Client(gateway, takes=False) as client:
        stream = client.begin(client.fields())
        client.until(lambda: len(client.answers[stream].body) == 65_535, "the window is full")
        client.send(http2.frame(http2.RST_STREAM, 0, stream, struct.pack(">I", error)))
        eventually(lambda: gateway.metrics()("cutover_requests_in_flight") == 0, "nothing is under way")


def test_a_request_beside_bytes_that_end_the_connection_leaves_nothing(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={**LISTEN, "workers": 1, "timeouts": {"body": "10m"}})
    for _ in range(20):
        with http2.Client(gateway) as client:
            fields = client.encoder.encode(client.fields("PUT", "/x", extra=[("content-length", "5")]))
            head = http2.frame(http2.HEADERS, http2.END_HEADERS, 1, fields)
            client.send(head + http2.frame(http2.PING, 0, 1, b"8" * 8))
            client.ends()
    eventually(lambda: gateway.metrics()("cutover_requests_in_flight") == 0, "nothing is under way")
    eventually(lambda: gateway.metrics()("cutover_client_connections") == 0, "nobody is there")
    assert legacy.requests == [] and gateway.stop() == 0


def test_a_write_that_has_begun_is_finished_for_a_client_that_has_gone(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config=LISTEN)
    release = threading.Event()
    legacy.answer = lambda request: [release, reply(b"{}")]
    with http2.Client(gateway) as client:
        client.data(client.begin(client.fields("PUT", "/note", user="u"), ends=False), b"text")
        eventually(lambda: legacy.requests, "the leg to legacy")
    release.set()
    eventually(lambda: [request.body for request in new.requests] == [b"text"], "the leg to new")


# What is malformed, and what is too much


@pytest.mark.parametrize("extra", [
    [("Upper-Case", "x")], [("connection", "close")], [("transfer-encoding", "chunked")], [("upgrade", "h2c")],
    [("te", "gzip")], [("x", "a\r\nb: c")], [("x", "a\0b")], [("a b", "x")], [("host", "elsewhere")],
    [(":status", "200")], [("content-length", "5")], [("content-length", "x")]], ids=str)
def test_a_malformed_request_is_refused_and_the_others_go_on(client, legacy, gateway, extra):
    bad = client.begin(client.fields(path="/bad", extra=extra))
    assert client.finish(bad).error in (http2.PROTOCOL_ERROR, http2.INTERNAL_ERROR) or client.answers[bad].status == 400
    if not client.is_closed:
        assert client.request(path="/good").status == 200
    assert [request.target for request in legacy.begun] in (["/good"], [])
    with http2.Client(gateway) as other:
        assert other.request(path="/other").status == 200


@pytest.mark.parametrize("fields", [
    [(":scheme", "http"), (":path", "/"), (":authority", "a")],
    [(":method", "GET"), (":path", "/"), (":authority", "a")],
    [(":method", "GET"), (":scheme", "http"), (":authority", "a")],
    [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":path", "/"), (":authority", "a")],
    [(":method", "GET"), (":scheme", "http"), (":path", "/a b"), (":authority", "a")],
    [(":method", "GE T"), (":scheme", "http"), (":path", "/"), (":authority", "a")],
    [(":method", "GET"), (":scheme", "http"), (":path", "*/x HTTP/1.1\r\nX: y"), (":authority", "a")],
    [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a\r\nb")],
    [(":method", "GET"), (":scheme", "http"), (":path", ""), (":authority", "a")],
    [("x", "before"), (":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")]], ids=str)
def test_pseudo_fields_have_to_be_right(client, legacy, fields):
    answer = client.finish(client.begin(fields))
    assert answer.error is not None or answer.status in (400, 501)
    assert legacy.begun == []


def test_a_body_that_is_not_as_long_as_it_said_is_refused(client, legacy):
    for body in (b"1234", b"123456"):
        stream = client.begin(client.fields("PUT", "/note", extra=[("content-length", "5")]), ends=False)
        client.data(stream, body)
        assert client.finish(stream).error == http2.PROTOCOL_ERROR
    assert legacy.requests == []


def test_heads_have_their_limits(client, legacy):
    assert client.request(path="/" + "a" * 9_000).status == 414
    assert client.request(path="/", extra=[("x-long", "a" * 15_000)]).status == 200
    many = client.request(path="/", extra=[(f"x-{n}", "a") for n in range(300)])
    assert many.error is not None or many.status == 431
    legacy.forget()
    assert client.request(path="/next").status == 200


def test_a_list_of_fields_without_end_does_not_fill_memory(client, gateway):
    """CONTINUATION frames without END_HEADERS (CVE-2024-27316)."""
    before = gateway.resident_bytes()
    block = client.encoder.encode(client.fields())
    client.send(http2.frame(http2.HEADERS, 0, 1, block))
    client.answers[1] = http2.Answer()
    part = b"".join(client.encoder.encode([(f"x-{n}", "v" * 50)]) for n in range(200))
    try:
        for _ in range(2000):
            client.send(http2.frame(http2.CONTINUATION, 0, 1, part))
    except OSError:
        pass
    client.ends()
    assert gateway.resident_bytes() - before < 20 << 20
    assert gateway.get("/", user="u").status == 200


def flood(client, data, count=100_000):
    """Sends the same over and over until the gateway has had enough."""
    piece = data * 100
    try:
        for _ in range(count // 100):
            client.send(piece)
            client.socket.settimeout(0.001)
    except OSError:
        return
    finally:
        client.socket.settimeout(30)


def has_withstood_a_flood(gateway, legacy):
    assert floods(gateway) >= 1
    legacy.answer = lambda request: reply(b"lives")
    assert gateway.get("/", user="u").body == b"lives"
    eventually(lambda: gateway.metrics()("cutover_requests_in_flight") == 0, "nothing is under way")


@pytest.mark.parametrize("kind", ["ping", "settings", "empty data", "priority"])
def test_frames_that_only_make_work_end_the_connection(gateway, legacy, kind):
    legacy.answer = lambda request: [HANG] if request.target == "/slow" else reply()
    with http2.Client(gateway) as client, http2.Client(gateway) as other:
        stream = client.begin(client.fields("POST", "/slow", extra=[("content-length", "5")]), ends=False)
        flood(client, {
            "ping": http2.frame(http2.PING, 0, 0, b"12345678"),
            "settings": http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 4, 65_535)),
            "empty data": http2.frame(http2.DATA, 0, stream),
            "priority": http2.frame(http2.PRIORITY, 0, 99, b"\0\0\0\1\x10"),
        }[kind])
        assert client.ends() in (http2.ENHANCE_YOUR_CALM, http2.INTERNAL_ERROR, None)
        assert other.request(path="/").status == 200
    eventually(lambda: gateway.metrics()("cutover_client_connections") == 0, "both are gone")


def test_requests_taken_back_at_once_end_the_connection(gateway, legacy):
    """Rapid reset (CVE-2023-44487)."""
    legacy.answer = lambda request: [HANG]
    with http2.Client(gateway) as client:
        try:
            for _ in range(3000):
                stream = client.begin(client.fields())
                client.send(http2.frame(http2.RST_STREAM, 0, stream, struct.pack(">I", http2.CANCEL)))
        except OSError:
            pass
        assert client.ends() in (http2.ENHANCE_YOUR_CALM, None)
    has_withstood_a_flood(gateway, legacy)


@pytest.mark.parametrize("kind", ["window", "field", "length"])
def test_requests_that_the_gateway_is_made_to_reset_end_the_connection_as_well(gateway, legacy, kind):
    """MadeYouReset (CVE-2025-8671)."""
    legacy.answer = lambda request: [HANG]
    with http2.Client(gateway) as client:
        try:
            for _ in range(3000):
                extra = {"field": [("connection", "x")], "length": [("content-length", "1")]}.get(kind, [])
                stream = client.begin(client.fields(extra=extra), ends=kind != "length")
                if kind == "length":
                    client.send(http2.frame(http2.DATA, http2.END_STREAM, stream, b"two"))
                if kind == "window":
                    client.send(http2.frame(http2.WINDOW_UPDATE, 0, stream, struct.pack(">I", 2 ** 31 - 1)))
        except OSError:
            pass
        assert client.ends() in (http2.ENHANCE_YOUR_CALM, None)
    has_withstood_a_flood(gateway, legacy)


def test_more_streams_than_allowed_are_refused_and_may_be_sent_again(client, legacy):
    """As long as the client cannot know better (RFC 9113 §5.1.2)."""
    release = threading.Event()
    legacy.answer = lambda request: [release, reply(b"x")]
    streams = [client.begin(client.fields(path=f"/{n}")) for n in range(110)]
    assert [client.finish(stream).error for stream in streams[100:]] == [http2.REFUSED_STREAM] * 10
    release.set()
    assert all(client.finish(stream).body == b"x" for stream in streams[:100])


def test_who_was_told_how_many_streams_there_may_be_and_opens_more_is_cut_off(client, legacy, gateway):
    legacy.answer = lambda request: [HANG]
    assert client.finish(client.begin(client.fields("CONNECT"))).is_over
    client.until(lambda: any(kind == http2.SETTINGS and flags & http2.ACK for kind, flags, *_ in client.frames), "ACK")
    try:
        for number in range(110):
            client.begin(client.fields(path=f"/{number}"))
    except OSError:
        pass
    assert client.ends() in (http2.PROTOCOL_ERROR, None)
    eventually(lambda: gateway.metrics()("cutover_requests_in_flight") == 0, "nothing is under way")


# What breaks the rules of frames (RFC 9113 §4 to §6): the connection ends with the error that the rules name.


@pytest.mark.parametrize("data, error", [
    (http2.frame(http2.DATA, 0, 0, b"x"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.HEADERS, http2.END_HEADERS, 0, b"\x82"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.HEADERS, http2.END_HEADERS, 2, b"\x82"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 1, b"\xff\xff\xff\xff\xff"),
     http2.COMPRESSION_ERROR),
    (http2.frame(http2.DATA, 0, 5, b"x"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.PING, 0, 0, b"1234567"), http2.FRAME_SIZE_ERROR),
    (http2.frame(http2.PING, 0, 1, b"12345678"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.SETTINGS, 0, 1, b""), http2.PROTOCOL_ERROR),
    (http2.frame(http2.SETTINGS, 0, 0, b"12345"), http2.FRAME_SIZE_ERROR),
    (http2.frame(http2.SETTINGS, http2.ACK, 0, b"123456"), http2.FRAME_SIZE_ERROR),
    (http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 2, 7)), http2.PROTOCOL_ERROR),
    (http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 31)), http2.FLOW_CONTROL_ERROR),
    (http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 5, 1)), http2.PROTOCOL_ERROR),
    (http2.frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 0)), http2.PROTOCOL_ERROR),
    (http2.frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fffffff)), http2.FLOW_CONTROL_ERROR),
    (http2.frame(http2.WINDOW_UPDATE, 0, 0, b"123"), http2.FRAME_SIZE_ERROR),
    (http2.frame(http2.RST_STREAM, 0, 0, b"\0\0\0\0"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.RST_STREAM, 0, 1, b"\0\0\0\0"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.PUSH_PROMISE, http2.END_HEADERS, 1, b"\0\0\0\2\x82"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.CONTINUATION, http2.END_HEADERS, 1, b"\x82"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.HEADERS, 0, 1, b"\x82") + http2.frame(http2.PING, 0, 0, b"12345678"), http2.PROTOCOL_ERROR),
    (http2.frame(http2.GOAWAY, 0, 1, b"\0" * 8), http2.PROTOCOL_ERROR),
    (http2.frame(http2.DATA, 0, 1, b"x" * 16_385), http2.FRAME_SIZE_ERROR),
], ids=lambda value: value.hex()[:40] if isinstance(value, bytes) else None)
def test_what_breaks_the_rules_of_frames_ends_the_connection(client, gateway, legacy, data, error):
    client.send(data)
    assert client.ends() == error
    assert legacy.begun == []
    assert gateway.get("/", user="u").status == 200


def test_unknown_frames_and_settings_are_passed_over(client):
    client.send(http2.frame(0xfe, 0xff, 0, b"whatever") + http2.frame(0xfd, 0, 7, b""))
    client.send(http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 0xabcd, 7)))
    assert client.request(path="/").status == 200


def test_more_than_the_window_is_not_taken(client, legacy, new):
    stream = client.begin(client.fields("PUT", "/note"), ends=False)
    try:
        for _ in range(200):
            client.send(http2.frame(http2.DATA, 0, stream, b"x" * 16_384))
    except OSError:
        pass
    # A write is read as it comes, so the window may open meanwhile; without that, sending on is an error.
    found = client.answers[stream]
    client.until(lambda: found.is_over or client.goaway is not None or client.is_closed or found.headers, "an end")
    assert legacy.requests == [] and new.requests == []
