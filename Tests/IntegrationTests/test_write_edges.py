"""Writes at their edges: slow answers, clients that leave, repeats of answers without a body, a rollback half-way."""

import socket
import struct
import threading

import pytest

from support.backend import reply
from support.waiting import eventually, stays
from support.wire import request_bytes

KEY = ("Idempotency-Key", "k")


def legs(gateway):
    return {side: leg["state"] for side, leg in gateway.read("journal")["items"][0]["legs"].items()}


def second_leg_is_done(gateway):
    return gateway.metrics()("cutover_writes_total", backend="new", leg="secondary", result="ok") == 1


def repeated(gateway, headers=(KEY,)):
    """The answer to a repeat, once the first attempt is over."""

    def answer():
        found = gateway.fetch("POST", "/a", headers, b"x", user="u")
        return found if found.status != 409 else None

    return eventually(answer, "an answer to the repeat", 5)


def test_a_second_leg_that_the_answer_waited_for_is_done_for_good(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"writes": {"answer": "both"}})
    assert gateway.fetch("PUT", "/a", body=b"x", user="u").status == 200
    eventually(lambda: legs(gateway) == {"legacy": "applied", "new": "applied"}, "both legs are applied", 3)
    gateway.restart()
    gateway.settle(5)
    assert len(legacy.requests) == len(new.requests) == 1


def test_a_second_leg_that_overtakes_a_slow_answer_is_done_for_good(make_gateway, legacy, new):
    release = threading.Event()
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", release, b"cd"]
    gateway = make_gateway(legacy, new)
    with gateway.connect() as client:
        client.send(request_bytes("PUT", "/a", body=b"x", user="u"))
        assert client.head().status == 200
        eventually(lambda: second_leg_is_done(gateway), "the second leg is done", 5)
        release.set()
        assert client.reader.exactly(4) == b"abcd"
    eventually(lambda: legs(gateway) == {"legacy": "applied", "new": "applied"}, "both legs are applied", 3)
    gateway.restart()
    gateway.settle(5)
    assert len(legacy.requests) == len(new.requests) == 1


SLOW = b'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"i'


@pytest.mark.parametrize("answer", [[reply(b'{"id":7}', 201)], [SLOW, 0.2, b'd":7}']], ids=["at once", "slowly"])
@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
def test_a_repeat_gets_the_answer_that_its_first_client_did_not_wait_for(make_gateway, legacy, new, answer, is_reset):
    release = threading.Event()
    legacy.answer = lambda request: [release, *answer]
    gateway = make_gateway(legacy, new)
    client = gateway.connect()
    client.send(request_bytes("POST", "/a", [KEY], b"x", user="u"))
    eventually(lambda: legacy.requests, "legacy has the write")
    if is_reset:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    release.set()
    second = repeated(gateway)
    assert (second.status, second.body, second["Content-Type"]) == (201, b'{"id":7}', "application/json")
    assert second["Idempotent-Replayed"] == "true" and len(legacy.requests) == 1


def test_a_204_is_replayed_without_a_length(make_gateway, legacy, new):
    legacy.answer = lambda request: reply(b"", 204, kind=None)
    gateway = make_gateway(legacy, new)
    with gateway.connect() as client:
        assert client.request("POST", "/a", [KEY], b"x", user="u").status == 204

        def again():
            client.send(request_bytes("POST", "/a", [KEY], b"x", user="u"))
            head = client.head()
            if head.status == 204:
                return head
            client.reader.exactly(int(head["Content-Length"]))
            return None

        second = eventually(again, "an answer to the repeat", 5)
        assert second["Idempotent-Replayed"] == "true"
        assert "Content-Length" not in second.headers and "Transfer-Encoding" not in second.headers
        assert client.request("GET", "/", user="u").status == 204


@pytest.mark.parametrize("status", [401, 403])
def test_an_answer_about_credentials_is_not_kept_for_the_repeat(make_gateway, legacy, new, status):
    legacy.answer = lambda request: reply() if request["Authorization"] == "Bearer fresh" else reply(b"", status)
    gateway = make_gateway(legacy, new)
    first = gateway.fetch("POST", "/a", [KEY, ("Authorization", "Bearer stale")], b"x", user="u")
    assert first.status == status
    second = repeated(gateway, [KEY, ("Authorization", "Bearer fresh")])
    assert second.status == 200 and "Idempotent-Replayed" not in second.headers
    gateway.settle(5)
    assert len(legacy.requests) == 2 and len(new.requests) == 1


def test_a_rollback_during_an_upload_sends_the_write_to_legacy_first(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, percent=100, config={"workers": 1})
    with gateway.connect() as client:
        client.send(request_bytes("PUT", "/n", [("Expect", "100-continue"), ("Content-Length", "4")], user="u"))
        assert client.head().status == 100
        client.send(b"ab")
        gateway.change("POST", "rollout/rollback", {})
        eventually(lambda: gateway.get("/", user="u").backend == "legacy", "the worker has the rollback", 5)
        client.send(b"cd")
        answer = client.response("PUT")
    assert (answer.status, answer.backend) == (200, "legacy")
    gateway.settle(5)
    ours, theirs = legacy.to("/n", "PUT"), new.to("/n", "PUT")
    assert len(ours) == len(theirs) == 1 and ours[0].at < theirs[0].at


def test_a_parked_leg_that_is_named_twice_is_sent_once(make_gateway, legacy, new):
    new.answer = lambda request: reply(b"", 422)
    gateway = make_gateway(legacy, new)
    assert gateway.fetch("PUT", "/a", body=b"x", user="u").status == 200
    eventually(lambda: gateway.status()["journal"]["parked"] == 1, "the leg is parked", 5)
    new.forget()
    new.answer = lambda request: reply()
    sequence = gateway.read("journal")["items"][0]["seq"]
    gateway.change("POST", "journal/replay", {"seqs": [sequence, sequence]})
    eventually(lambda: new.requests, "the replay arrives", 5)
    gateway.settle(5)
    stays(lambda: len(new.requests) == 1, "the leg is sent once")
    assert legs(gateway) == {"legacy": "applied", "new": "applied"}
    assert gateway.status()["journal"]["parked"] == 0
