"""What kills and stops at random moments have found, each reduced to its own story."""

import threading

from support.backend import HANG, reply
from support.database import HeldLock
from support.store import CHANGE_ROUTES
from support.waiting import eventually
from support.wire import WireError, request_bytes


def holding(event, method, target):
    """For `refuse` of a store: keeps these requests waiting for the event, and refuses none."""

    def refuse(request):
        if (request.method, request.target) == (method, target):
            event.wait(20)

    return refuse


LATER = [("Idempotency-Key", '"later"')]


def kill_between_an_answer_and_its_fact(gateway, held):
    """Somebody's DELETE of /notes/1 is at legacy, which finds nothing to delete once `held` is set. A later PUT waits
    behind it and goes when it may; nothing of both becomes durable, as in the milliseconds before the next commit."""
    before = len(gateway.read("journal")["items"])
    with gateway.connect(timeout=1) as client:
        client.send(request_bytes("PUT", "/notes/1", LATER, b"later", user="u"))
        eventually(lambda: len(gateway.read("journal")["items"]) > before, "the later write is accepted and waits")
        with HeldLock(gateway):
            held.set()
            try:
                client.response("PUT")
            except (OSError, WireError):
                pass  # it may as well wait until what became of the DELETE is durable
            gateway.kill()


def the_later_write_holds(gateway, *stores):
    gateway.start()
    eventually(
        lambda: gateway.fetch("PUT", "/notes/1", LATER, b"later", user="u").status == 200, "a repeat is answered", 10)
    gateway.settle(20)
    for store in stores:
        assert store.documents == {"/notes/1": b"later"}


def test_a_refused_write_that_is_sent_again_after_a_kill_undoes_no_later_write(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    held = threading.Event()
    legacy_store.refuse = holding(held, "DELETE", "/notes/1")
    with gateway.connect() as first:
        first.send(request_bytes("DELETE", "/notes/1", user="u"))
        eventually(lambda: legacy_store.to("/notes/1"), "legacy has the DELETE")
        kill_between_an_answer_and_its_fact(gateway, held)
    the_later_write_holds(gateway, legacy_store, new_store)


def test_a_delete_that_two_kills_send_again_undoes_no_later_write(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    held = threading.Event()
    legacy_store.refuse = holding(held, "DELETE", "/notes/1")
    with gateway.connect() as first:
        first.send(request_bytes("DELETE", "/notes/1", user="u"))
        eventually(lambda: legacy_store.to("/notes/1"), "legacy has the DELETE")
        gateway.kill()
    held.set()
    eventually(lambda: legacy_store.applied, "the first try is over")
    held.clear()
    gateway.start()
    eventually(lambda: len(legacy_store.to("/notes/1")) == 2, "legacy has the DELETE again")
    # Absent is what a repeat of a DELETE may find: it holds, its lane goes on, and that is not durable either.
    kill_between_an_answer_and_its_fact(gateway, held)
    the_later_write_holds(gateway, legacy_store, new_store)


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


def test_a_repeat_that_comes_while_a_refusal_is_passed_on_is_told_to_wait_and_then_gets_it(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    held = threading.Event()
    head = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    legacy.answer = lambda request: [head + b"{", held, b"}"]
    key = [("Idempotency-Key", '"k1"')]
    with gateway.connect() as client:
        client.send(request_bytes("DELETE", "/a", key, user="u"))
        eventually(lambda: legacy.to("/a"), "legacy has begun to refuse it")
        early = gateway.fetch("DELETE", "/a", key, user="u")
        # Not `answer-not-kept`: nobody knows yet how long it is.
        assert early.status == 409 and early["Retry-After"] and b"first_status" not in early.body, early
        held.set()
        first = client.response("DELETE")
        assert (first.status, first.body) == (404, b"{}")
    again = eventually(
        lambda: next((a for a in [gateway.fetch("DELETE", "/a", key, user="u")] if a.status != 409), None),
        "a repeat gets the answer", 5)
    assert (again.status, again.body, again["Idempotent-Replayed"]) == (404, b"{}", "true")
    assert len(legacy.to("/a")) == 1
