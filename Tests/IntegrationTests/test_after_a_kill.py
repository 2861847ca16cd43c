"""What a hundred kills at random moments have found, each reduced to its own story."""

import threading

from support.backend import HANG, reply
from support.database import HeldLock
from support.store import CHANGE_ROUTES
from support.waiting import eventually
from support.wire import request_bytes


def holding(event, method, target):
    """For `refuse` of a store: keeps these requests waiting for the event, and refuses none."""

    def refuse(request):
        if (request.method, request.target) == (method, target):
            event.wait(20)

    return refuse


def test_a_refused_write_that_is_sent_again_after_a_kill_undoes_no_later_write(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    held = threading.Event()
    legacy_store.refuse = holding(held, "DELETE", "/notes/1")
    with gateway.connect() as first, gateway.connect() as second:
        first.send(request_bytes("DELETE", "/notes/1", user="u"))
        eventually(lambda: legacy_store.to("/notes/1"), "legacy has the delete")
        second.send(request_bytes("PUT", "/notes/1", body=b"later", user="u"))
        eventually(lambda: len(gateway.read("journal")["items"]) == 2, "the later write is accepted and waits")
        with HeldLock(gateway):
            # What becomes of both cannot be made durable, just as in the milliseconds before the next commit.
            held.set()
            assert first.response("DELETE").status == 404
            assert second.response("PUT").status == 200
            gateway.kill()
    gateway.start()
    gateway.settle(20)
    for store in (legacy_store, new_store):
        # The delete was answered with 404, the later write with 200.
        assert store.documents == {"/notes/1": b"later"}


def test_a_user_who_moves_back_goes_on_draining_after_a_kill(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, percent=100)
    legacy.answer = lambda request: [HANG] if request.method == "PUT" else reply(b"old")
    new.answer = lambda request: reply(b"mine")
    assert gateway.fetch("PUT", "/a", body=b"mine", user="u").status == 200
    gateway.set_percent(0)
    answer = gateway.get("/a", user="u")
    assert (answer.body, answer.why) == (b"mine", "draining")
    gateway.restart()
    answer = gateway.get("/a", user="u")
    assert (answer.body, answer.backend, answer.why) == (b"mine", "new", "draining")


def test_a_user_with_legs_outstanding_to_both_waits_for_legacy_to_catch_up(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, percent=100, config={"routes": CHANGE_ROUTES})
    held = threading.Event()
    legacy_store.refuse = holding(held, "PUT", "/notes/a")
    assert gateway.fetch("PUT", "/notes/a", body=b"mine", user="u").backend == "new"
    new_store.refuse = lambda request: reply(b"{}", 503) if request.target == "/notes/b" else None
    assert gateway.fetch("PUT", "/notes/b", body=b"other", user="u").backend == "legacy"
    # Now new lacks /notes/b, and legacy lacks /notes/a: only waiting lets the user read what it was told.
    assert gateway.status()["journal"]["pending"] == {"legacy": 1, "new": 1}
    release = threading.Timer(0.5, held.set)
    release.start()
    try:
        answer = gateway.get("/notes/a", user="u")
        assert (answer.status, answer.body) == (200, b"mine"), answer
        assert gateway.metrics()("cutover_stale_reads_total") == 0
    finally:
        held.set()
        release.join()
        new_store.refuse = lambda request: None
    gateway.settle()


def test_a_write_that_was_with_new_when_the_gateway_died_is_taken_over_by_legacy_while_new_is_down(
        make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, percent=100, config={"routes": CHANGE_ROUTES})
    held = threading.Event()
    new_store.refuse = holding(held, "PUT", "/notes/1")
    key = [("Idempotency-Key", '"k1"')]
    with gateway.connect() as client:
        client.send(request_bytes("PUT", "/notes/1", key, b"first", user="u"))
        eventually(lambda: new_store.to("/notes/1"), "new has the write")
        gateway.kill()
    held.set()
    new_store.stop()
    gateway.start()
    # As it would be, had the gateway lived (contract §5): new fails, legacy answers, and the leg to new is retried.
    eventually(
        lambda: gateway.fetch("PUT", "/notes/1", key, b"first", user="u").status == 200, "a repeat is answered", 10)
    assert gateway.fetch("PUT", "/notes/1", body=b"second", user="u").status == 200
    assert legacy_store.documents == {"/notes/1": b"second"}
    new_store.start()
    gateway.settle(20)
    assert new_store.documents == {"/notes/1": b"second"}
