"""Server-sent events and other answers without an end: passed on as they come, never compared."""

import threading

import pytest

from support.backend import CLOSE, HANG, reply
from support.waiting import eventually

SHADOW = {"percent": 100, "recheck_after": "50ms"}


def head(kind="text/event-stream", chunked=True):
    framing = "Transfer-Encoding: chunked" if chunked else "Connection: close"
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{framing}\r\n\r\n".encode()


def event(text, chunked=True):
    data = f"data: {text}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data) if chunked else data


def ask(client, user="u"):
    client.send(f"GET /events HTTP/1.1\r\nHost: example.test\r\nX-User-Id: {user}\r\n\r\n".encode())
    return client.head()


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "until-the-end"])
def test_every_event_arrives_before_the_next_one_is_sent(make_gateway, legacy, new, chunked):
    seen = [threading.Event() for _ in range(20)]

    def steps(_):
        yield head(chunked=chunked)
        for number, event_seen in enumerate(seen):
            yield event(number, chunked)
            yield event_seen
        yield CLOSE

    legacy.answer = steps
    with make_gateway(legacy, new).connect() as client:
        assert ask(client).status == 200
        for number, event_seen in enumerate(seen):
            expected = event(number, chunked)
            assert client.reader.exactly(len(expected)) == expected
            event_seen.set()


def test_a_stream_may_be_silent_for_longer_than_the_backends_timeout(make_gateway, legacy, new):
    legacy.answer = lambda _: [head("Text/Event-Stream; charset=utf-8"), event("a"), 2.0, event("b"), HANG]
    gateway = make_gateway(legacy, new, config={"backends": {"legacy": {"timeout": "500ms"}}})
    with gateway.connect() as client:
        ask(client)
        expected = event("a") + event("b")
        assert client.reader.exactly(len(expected)) == expected


@pytest.mark.parametrize(
    "kind, idle", [("text/event-stream", "1s"), ("text/plain", "60s"), ("text/event-streams", "60s")])
def test_silence_has_an_end(make_gateway, legacy, new, kind, idle):
    legacy.answer = lambda _: [head(kind), event("a"), HANG]
    config = {"backends": {"legacy": {"timeout": "500ms"}}, "timeouts": {"client_idle": idle}}
    gateway = make_gateway(legacy, new, config=config)
    with gateway.connect() as client:
        ask(client)
        client.reader.exactly(len(event("a")))
        eventually(client.is_closed_by_peer, "the end of the stream")
    eventually(legacy.requests[0].peer_gone.is_set, "the end at the backend")


@pytest.mark.parametrize("percent", [0, 100])
def test_a_stream_is_not_compared_and_its_shadow_ends_at_its_head(make_gateway, legacy, new, percent):
    for side in (legacy, new):
        side.answer = lambda _: [head(), event("a"), HANG]
    gateway = make_gateway(legacy, new, percent=percent, config={"shadow": SHADOW})
    other = (new, legacy)[percent // 100]
    with gateway.connect() as client:
        ask(client)
        # While the client's own stream goes on.
        eventually(lambda: gateway.metrics()("cutover_shadow_reads_total", result="skipped") == 1, "the shadow's end")
        eventually(other.requests[0].peer_gone.is_set, "the end at the other backend")
        assert client.reader.exactly(len(event("a"))) == event("a")
        assert gateway.metrics()("cutover_shadow_in_flight") == 0
    assert gateway.status()["shadow"]["mismatched"] == 0


def test_a_stream_that_only_one_side_has_is_no_mismatch(make_gateway, legacy, new):
    legacy.answer = lambda _: [head(), event("a"), HANG]
    new.answer = lambda _: reply(b"no stream")
    gateway = make_gateway(legacy, new, config={"shadow": SHADOW})
    with gateway.connect() as client:
        ask(client)
        eventually(lambda: gateway.metrics()("cutover_shadow_reads_total", result="skipped") == 1, "the shadow's end")
        assert client.reader.exactly(len(event("a"))) == event("a")


def test_the_backend_sees_soon_that_the_client_has_gone(make_gateway, legacy, new):
    legacy.answer = lambda _: [head(), event("a"), HANG]
    gateway = make_gateway(legacy, new)
    with gateway.connect() as client:
        ask(client)
        client.reader.exactly(len(event("a")))
    eventually(legacy.requests[0].peer_gone.is_set, "the end at the backend", 4)


def test_a_stream_that_breaks_off_is_neither_tried_again_nor_taken_from_legacy(make_gateway, legacy, new):
    new.answer = lambda _: [head(), event("a"), CLOSE]
    gateway = make_gateway(legacy, new, percent=100)
    with gateway.connect() as client:
        ask(client)
        assert client.reader.exactly(len(event("a"))) == event("a")
        eventually(client.is_closed_by_peer, "the break")
    assert (len(new.requests), legacy.requests) == (1, [])
