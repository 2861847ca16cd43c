"""What gates go by where new answers little or nobody."""

import random

import pytest

from support.backend import reply
from support.crowd import Crowd, users_by_stage
from support.store import CHANGE_ROUTES
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
