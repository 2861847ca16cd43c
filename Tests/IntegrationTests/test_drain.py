"""`timeouts.drain` is the upper bound of a stop, whatever is under way; and what a stop still answers."""

import threading
import time

import pytest

from support.backend import HANG, reply
from support.sse import EventStream
from support.waiting import eventually
from support.wire import request_bytes

UPGRADE = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "x3JJHMbDL1EzLkh9GBhXDw==")]
SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
# What a stop may take beyond `timeouts.drain`, on a machine that does other things as well.
SLACK_SECONDS = 6


def open_tunnel(gateway, legacy):
    legacy.answer = lambda request: [SWITCHING, HANG]
    client = gateway.connect()
    client.send(request_bytes("GET", "/socket", UPGRADE))
    assert client.head().status == 101
    return client


def open_download(gateway, legacy):
    """Of an answer that never ends; the client reads none of it."""
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"] + [b"x" * 65536] * 10_000
    client = gateway.connect(receive_buffer=4096)
    client.send(request_bytes("GET", "/large"))
    assert client.head().status == 200
    return client


def open_event_stream(gateway, legacy):
    legacy.answer = lambda request: [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    ] + [b"7\r\ndata: 1\r\n", 0.05] * 2000
    client = gateway.connect()
    client.send(request_bytes("GET", "/events"))
    assert client.head().status == 200
    return client


def open_upload(gateway, legacy):
    client = gateway.connect()
    client.send(b"PUT /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nthe beginning")
    return client


def open_head(gateway, legacy):
    client = gateway.connect()
    client.send(b"GET / HT")
    return client


@pytest.mark.parametrize("open_one", [open_tunnel, open_download, open_event_stream, open_upload, open_head])
def test_nothing_that_clients_do_makes_a_stop_longer(make_gateway, legacy, new, open_one):
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "500ms"}})
    client = open_one(gateway, legacy)
    time.sleep(0.3)
    began = time.monotonic()
    process = gateway.process
    process.terminate()
    assert process.wait(30) == 1
    assert 0.4 < time.monotonic() - began < 0.5 + SLACK_SECONDS
    assert "some clients were not done in time" in gateway.log()
    client.close()


def test_a_leg_whose_backend_hangs_makes_no_stop_longer(make_gateway, legacy, new):
    gateway = make_gateway(
        legacy, new, config={"timeouts": {"drain": "500ms"}, "backends": {"new": {"timeout": "60s"}}})
    release = threading.Event()
    new.answer = lambda request: [release, reply()]
    assert gateway.fetch("PUT", "/a", (), b"text", user="u").status == 200
    eventually(lambda: new.requests, "the second leg is under way")
    began = time.monotonic()
    process = gateway.process
    process.terminate()
    process.wait(30)
    assert time.monotonic() - began < 0.5 + SLACK_SECONDS
    release.set()
    # It is not lost: the next process sends it again.
    new.answer = lambda request: reply()
    gateway.start()
    gateway.settle()
    assert [request.body for request in new.requests] == [b"text"] * 2
    assert len({request["Idempotency-Key"] for request in new.requests}) == 1


def test_event_streams_of_operators_end_at_once_and_whole(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "30s"}})
    with EventStream(gateway) as stream:
        assert stream.answer.status == 200
        process = gateway.process
        began = time.monotonic()
        process.terminate()
        # Reads to the last chunk; a break is an error.
        while stream._chunk():
            pass
    assert process.wait(30) == 0
    assert time.monotonic() - began < SLACK_SECONDS


def test_silent_clients_make_no_stop_longer(make_gateway, legacy, new):
    """Those who have only connected have a second; those who have asked before, none."""
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "30s"}})
    clients = [gateway.connect() for _ in range(20)]
    for client in clients[::2]:
        assert client.request("GET", "/").status == 200
    began = time.monotonic()
    process = gateway.process
    process.terminate()
    assert process.wait(30) == 0
    assert time.monotonic() - began < SLACK_SECONDS
    for client in clients:
        assert client.is_closed_by_peer()
        client.close()
