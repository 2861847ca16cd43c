"""A reload while requests are under way: they go on by the configuration that they began with (contract §3)."""

import json
import threading

import pytest

from support.backend import reply
from support.gateway import merged
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually
from support.wire import request_bytes

# Shows that the one worker has the new configuration: nothing else makes new answer at percent 0.
MARKER = {"match": "GET /reloaded", "kind": "new"}


def reload(gateway, extra):
    """Takes `extra` up and waits until the worker, too, has it."""
    gateway.config = merged(gateway.config, extra)
    gateway.config_file.write_text(json.dumps(gateway.config))
    gateway.change("POST", "reload", {})
    eventually(lambda: gateway.get("/reloaded").backend == "new", "the worker has the configuration", 5)


def start_upload(client, method, target, body):
    """Sends the head of a write; when this returns, the gateway has read it and waits for the body."""
    client.send(request_bytes(method, target, [
        ("X-User-Id", "head-user"), ("Expect", "100-continue"), ("Content-Length", str(len(body)))]))
    assert client.head().status == 100
    client.send(body[:2])


@pytest.mark.parametrize("routes", [[MARKER], [MARKER, *CHANGE_ROUTES]], ids=["fewer", "moved"])
def test_a_write_whose_body_still_arrives_survives_a_reload_of_the_routes(make_gateway, legacy, new, routes):
    gateway = make_gateway(legacy, new, config={"workers": 1, "routes": CHANGE_ROUTES})
    with gateway.connect() as client:
        start_upload(client, "PUT", "/notes/7", b"text")
        reload(gateway, {"routes": routes})
        client.send(b"xt")
        assert client.response("PUT").status == 200
    gateway.settle(5)
    assert legacy.to("/notes/7", "PUT")[0].body == new.to("/notes/7", "PUT")[0].body == b"text"[:2] + b"xt"
    row = gateway.read("journal")["items"][0]
    assert (row["method"], row["target"], row["user"]) == ("PUT", "/notes/7", "head-user")
    assert gateway.process.poll() is None


def test_a_write_whose_body_still_arrives_keeps_the_pointers_of_its_route(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1, "routes": CHANGE_ROUTES})
    body = change("ann", "r-1", 3, text="bob", key="key-1")
    with gateway.connect() as client:
        start_upload(client, "POST", "/changes", body)
        # In the place of the route that the write has come by now stands one that looks elsewhere.
        reload(gateway, {"routes": [
            {"match": "POST /other", "kind": "write", "user": "/payload/text", "record": "/type",
             "idempotency_key": "/userId"}, MARKER]})
        client.send(body[2:])
        assert client.response("POST").status == 200
    gateway.settle(5)
    row = gateway.read("journal")["items"][0]
    assert (row["user"], row["record"], row["revision"]) == ("ann", "r-1", 3)
    assert [request["Idempotency-Key"] for request in legacy.requests] == ["key-1"]


def test_another_backend_while_a_request_is_in_flight_leaves_nothing_behind_that_bites_later(
        make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1})
    release = threading.Event()
    legacy.answer = lambda request: [release, reply(b"whole")] if request.target == "/slow" else reply()
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/slow"))
        eventually(lambda: legacy.to("/slow"), "the request arrives")
        reload(gateway, {"backends": {"legacy": {"timeout": "4s"}}, "routes": [MARKER]})
        release.set()
        assert client.response().body == b"whole"
    # The connection of before the reload ends while nobody uses it.
    legacy.stop()
    for _ in range(20):
        assert gateway.get("/reloaded").status == 200
    assert gateway.process.poll() is None
    legacy.start()
    assert gateway.get("/").status == 200


def test_the_drain_time_of_the_last_reload_is_the_one_that_counts(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1, "timeouts": {"drain": "60s"}})
    legacy.answer = lambda request: [threading.Event()]
    reload(gateway, {"timeouts": {"drain": "200ms"}, "routes": [MARKER], "backends": {"legacy": {"timeout": "60s"}}})
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/"))
        eventually(lambda: legacy.requests, "the request arrives")
        assert gateway.stop(seconds=5) is not None
