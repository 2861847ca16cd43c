"""A rollout that goes by itself: promotion when every gate passes, the way back when one fails (contract §4, §9)."""

import json
import threading
import time

import pytest

from support.backend import reply
from support.crowd import Crowd, users_by_stage
from support.store import CHANGE_ROUTES
from support.waiting import eventually, stays

GATES = {
    "read_error_rate": "2%", "write_p95": "400ms", "conflict_rate": "5%", "fallback_rate": "2%", "mismatch_rate": "5%",
    "journal_lag": "20s",
}
STAGES = [
    {"name": "dual-write", "percent": 0, "shadow": "0%"},
    {"name": "shadow", "percent": 0, "hold": "1s"},
    {"name": "canary", "percent": 1, "hold": "2s"},
    {"name": "early", "percent": 10, "hold": "2s"},
    {"name": "half", "percent": 50, "hold": "2s"},
    {"name": "full", "percent": 100, "hold": "2s"},
]
SALT = "test"


def plan(**changes):
    base = {
        "name": "quick", "stages": STAGES, "gates": GATES, "window": "2s", "min_samples": 20, "on_breach": "rollback",
        "promote": "automatic",
    }
    return {**base, **changes}


def config(**changes):
    return {"routes": CHANGE_ROUTES, "shadow": {"percent": 100, "recheck_after": "50ms"}, **changes}


@pytest.fixture(scope="module")
def users():
    return users_by_stage(SALT)


def everybody(users):
    return [user for group in users.values() for user in group]


def events(gateway, action=None):
    """Oldest first."""
    items = list(reversed(gateway.read("events?limit=1000")["items"]))
    return [item for item in items if action in (None, item["action"])]


def stage(gateway):
    return gateway.status()["rollout"]["stage"]


def at_early(gateway):
    """At 10 percent, by hand, with everything that stands in the way overruled."""
    gateway.change("POST", "rollout/promote", {"to": "early", "force": True})


def test_a_rollout_that_is_well_walks_through_1_10_50_and_100_percent(make_gateway, legacy_store, new_store, users):
    gateway = make_gateway(legacy_store, new_store, plan=plan(), config=config())
    crowd = Crowd(gateway, everybody(users))
    eventually(lambda: gateway.status()["rollout"]["state"] == "complete", "the last stage is reached", 120)
    crowd.finish()
    steps = events(gateway, "promote")
    assert [event["after"]["percent"] for event in steps] == [0, 1, 10, 50, 100]
    assert {event["actor"] for event in steps} == {"gate"}
    assert all("every gate passes" in event["reason"] for event in steps)
    assert crowd.errors == []
    gateway.settle()
    assert legacy_store.documents == new_store.documents
    assert gateway.status()["next"] is None


REGRESSIONS = {
    "errors": ("read_error_rate", "fallback_rate"),
    "latency": ("write_p95",),
    "conflicts": ("conflict_rate",),
}


@pytest.mark.parametrize("regression", REGRESSIONS)
def test_a_regression_at_10_percent_rolls_back_by_itself(make_gateway, legacy_store, new_store, users, regression):
    # Slow writes are few: each client waits for its own.
    window = "6s" if regression == "latency" else "2s"
    gateway = make_gateway(legacy_store, new_store, plan=plan(window=window), config=config())
    is_bad = threading.Event()

    def misbehave(request):
        if not is_bad.is_set():
            return None
        if regression == "errors" and request.method == "GET":
            return reply(b"{}", 500)
        if regression == "latency" and request.method != "GET":
            time.sleep(0.6)
        if regression == "conflicts" and request.method == "POST":
            return reply(b'{"current_revision": 99999}', 409)
        return None

    new_store.refuse = misbehave
    crowd = Crowd(gateway, everybody(users), revisions=regression == "conflicts", threads=12)
    try:
        eventually(lambda: stage(gateway) == "early", "10 percent are reached", 90)
        is_bad.set()
        began = time.monotonic()
        eventually(lambda: gateway.status()["rollout"]["state"] == "rolled_back", "it rolls back by itself", 30)
        print(f"rolled back after {time.monotonic() - began:.1f} s")
        # What came after it stays where it is.
        stays(lambda: gateway.status()["rollout"]["percent"] == 0, "nothing advances after a rollback", 4)
    finally:
        is_bad.clear()
        crowd.finish()
    rollback = events(gateway, "rollback")
    assert len(rollback) == 1 and rollback[0]["actor"] == "gate"
    assert rollback[0]["before"]["percent"] == 10 and rollback[0]["after"]["percent"] == 0
    assert any(f"gate {gate} fails: " in rollback[0]["reason"] for gate in REGRESSIONS[regression]), rollback[0]
    assert gateway.status()["rollout"]["state_reason"] == rollback[0]["reason"]
    metrics = gateway.metrics()
    assert metrics("cutover_rollbacks_total", trigger="gate") == 1
    assert metrics("cutover_rollbacks_total", trigger="operator") == 0
    # A fallback hides what new does wrong; nothing that it could hide reaches a client.
    assert crowd.errors == []


def test_another_attempt_is_judged_anew_and_not_by_what_was_seen_before(make_gateway, legacy_store, new_store, users):
    # A breaker that is still open from the first attempt would make the second one fall back.
    gateway = make_gateway(
        legacy_store, new_store, plan=plan(promote="manual"),
        config=config(fallback={"breaker": {"min_requests": 1_000_000}}))
    is_bad = threading.Event()
    new_store.refuse = lambda request: reply(b"{}", 500) if is_bad.is_set() and request.method == "GET" else None
    crowd = Crowd(gateway, everybody(users))
    at_early(gateway)
    is_bad.set()
    eventually(lambda: gateway.status()["rollout"]["state"] == "rolled_back", "it rolls back", 30)
    is_bad.clear()
    at_early(gateway)
    gates = {gate["name"]: gate for gate in gateway.status()["gates"]}
    assert gates["read_error_rate"]["verdict"] in ("warming_up", "insufficient")
    stays(lambda: gateway.status()["rollout"]["percent"] == 10, "old errors are not held against it", 4)
    eventually(lambda: gateway.status()["next"]["ready"], "the gates pass", 20)
    # And a second regression is seen as the first one was.
    is_bad.set()
    eventually(lambda: gateway.status()["rollout"]["state"] == "rolled_back", "it rolls back again", 30)
    crowd.finish()
    assert [event["actor"] for event in events(gateway, "rollback")] == ["gate", "gate"]


def test_after_a_rollback_a_percent_that_is_set_starts_nothing_by_itself(make_gateway, legacy_store, new_store, users):
    gateway = make_gateway(
        legacy_store, new_store, plan=plan(stages=[{**one, "hold": "0s"} for one in STAGES], window="1s"),
        config=config())
    crowd = Crowd(gateway, everybody(users))
    eventually(lambda: stage(gateway) == "canary", "it goes on by itself", 60)
    gateway.change("POST", "rollout/rollback")
    began = gateway.status()["rollout"]["state_since"]
    answer = gateway.set_percent(0)
    assert answer["after"]["state"] == "rolled_back" and answer["after"]["state_since"] == began
    assert answer["warnings"] == ["the rollout stays rolled back: promote it to start again"]
    assert events(gateway)[-1]["action"] == "set-percent"
    stays(lambda: gateway.status()["rollout"]["percent"] == 0, "nobody promoted", 4)
    following = gateway.status()["next"]
    assert following["mode"] == "manual" and not following["ready"]
    # The number of a stage is a number like any other.
    gateway.set_percent(1)
    stays(lambda: gateway.status()["rollout"]["percent"] == 1, "it was set by hand", 4)
    gateway.change("POST", "rollout/promote", {"to": "canary", "force": True})
    eventually(lambda: stage(gateway) == "early", "somebody has promoted", 60)
    crowd.finish()


def test_a_reload_that_takes_the_gates_from_an_automatic_plan_is_refused(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, plan=plan(), config=config())
    gateway.plan_file.write_text(json.dumps({**plan(), "gates": {}}))
    status, problem, _ = gateway.admin("POST", "/api/v1/reload", {}, token=gateway.token())
    assert status == 422 and "needs at least one gate" in problem["reasons"][0], problem
    gateway.plan_file.write_text(json.dumps({**plan(), "gates": {}, "promote": "manual"}))
    answer = gateway.change("POST", "reload", {})
    assert "nothing judges whether new is well" in answer["warnings"][0]
    assert gateway.status()["next"]["blocked_by"][0] == "the plan has no gate: nothing judges whether new is well"
    event = events(gateway, "reload")[0]
    assert (event["before"]["promote"], event["after"]["promote"]) == ("automatic", "manual")
    assert event["after"]["gates.read_error_rate"] is None


def test_a_breach_after_the_last_stage_and_under_a_pause_still_acts(make_gateway, legacy_store, new_store, users):
    gateway = make_gateway(legacy_store, new_store, plan=plan(promote="manual"), config=config())
    crowd = Crowd(gateway, everybody(users))
    gateway.change("POST", "rollout/promote", {"to": "full", "force": True})
    gateway.change("POST", "rollout/pause", {"reason": "a quiet night"})
    assert gateway.status()["rollout"]["state"] == "paused"
    assert "a quiet night" in gateway.status()["rollout"]["state_reason"]
    new_store.refuse = lambda request: reply(b"{}", 500) if request.method == "GET" else None
    eventually(lambda: gateway.status()["rollout"]["state"] == "rolled_back", "it rolls back", 30)
    new_store.refuse = lambda request: None
    crowd.finish()
    assert crowd.errors == []


@pytest.mark.parametrize("on_breach, state", [("pause", "paused"), ("alert", "running")])
def test_a_plan_may_ask_for_less_than_a_rollback(make_gateway, legacy_store, new_store, users, on_breach, state):
    gateway = make_gateway(
        legacy_store, new_store, plan=plan(promote="automatic", on_breach=on_breach), config=config())
    new_store.refuse = lambda request: reply(b"{}", 500) if request.method == "GET" else None
    crowd = Crowd(gateway, everybody(users))
    at_early(gateway)
    verdict = {gate["name"]: gate["verdict"] for gate in gateway.status()["gates"]}["read_error_rate"]
    assert verdict != "pass"
    eventually(lambda: "fail" in {gate["verdict"] for gate in gateway.status()["gates"]}, "the gate fails", 30)
    eventually(lambda: gateway.status()["rollout"]["state"] == state, f"the rollout is {state}")
    stays(lambda: gateway.status()["rollout"]["percent"] == 10, "nobody is moved", 3)
    eventually(
        lambda: any("fails" in reason for reason in gateway.status()["next"]["blocked_by"]),
        "a breach holds the next step")
    assert not gateway.status()["next"]["ready"]
    crowd.finish()


def test_an_outage_of_new_is_not_taken_for_quiet_because_new_is_not_asked_any_more(
        make_gateway, legacy_store, new_store, users):
    """The breaker opens after fewer requests than a gate takes to judge."""
    gateway = make_gateway(
        legacy_store, new_store, plan=plan(promote="manual", min_samples=200),
        config=config(
            fallback={"breaker": {"errors": "1%", "min_requests": 5, "window": "1s", "open_for": "60s"}}))
    crowd = Crowd(gateway, everybody(users), threads=6)
    gateway.change("POST", "rollout/promote", {"to": "half", "force": True})
    eventually(lambda: gateway.status()["metrics"]["fallback_rate"]["samples"] > 20, "users of new ask")
    new_store.stop()
    eventually(lambda: gateway.status()["rollout"]["state"] == "rolled_back", "it rolls back by itself", 30)
    crowd.finish()
    reason = events(gateway, "rollback")[0]["reason"]
    assert "gate fallback_rate fails" in reason or "kept away by its open breaker" in reason
    said = "new does not answer; its breaker is open"
    assert gateway.status()["next"]["blocked_by"][0] == said
    dry = gateway.change("POST", "rollout/promote", {"dry_run": True, "force": True})
    assert said in dry["warnings"] and said in gateway.change(
        "POST", "rollout/percent", {"percent": 5, "dry_run": True})["warnings"]
    assert gateway.metrics()("cutover_fallbacks_total", kind="read", reason="breaker-open") > 0
    assert crowd.errors == []


def test_without_traffic_nothing_is_promoted_and_nothing_fails(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, plan=plan(window="1s"), config=config())
    at_early(gateway)
    stays(lambda: stage(gateway) == "early", "no traffic is no health", 5)
    status = gateway.status()
    assert status["rollout"]["state"] == "running" and not status["next"]["ready"]
    assert status["next"]["held_seconds"] == 0 and status["next"]["idle_seconds"] >= 3
    for name in ("read_error_rate", "write_p95_seconds", "conflict_rate", "fallback_rate"):
        assert status["metrics"][name]["value"] is None and status["metrics"][name]["samples"] == 0
        assert status["metrics"][name]["verdict"] in ("insufficient", "warming_up")
    text = gateway.admin("GET", "/metrics")[1]
    assert 'cutover_read_error_ratio{backend="new"} NaN' in text and "cutover_conflict_ratio NaN" in text


def test_after_a_restart_figures_are_unknown_and_not_zero_and_the_hold_goes_on(
        make_gateway, legacy_store, new_store, users):
    gateway = make_gateway(legacy_store, new_store, plan=plan(promote="manual", window="30s"), config=config())
    crowd = Crowd(gateway, everybody(users))
    at_early(gateway)
    eventually(lambda: gateway.status()["metrics"]["read_error_rate"]["samples"] >= 50, "there are samples")
    crowd.finish()
    gateway.restart()
    status = gateway.status()
    for figure in status["metrics"].values():
        assert figure["value"] is None and figure["samples"] == 0 and figure["verdict"] == "warming_up"
    assert {gate["verdict"] for gate in status["gates"]} <= {"warming_up", "insufficient"}
    assert 'cutover_read_error_ratio{backend="new"} NaN' in gateway.admin("GET", "/metrics")[1]
    answer = gateway.change("POST", "rollout/promote", {"dry_run": True})
    assert any("warming up" in warning for warning in answer["warnings"])


def test_a_rollback_is_accepted_while_a_promotion_is_under_way_and_wins(make_cluster, legacy_store, new_store):
    """In a shared store a promotion waits for the other gateways: here for one that does not answer."""
    cluster = make_cluster(legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    one, other = cluster
    other.process.send_signal(19)  # SIGSTOP
    try:
        answers = []
        promotion = threading.Thread(target=lambda: answers.append(one.admin(
            "POST", "/api/v1/rollout/percent", {"percent": 100}, token=one.token())))
        promotion.start()
        eventually(
            lambda: one.read("events?limit=1")["items"][0]["action"] == "set-percent", "the promotion is decided")
        assert not answers, "the promotion still waits"
        began = time.monotonic()
        status, answer, _ = one.admin("POST", "/api/v1/rollout/rollback", {}, token=one.token())
        assert status == 200 and answer["after"]["percent"] == 0, answer
        print(f"rolled back within {time.monotonic() - began:.1f} s")
        assert one.status()["rollout"]["percent"] == 0
        promotion.join(30)
        stays(lambda: one.status()["rollout"]["percent"] == 0, "the last command wins", 2)
    finally:
        other.process.send_signal(18)  # SIGCONT


def test_kill_9_amid_promotions_and_rollbacks_leaves_exactly_one_consistent_state(
        make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, plan=plan(promote="manual"), config=config())
    commands = [
        ("promote", {"to": "early", "force": True}), ("rollback", {}), ("promote", {"to": "half", "force": True}),
        ("rollback", {"to": "canary"}), ("pause", {}), ("promote", {"to": "half", "force": True}), ("rollback", {}),
    ]
    acknowledged, killed = [], 0
    for kill in range(100):
        turn = [0]

        def operate(turn=turn, kill=kill):
            for number in range(kill % 7, kill % 7 + 60):
                action, body = commands[number % len(commands)]
                try:
                    status, answer, _ = gateway.admin("POST", f"/api/v1/rollout/{action}", body, token=gateway.token())
                except (OSError, ValueError):
                    return
                if status == 200:
                    acknowledged.append(answer["generation"])
                turn[0] += 1

        operator = threading.Thread(target=operate)
        operator.start()
        time.sleep((kill * 37 % 100) / 2500)
        gateway.kill()
        operator.join(30)
        killed += turn[0] < 60
        gateway.start()
        rollout = gateway.status()["rollout"]
        newest = next(item for item in gateway.read("events?limit=9")["items"] if "generation" in item["after"])
        # The state is that of the newest event, whole; and nothing that was acknowledged is older than it.
        assert newest["after"] == {key: rollout[key] for key in newest["after"]}, (kill, newest, rollout)
        assert not acknowledged or rollout["generation"] >= acknowledged[-1], kill
    print(f"{killed} of 100 kills came amid commands, {len(acknowledged)} commands were acknowledged")
    assert killed >= 50
    history = events(gateway)
    generations = [event["after"]["generation"] for event in history if "generation" in event["after"]]
    assert generations == sorted(set(generations)), "every generation was given once"
    assert set(acknowledged) <= set(generations)


def test_the_gates_of_the_contract_are_in_metrics_and_status(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, plan=plan(), config=config())
    status = gateway.status()
    assert [gate["name"] for gate in status["gates"]] == [
        "read_error_rate", "write_p95", "conflict_rate", "fallback_rate", "mismatch_rate", "journal_lag"]
    assert status["next"]["stage"] == "shadow" and status["next"]["mode"] == "automatic"
    assert gateway.read("rollout")["next"] == status["next"]
    metrics = gateway.metrics()
    for gate in status["gates"]:
        said = [v for v in ("pass", "fail", "insufficient", "warming_up")
                if metrics("cutover_gate_verdict", gate=gate["name"], verdict=v) == 1]
        assert len(said) == 1, gate
    json.dumps(status)
