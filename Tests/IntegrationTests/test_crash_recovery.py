"""kill -9 between what a backend did and what the journal knows of it: the leg is sent again, and its answer is read as
that of a repeat (contract §6).

A write whose answer has reached the client and a write whose backend still holds the answer back look alike to a
gateway that starts again. The second can be made without a race, so most tests here use it.
"""

import pytest

from support.backend import HANG, reply
from support.store import CHANGE_ROUTES
from support.waiting import eventually, stays
from support.wire import request_bytes


def kill_while_legacy_holds_its_answer(gateway, legacy, request):
    """Legacy has received the write and done what it asks; the gateway is killed before it can know."""
    legacy.answer = lambda request: [HANG]
    with gateway.connect() as client:
        client.send(request)
        eventually(lambda: legacy.requests, "legacy has the write")
        gateway.kill()


def settled_legs(gateway):
    """The states of the newest write's legs, once none is pending."""

    def states():
        legs = gateway.read("journal")["items"][0]["legs"]
        found = {side: leg["state"] for side, leg in legs.items()}
        return found if "pending" not in found.values() else None

    return eventually(states, "no leg is pending", 5)


@pytest.mark.parametrize(("method", "status"), [("DELETE", 404), ("DELETE", 410), ("MKCOL", 405)])
def test_a_write_that_is_refused_because_it_was_done_before_still_reaches_the_other_backend(
        make_gateway, legacy, new, method, status):
    gateway = make_gateway(legacy, new)
    kill_while_legacy_holds_its_answer(gateway, legacy, request_bytes(method, "/dir/", user="u"))
    assert new.begun == []
    legacy.answer = lambda request: reply(b"{}", status)
    gateway.start()
    assert settled_legs(gateway) == {"legacy": "applied", "new": "applied"}
    assert [request.method for request in legacy.to("/dir/")] == [method, method]
    assert [request.method for request in new.to("/dir/")] == [method]


def test_deletes_that_were_acknowledged_reach_both_over_a_kill(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    for number in range(4):
        path = f"/notes/{number}"
        assert gateway.fetch("PUT", path, body=b"x", user="u").status == 200
        gateway.settle(5)
        with gateway.connect() as client:
            client.send(request_bytes("DELETE", path, user="u"))
            assert client.response("DELETE").status == 204
            gateway.kill()
        # Few backends know idempotency keys.
        legacy_store.answers.clear()
        gateway.start()
        assert settled_legs(gateway) == {"legacy": "applied", "new": "applied"}
    assert legacy_store.documents == {} and new_store.documents == {}


def test_a_conditional_write_that_is_refused_when_sent_again_is_parked_and_never_dropped(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    write = request_bytes("PUT", "/a", [("If-Match", '"1"')], b"text", user="u")
    kill_while_legacy_holds_its_answer(gateway, legacy, write)
    # It is at version 2 now: by this very write, or by another. Only an operator can tell.
    legacy.answer = lambda request: reply(b"{}", 412)
    gateway.start()
    assert settled_legs(gateway)["new"] == "parked"
    eventually(lambda: gateway.status()["journal"]["parked"] == 1, "it is counted", 5)
    stays(lambda: new.begun == [], "nothing is sent until an operator says so", 0.2)
    gateway.change("POST", "journal/replay", {"all_parked": True})
    eventually(lambda: new.to("/a"), "the replay arrives", 5)
    assert new.to("/a")[0].body == b"text"
