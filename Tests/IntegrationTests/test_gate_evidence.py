"""What gates go by where new answers little or nobody, and where several gateways judge the same rollout."""

import random
import time

import pytest

from support.backend import reply
from support.crowd import Crowd, users_by_stage
from support.store import CHANGE_ROUTES, RecordingStore
from support.waiting import eventually, stays

SALT = "test"
STAGES = [
    {"name": "dual-write", "percent": 0, "shadow": "0%"},
    {"name": "shadow", "percent": 0, "hold": "1s"},
    {"name": "half", "percent": 50, "hold": "2s"},
    {"name": "more", "percent": 60, "hold": "2s"},
    {"name": "full", "percent": 100, "hold": "300s"},
]


def plan(gates=None, **changes):
    base = {
        "name": "quick", "stages": STAGES, "gates": gates or {"read_error_rate": "2%"}, "window": "2s",
        "min_samples": 20, "on_breach": "rollback", "promote": "automatic",
    }
    return {**base, **changes}


def config(**changes):
    return {"routes": CHANGE_ROUTES, "shadow": {"percent": 100, "recheck_after": "50ms"}, **changes}


@pytest.fixture(scope="module")
def users():
    return [user for group in users_by_stage(SALT, each=12).values() for user in group]


def stage(gateway):
    return gateway.read("rollout")["stage"]


def gate(gateway, name="read_error_rate"):
    return next(gate for gate in gateway.read("rollout")["gates"] if gate["name"] == name)


def reads_fail(share):
    """A refusal of this share of the reads."""
    dice = random.Random(4)
    return lambda request: reply(b"{}", 500) if request.method == "GET" and dice.random() < share else None


def test_a_new_that_is_dead_is_judged_by_the_one_gate_there_is_although_its_breaker_spares_it(
        make_gateway, legacy_store, new_store, users):
    """The breaker keeps new far below `min_samples`, and every user who writes is behind within moments."""
    gateway = make_gateway(
        legacy_store, new_store, plan=plan(promote="manual", window="60s", min_samples=200),
        config=config(fallback={"breaker": {"min_requests": 10, "window": "1s", "open_for": "60s"}}))
    crowd = Crowd(gateway, users)
    gateway.change("POST", "rollout/promote", {"to": "half", "force": True})
    new_store.stop()
    eventually(lambda: gateway.read("rollout")["state"] == "rolled_back", "it rolls back by itself", 45)
    crowd.finish()
    # It is in force a moment before it is durable.
    event = eventually(
        lambda: next((item for item in gateway.read("events?limit=9")["items"] if item["action"] == "rollback"), None),
        "it is an event")
    assert event["actor"] == "gate" and "kept away by its open breaker" in event["reason"], event
    # The metric is the contract's: what was not sent there is no read of new.
    metrics = gateway.metrics()
    sent = sum(metrics("cutover_reads_total", backend="new", result=result) for result in ("ok", "error"))
    assert sent < 200
    assert crowd.errors == []


@pytest.mark.parametrize("share", [0.3, 1])
def test_a_shadow_stage_in_which_new_fails_shadow_reads_is_not_left_by_itself(
        make_gateway, legacy_store, new_store, users, share):
    gates = {"read_error_rate": "2%", "mismatch_rate": "5%"}
    gateway = make_gateway(legacy_store, new_store, plan=plan(gates), config=config())
    new_store.refuse = reads_fail(share)
    crowd = Crowd(gateway, users)
    eventually(lambda: stage(gateway) == "shadow", "the shadow stage is reached", 30)
    eventually(lambda: gate(gateway)["verdict"] == "fail", "the gate fails", 30)
    assert "shadow reads of new" in gate(gateway)["reason"]
    stays(lambda: stage(gateway) == "shadow", "nobody is sent to new", 4)
    status, answer, _ = gateway.admin("POST", "/api/v1/rollout/promote", {}, token=gateway.token())
    assert status == 409 and any("read_error_rate" in reason for reason in answer["reasons"])
    assert gate(gateway, "mismatch_rate")["verdict"] != "pass", "what is left to compare is a selection"
    shadow = gateway.status()["shadow"]
    assert shadow["errors"] > 0
    # Mended, it goes on by itself.
    new_store.refuse = lambda request: None
    eventually(lambda: stage(gateway) != "shadow", "it goes on once new is well", 45)
    crowd.finish()
    assert crowd.errors == []


def test_what_fails_at_one_gateway_holds_a_promotion_at_the_other(make_cluster, legacy_store, new_store, users):
    """The way to new is broken at one of two gateways: the rollout is the same for both."""
    broken = RecordingStore()
    broken.refuse = reads_fail(1)
    cluster = make_cluster(
        legacy_store, new_store, plan=plan(on_breach="alert"), start=False,
        config=config(
            shadow={"percent": 0}, fallback={"breaker": {"min_requests": 1_000_000}}))
    one, other = cluster
    one.config["backends"]["new"]["url"] = broken.url
    cluster.start()
    crowds = [Crowd(one, users[::2]), Crowd(other, users[1::2])]
    try:
        eventually(lambda: stage(other) == "shadow", "the first stage is left", 60)
        one.change("POST", "rollout/promote", {"to": "half", "force": True})
        eventually(lambda: gate(one)["verdict"] == "fail", "it fails at one", 45)
        eventually(lambda: gate(other)["verdict"] == "pass", "it passes at the other", 45)
        held = stage(other)
        blocked = eventually(
            lambda: [words for words in other.read("rollout")["next"]["blocked_by"] if "says: gate" in words],
            "the other waits")
        assert len(blocked) == 1 and blocked[0].startswith("gateway "), blocked
        assert blocked[0].endswith("says: gate read_error_rate fails")
        stays(lambda: stage(other) == held, "the other does not promote what fails at one", 5)
        status, answer, _ = other.admin("POST", "/api/v1/rollout/promote", {}, token=other.token())
        assert status == 409 and blocked[0] in answer["reasons"], answer
        # A gateway that is gone says nothing any more.
        crowds[0].finish()
        one.kill()
        eventually(lambda: stage(other) != held, "the other goes on without it", 60)
    finally:
        for crowd in crowds:
            crowd.finish()
        broken.stop()


def test_a_gateway_that_recovers_lets_the_others_go_on(make_cluster, legacy_store, new_store, users):
    faulty = RecordingStore()
    cluster = make_cluster(
        legacy_store, new_store, plan=plan(on_breach="alert"), start=False,
        config=config(shadow={"percent": 0}, fallback={"breaker": {"min_requests": 1_000_000}}))
    one, other = cluster
    one.config["backends"]["new"]["url"] = faulty.url
    cluster.start()
    faulty.refuse = reads_fail(1)
    crowds = [Crowd(one, users[::2]), Crowd(other, users[1::2])]
    try:
        other.change("POST", "rollout/promote", {"to": "half", "force": True})
        eventually(
            lambda: any("says: gate" in words for words in other.read("rollout")["next"]["blocked_by"]),
            "the other waits", 45)
        began = time.monotonic()
        faulty.refuse = lambda request: None
        eventually(lambda: stage(other) == "full", "both go on", 60)
        print(f"went on {time.monotonic() - began:.1f} s after the recovery")
    finally:
        for crowd in crowds:
            crowd.finish()
        faulty.stop()
