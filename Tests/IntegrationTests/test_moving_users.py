"""Users who move between the sides while legs are outstanding read their own writes (contract §5)."""

import pytest

from support.backend import reply
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually

CONFIG = {"routes": CHANGE_ROUTES, "fallback": {"breaker": {"min_requests": 1000}}}


@pytest.fixture
def writing(make_gateway, legacy_store, new_store):
    return make_gateway(legacy_store, new_store, config=CONFIG)


def post(gateway, revision, user="u", record="r"):
    return gateway.fetch("POST", "/changes", [("X-User-Id", user)], change(user, record, revision))


def no_writes(request):
    return reply(b"no writes now", 503) if request.method == "POST" else None


def test_a_user_with_outstanding_legs_to_new_reads_from_legacy(writing, new_store):
    new_store.refuse = no_writes
    assert post(writing, 1).status == 200
    writing.set_percent(100)
    answer = writing.get("/records/r", user="u")
    assert (answer.backend, answer.why, answer.json()["revision"]) == ("legacy", "behind", 1)
    assert writing.get("/records/r", user="somebody-else").why in ("in-percent", "fallback-404")
    assert writing.read("users/u")["reason"] == "behind"
    new_store.refuse = lambda request: None
    writing.settle()
    answer = writing.get("/records/r", user="u")
    assert (answer.backend, answer.why, answer.json()["revision"]) == ("new", "in-percent", 1)


def test_behind_is_known_after_a_restart(writing, new_store):
    new_store.refuse = no_writes
    assert post(writing, 1).status == 200
    writing.set_percent(100)
    writing.restart()
    assert writing.get("/records/r", user="u").why == "behind"


@pytest.mark.parametrize("failure", ["connect", "5xx"])
def test_legacy_takes_a_write_that_new_cannot_and_new_gets_it_later(writing, legacy_store, new_store, failure):
    writing.set_percent(100)
    if failure == "connect":
        new_store.stop()
    else:
        new_store.refuse = no_writes
    answer = post(writing, 1)
    assert (answer.status, answer.backend, answer.why) == (200, "legacy", f"fallback-{failure}")
    assert writing.metrics()("cutover_fallbacks_total", kind="write", reason=failure) == 1
    assert writing.get("/records/r", user="u").json()["revision"] == 1
    assert post(writing, 2).status == 200
    new_store.refuse = lambda request: None
    if failure == "connect":
        new_store.start()
    writing.settle()
    assert legacy_store.applied == new_store.applied == [("r", 1), ("r", 2)]
    assert writing.get("/records/r", user="u").backend == "new"


def test_a_write_that_new_refuses_does_not_fall_back(writing, legacy_store, new_store):
    writing.set_percent(100)
    new_store.refuse = lambda request: reply(b"no", 422)
    answer = post(writing, 1)
    assert (answer.status, answer.backend) == (422, "new")
    assert legacy_store.begun == []


def test_a_user_who_moves_back_reads_new_until_legacy_has_it_all(writing, legacy_store):
    writing.set_percent(100)
    legacy_store.refuse = no_writes
    assert post(writing, 1).status == 200
    writing.set_percent(0)
    answer = writing.get("/records/r", user="u")
    assert (answer.backend, answer.why, answer.json()["revision"]) == ("new", "draining", 1)
    legacy_store.refuse = lambda request: None
    writing.settle()
    answer = writing.get("/records/r", user="u")
    assert (answer.backend, answer.why, answer.json()["revision"]) == ("legacy", "outside-percent", 1)
    assert writing.metrics()("cutover_stale_reads_total") == 0


def test_draining_ends_after_5_seconds_and_is_counted(writing, legacy_store):
    writing.set_percent(100)
    legacy_store.refuse = no_writes
    assert post(writing, 1).status == 200
    writing.set_percent(0)
    answer = eventually(
        lambda: next((a for a in [writing.get("/records/r", user="u")] if a.why == "outside-percent"), None),
        "legacy serves again")
    assert answer.backend == "legacy"
    assert writing.metrics()("cutover_stale_reads_total") >= 1


def test_a_stage_without_dual_write_writes_one_side_only(make_gateway, legacy_store, new_store):
    plan = {"name": "p", "stages": [
        {"name": "single", "percent": 0, "shadow": "0%", "dual_write": False}, {"name": "both", "percent": 0}]}
    gateway = make_gateway(legacy_store, new_store, plan=plan, config={"routes": CHANGE_ROUTES})
    assert post(gateway, 1).status == 200
    gateway.settle()
    assert new_store.begun == []
    assert gateway.read("journal")["items"][0]["legs"]["new"]["state"] == "skipped"
