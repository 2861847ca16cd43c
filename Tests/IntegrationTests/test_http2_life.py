"""How connections of HTTP/2 begin, rest and end: time limits, goodbyes, drains, and clients that vanish."""

import contextlib
import threading
import time

import pytest

from support import http2
from support.backend import reply
from support.waiting import eventually, stays

LISTEN = {"listen": [{"address": "127.0.0.1:0", "http2": True}]}


@pytest.fixture
def gateway(make_gateway, legacy, new):
    return make_gateway(legacy, new, config=LISTEN)


def test_the_first_words_may_come_slowly_and_have_to_come(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={**LISTEN, "timeouts": {"head": "1s"}})
    with http2.Client(gateway, starts=False) as client:
        for byte in http2.PREFACE:
            client.send(bytes([byte]))
            time.sleep(0.005)
        client.send(http2.frame(http2.SETTINGS, 0, 0))
        assert client.request(path="/").status == 200
    with http2.Client(gateway, starts=False) as client:
        client.send(http2.PREFACE[:10])
        client.ends()
    eventually(lambda: gateway.metrics()("cutover_client_connections") == 0, "nobody is left")


def test_a_silent_client_is_told_goodbye(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={**LISTEN, "timeouts": {"client_idle": "1s"}})
    release = threading.Event()
    legacy.answer = lambda request: [release, reply(b"late")]
    with http2.Client(gateway) as client:
        stream = client.begin(client.fields())
        stays(lambda: not client.is_closed and client.read(0.05) is not False, "who waits is no idle client", 2)
        assert not client.is_closed and client.goaway is None
        release.set()
        assert client.finish(stream).body == b"late"
        assert client.ends() == http2.NO_ERROR


HALF_HEADS = {
    "no end of the fields": http2.frame(http2.HEADERS, http2.END_STREAM, 1, b"\x82"),
    "half a frame": http2.frame(http2.HEADERS, http2.END_STREAM | http2.END_HEADERS, 1, b"\x82\x86", length=40),
}


@pytest.mark.parametrize("data", HALF_HEADS.values(), ids=HALF_HEADS)
def test_a_head_that_does_not_go_on_is_ended_in_its_time(make_gateway, legacy, new, data):
    gateway = make_gateway(legacy, new, config={**LISTEN, "timeouts": {"head": "500ms", "client_idle": "60s"}})
    with http2.Client(gateway) as client:
        client.send(data)
        # Read without a word: what else is sent now would belong to the head.
        with contextlib.suppress(ConnectionResetError):
            while client.socket.recv(4096):
                pass
    assert gateway.metrics()("cutover_limit_hits_total", limit="client_head_time") == 1
    eventually(lambda: gateway.metrics()("cutover_client_connections") == 0, "nobody is left")


@pytest.mark.parametrize("data", HALF_HEADS.values(), ids=HALF_HEADS)
def test_a_head_that_does_not_go_on_holds_up_no_drain(make_gateway, legacy, new, data):
    gateway = make_gateway(legacy, new, config={**LISTEN, "timeouts": {"drain": "60s", "head": "60s"}})
    with http2.Client(gateway) as client, http2.Client(gateway) as other:
        assert client.request(path="/").status == 200
        client.send(data.replace(b"\0\0\0\1", b"\0\0\0\3"))
        assert other.request(path="/").status == 200
        assert gateway.stop(30) == 0


@pytest.mark.parametrize("frame", [
    http2.frame(http2.PING, 0, 0, b"12345678"), http2.frame(http2.WINDOW_UPDATE, 0, 0, b"\0\0\0\1"),
    http2.frame(0xbe, 0, 0, b"?")], ids=["ping", "window", "unknown"])
def test_frames_that_bring_nothing_do_not_keep_an_idle_client(make_gateway, legacy, new, frame):
    gateway = make_gateway(legacy, new, config={**LISTEN, "timeouts": {"client_idle": "1s"}})
    with http2.Client(gateway) as client:
        assert client.request(path="/").status == 200
        deadline = time.monotonic() + 30
        while not client.is_closed and client.goaway is None:
            assert time.monotonic() < deadline, "it is kept"
            with contextlib.suppress(OSError):
                client.send(frame)
            until = time.monotonic() + 0.2
            while not client.is_closed and time.monotonic() < until:
                client.read(until - time.monotonic())
    assert gateway.metrics()("cutover_limit_hits_total", limit="client_idle_time") == 1


def test_a_drain_lets_requests_end_and_takes_no_further_ones(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={**LISTEN, "timeouts": {"drain": "20s"}})
    release = threading.Event()
    legacy.answer = lambda request: [release, reply(b"ended")]
    with http2.Client(gateway) as idle, http2.Client(gateway) as client:
        stream = client.begin(client.fields())
        eventually(lambda: legacy.requests, "the request arrives")
        stopping = threading.Thread(target=gateway.stop, kwargs={"seconds": 25})
        stopping.start()
        assert idle.ends() == http2.NO_ERROR
        client.until(lambda: client.goaway is not None, "GOAWAY")
        release.set()
        assert client.finish(stream).body == b"ended"
        assert client.ends() == http2.NO_ERROR
        stopping.join()


def test_clients_that_vanish_leave_nothing_behind(gateway, legacy):
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n", *[b"x" * 90_000] * 100]
    for _ in range(40):
        with http2.Client(gateway, takes=False) as client:
            for number in range(10):
                client.begin(client.fields(path=f"/{number}"))
            client.read(5)
    eventually(lambda: gateway.metrics()("cutover_client_connections") == 0, "every client is gone")
    eventually(lambda: gateway.metrics()("cutover_requests_in_flight") == 0, "nothing is under way")
    legacy.answer = lambda request: reply(b"lives")
    assert gateway.get("/", user="u").body == b"lives"


@pytest.mark.parametrize("says", [b"", http2.PREFACE[:10]])
def test_a_drain_answers_those_who_have_not_said_yet_what_they_speak(make_gateway, legacy, new, says):
    gateway = make_gateway(legacy, new, config={**LISTEN, "timeouts": {"drain": "200s", "head": "60s"}})
    with http2.Client(gateway, starts=False) as late:
        late.send(says)
        # It has been accepted once another client, who came later, is served.
        assert gateway.get("/", user="u").status == 200
        stopping = threading.Thread(target=gateway.stop, args=(40,))
        stopping.start()
        eventually(lambda: "draining" in gateway.log(), "it drains")
        late.send(http2.PREFACE[len(says):] + http2.frame(http2.SETTINGS, 0, 0))
        assert late.finish(late.begin(late.fields())).status == 200
        assert late.ends() == http2.NO_ERROR
        stopping.join()


def test_a_drain_does_not_wait_for_those_who_never_say_it(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={**LISTEN, "timeouts": {"drain": "20s", "head": "60s"}})
    with http2.Client(gateway, starts=False) as silent:
        silent.send(b"PRI")
        assert gateway.get("/", user="u").status == 200
        assert gateway.stop() == 0
