"""Clients that are silent for more than a second between two requests: they cost next to nothing and notice nothing."""

import contextlib
import time

from support.backend import reply
from support.waiting import eventually
from support.wire import request_bytes

# A client that says nothing for this long has given up its session.
RESTED = 1.3
CLIENTS = 3000


def connections(gateway):
    return gateway.metrics()("cutover_client_connections")


def test_a_client_that_rested_is_served_as_before(gateway, legacy):
    with gateway.connect() as client:
        seen = []
        for _ in range(3):
            assert client.request("GET", "/", user="u").status == 200
            seen.append(legacy.requests[-1]["X-Forwarded-For"])
            assert connections(gateway) == 1
            time.sleep(RESTED)
        assert client.request("PUT", "/x", body=b"x" * 100_000, user="u").status == 200
    assert seen == ["127.0.0.1"] * 3
    assert legacy.requests[-1].body == b"x" * 100_000
    eventually(lambda: connections(gateway) == 0, "the client is counted out")


def test_a_request_that_comes_in_pieces_after_a_rest_arrives_whole(gateway, legacy):
    with gateway.connect() as client:
        assert client.request("GET", "/", user="u").status == 200
        time.sleep(RESTED)
        for byte in request_bytes("POST", "/notes/1", body=b"hello", user="u"):
            client.send(bytes([byte]))
        assert client.response("POST").status == 200
    assert legacy.requests[-1].body == b"hello"


def test_a_client_that_never_sent_anything_rests_and_is_served(gateway):
    with gateway.connect() as client:
        time.sleep(RESTED)
        assert client.request("GET", "/", user="u").status == 200


def test_a_client_that_leaves_while_it_rests_is_counted_out(gateway):
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(gateway.connect())
            assert client.request("GET", "/", user="u").status == 200
        time.sleep(RESTED)
        assert connections(gateway) == 20
    eventually(lambda: connections(gateway) == 0, "every client is counted out")


def test_rest_ends_with_the_idle_time(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"timeouts": {"client_idle": "2s"}})
    with gateway.connect() as client:
        assert client.request("GET", "/", user="u").status == 200
        begun = time.monotonic()
        assert client.is_closed_by_peer()
        assert 1.5 < time.monotonic() - begun < 6
        assert gateway.metrics()("cutover_limit_hits_total", limit="client_idle_time") == 1
        assert connections(gateway) == 0


def test_resting_clients_are_let_go_when_the_gateway_drains(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "20s"}})
    with gateway.connect() as client:
        assert client.request("GET", "/", user="u").status == 200
        time.sleep(RESTED)
        begun = time.monotonic()
        assert gateway.stop() == 0
        assert time.monotonic() - begun < 5
        assert client.is_closed_by_peer()


def test_resting_clients_count_against_the_limit_of_connections(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1, "limits": {"connections": 2}})
    with gateway.connect() as first, gateway.connect() as second:
        for client in (first, second):
            assert client.request("GET", "/", user="u").status == 200
        time.sleep(RESTED)
        with gateway.connect() as third:
            assert third.is_closed_by_peer()
        assert first.request("GET", "/", user="u").status == 200


def test_thousands_of_resting_clients_hold_little_memory(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1})
    legacy.answer = lambda request: reply(b"x" * 1024)
    with contextlib.ExitStack() as stack:
        assert gateway.get("/", user="u").status == 200
        before = gateway.resident_bytes()
        for _ in range(CLIENTS):
            client = stack.enter_context(gateway.connect())
            assert client.request("GET", "/", user="u").status == 200
        # A session, its task and its buffers are more than 12 KB.
        eventually(lambda: gateway.resident_bytes() - before < CLIENTS * 4096, "their memory is given back", 30)
        assert connections(gateway) == CLIENTS
        assert client.request("GET", "/", user="u").status == 200
