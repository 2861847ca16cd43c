"""The admin API and the metrics (contract §9 and §10)."""

import subprocess
import time

import pytest

from support.backend import reply
from support.waiting import eventually

STAGES = [
    {"name": "dual-write", "percent": 0, "shadow": "0%"}, {"name": "canary", "percent": 1, "shadow": "0%"},
    {"name": "half", "percent": 50, "shadow": "0%"}, {"name": "full", "percent": 100, "shadow": "0%"}]
PLAN = {"name": "my-migration", "stages": STAGES}

SERIES = {
    "cutover_reads_total": [{"backend": b, "result": r} for b in ("legacy", "new") for r in ("ok", "error")],
    "cutover_writes_total": [{"backend": b, "leg": leg, "result": r} for b in ("legacy", "new")
                             for leg in ("authoritative", "secondary") for r in ("ok", "refused", "error")],
    "cutover_write_duration_seconds_count": [{"backend": b, "leg": leg} for b in ("legacy", "new")
                                             for leg in ("authoritative", "secondary")],
    "cutover_conflicts_total": [{"source": source} for source in ("gateway", "legacy", "new")],
    "cutover_fallbacks_total": [{"kind": kind, "reason": reason} for kind in ("read", "write")
                                for reason in ("connect", "timeout", "5xx")] + [{"kind": "read", "reason": "404"}],
    "cutover_rollbacks_total": [{"trigger": trigger} for trigger in ("operator", "gate")],
    "cutover_shadow_reads_total": [{"result": r} for r in ("match", "mismatch", "transient", "dropped", "error")],
    "cutover_journal_pending": [{"backend": "legacy"}, {"backend": "new"}],
    "cutover_journal_oldest_pending_seconds": [{"backend": "legacy"}, {"backend": "new"}],
    "cutover_journal_parked": [{}], "cutover_rollout_percent": [{}], "cutover_stale_reads_total": [{}],
}
GAUGES = ["cutover_read_error_ratio", "cutover_write_p95_seconds", "cutover_conflict_ratio", "cutover_fallback_ratio",
          "cutover_build_info", "cutover_upstream_connections", "cutover_request_duration_seconds_count",
          "cutover_gate_verdict", "process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds",
          "process_start_time_seconds"]


@pytest.fixture
def planned(make_gateway, legacy, new):
    return make_gateway(legacy, new, plan=PLAN)


def test_status_has_its_shape(planned):
    status = planned.status()
    rollout = status["rollout"]
    expected = {"plan": "my-migration", "stage": "dual-write", "percent": 0, "shadow_percent": 0, "dual_write": True,
                "state": "running"}
    assert {key: rollout[key] for key in expected} == expected
    assert rollout["since"].endswith("Z") and isinstance(rollout["generation"], int)
    for name in ("read_error_rate", "write_p95_seconds", "conflict_rate", "fallback_rate"):
        figure = status["metrics"][name]
        assert figure["samples"] == 0 and figure["verdict"] in ("insufficient", "warming_up")
        assert {"value", "threshold"} <= figure.keys()
    for name in ("read_error_rate", "write_p95_seconds"):
        assert {"legacy", "new"} <= status["metrics"][name]["by_backend"].keys()
    assert status["shadow"] == {"compared": 0, "matched": 0, "mismatched": 0, "transient": 0, "dropped": 0, "errors": 0}
    assert status["journal"]["pending"] == status["journal"]["oldest_pending_seconds"] == {"legacy": 0, "new": 0}
    assert status["journal"]["parked"] == 0
    assert status["backends"]["legacy"]["healthy"] is True and status["backends"]["new"]["healthy"] is True


def test_all_series_are_there_at_zero_from_the_first_scrape(planned):
    metrics = planned.metrics()
    for name, labels in SERIES.items():
        for wanted in labels:
            assert metrics(name, **wanted) == 0, (name, wanted)
    assert not [name for name in GAUGES if name not in metrics.names()]
    ratio = metrics.matching("cutover_read_error_ratio", backend="new")
    assert len(ratio) == 1 and ratio[0] != ratio[0], "NaN when there is no sample"


def test_prometheus_accepts_the_metrics(planned):
    for index in range(3):
        planned.get("/", user="u")
        planned.fetch("POST", "/x", body=b"x", user="u")
    _, text, headers = planned.admin("GET", "/metrics")
    assert headers["Content-Type"].startswith("text/plain")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_requests_are_counted_by_kind_and_code(planned, legacy):
    planned.get("/users/somebody-private", user="somebody-private")
    legacy.answer = lambda request: reply(b"", 418)
    planned.get("/", user="u")
    # A request is booked a moment after its client has the answer.
    eventually(
        lambda: planned.metrics()("cutover_request_duration_seconds_count", kind="read") == 2, "both are booked")
    metrics = planned.metrics()
    assert metrics("cutover_requests_total", kind="read", code="200") == 1
    assert metrics("cutover_requests_total", kind="read", code="418") == 1
    assert "somebody-private" not in planned.admin("GET", "/metrics")[1]


def test_reads_are_free_and_changes_need_the_token(planned):
    for path in ("status", "rollout", "mismatches", "journal", "events", "users/u", "openapi.json"):
        assert planned.admin("GET", "/api/v1/" + path)[0] == 200, path
    changes = [
        ("POST", "rollout/promote", {}), ("POST", "rollout/rollback", {}), ("POST", "rollout/percent", {"percent": 1}),
        ("PUT", "users/u/pin", {"side": "new"}), ("DELETE", "users/u/pin", None), ("POST", "reload", {}),
        ("POST", "journal/replay", {"all_parked": True})]
    for method, path, body in changes:
        status, problem, headers = planned.admin(method, "/api/v1/" + path, body)
        assert status == 401 and "Bearer" in headers["WWW-Authenticate"], path
        assert planned.admin(method, "/api/v1/" + path, body, token="wrong")[0] == 401, path
        assert planned.admin(method, "/api/v1/" + path, body, token=planned.token("viewer"))[0] == 403, path
    assert planned.status()["rollout"]["stage"] == "dual-write"
    assert planned.read("users/u")["pin"] is None


@pytest.mark.parametrize(("method", "path", "body", "status"), [
    ("GET", "/api/v1/nothing", None, 404), ("DELETE", "/api/v1/status", None, 405),
    ("POST", "/api/v1/rollout/percent", {"percent": 101}, 400),
    ("POST", "/api/v1/rollout/percent", {"percent": "x"}, 400),
    ("POST", "/api/v1/rollout/percent", {}, 400), ("PUT", "/api/v1/users/u/pin", {"side": "left"}, 400),
    ("POST", "/api/v1/rollout/promote", {"to": "nowhere"}, 400),
])
def test_bad_calls_get_a_clear_error(planned, method, path, body, status):
    found, problem, headers = planned.admin(method, path, body, token=planned.token())
    assert found in ((400, 404, 409, 422) if status == 400 else (status,))
    assert headers["Content-Type"] == "application/problem+json" and problem["title"]


def test_a_change_is_in_force_on_every_worker_within_100_ms(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 4})
    clients = [gateway.connect() for _ in range(16)]
    for percent, backend in [(100, "new"), (0, "legacy")] * 3:
        gateway.set_percent(percent)
        # The answer to the command may come before all workers know it; 100 ms later all do.
        time.sleep(0.1)
        assert {client.request("GET", "/", user="u").backend for client in clients} == {backend}
    for client in clients:
        client.close()


def test_promote_walks_the_plan_and_rollback_goes_home(planned):
    stages = []
    for _ in range(3):
        planned.change("POST", "rollout/promote", {})
        rollout = planned.status()["rollout"]
        stages.append((rollout["stage"], rollout["percent"]))
    assert stages == [("canary", 1), ("half", 50), ("full", 100)]
    assert planned.get("/", user="u").backend == "new"
    planned.change("POST", "rollout/rollback", {"reason": "because"})
    rollout = planned.status()["rollout"]
    assert (rollout["stage"], rollout["percent"], rollout["state"]) == ("dual-write", 0, "rolled_back")
    assert planned.metrics()("cutover_rollbacks_total", trigger="operator") == 1
    planned.change("POST", "rollout/promote", {"to": "half"})
    assert planned.status()["rollout"]["state"] == "running"


def test_a_dry_run_changes_nothing(planned):
    planned.change("POST", "rollout/promote", {"to": "full", "dry_run": True})
    assert planned.status()["rollout"]["stage"] == "dual-write"


def test_a_number_sets_the_stage_that_it_has_reached(planned):
    planned.set_percent(60)
    rollout = planned.status()["rollout"]
    assert (rollout["stage"], rollout["percent"]) == ("half", 60)
    assert planned.metrics()("cutover_rollout_percent") == 60


def test_an_old_generation_is_412(planned):
    generation = planned.status()["rollout"]["generation"]
    headers = [("If-Match", f'"{generation}"')]
    path, body, token = "/api/v1/rollout/percent", {"percent": 10}, planned.token()
    assert planned.admin("POST", path, body, token, headers)[0] == 200
    assert planned.status()["rollout"]["generation"] > generation
    assert planned.admin("POST", path, {"percent": 20}, token, headers)[0] == 412
    assert planned.status()["rollout"]["percent"] == 10


def test_every_change_is_an_event(planned):
    planned.set_percent(10)
    planned.pin("u", "new")
    planned.change("POST", "rollout/rollback", {"reason": "smoke in the room"})
    planned.restart()
    events = planned.read("events")["items"]
    assert all({"seq", "at", "actor", "action", "before", "after", "reason"} <= event.keys() for event in events)
    assert [event["seq"] for event in events] == sorted((event["seq"] for event in events), reverse=True)
    assert "smoke in the room" in [event["reason"] for event in events]
    assert any("rollback" in event["action"] for event in events) and any("pin" in event["action"] for event in events)


def test_changes_survive_kill_9_right_after_their_answer(planned):
    planned.change("POST", "rollout/promote", {"to": "half"})
    planned.pin("u", "legacy")
    planned.restart()
    rollout = planned.status()["rollout"]
    assert (rollout["stage"], rollout["percent"]) == ("half", 50)
    assert planned.read("users/u")["pin"] == "legacy"


def test_lists_have_pages(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    for index in range(12):
        assert gateway.fetch("PUT", f"/x/{index}", body=b"x", user="u").status == 200
    seen, cursor = [], ""
    while cursor is not None:
        page = gateway.read("journal?limit=5" + (f"&cursor={cursor}" if cursor else ""))
        assert len(page["items"]) <= 5
        seen += [item["seq"] for item in page["items"]]
        cursor = page["next"]
    assert seen == list(range(12, 0, -1))


def test_the_health_of_backends_is_reported_but_not_the_status(make_gateway, legacy, new):
    planned = make_gateway(legacy, new, plan=PLAN, config={"fallback": {"breaker": {"min_requests": 3}}})
    new.stop()
    planned.pin("u", "new")
    eventually(lambda: planned.get("/", user="u").status == 200
               and planned.status()["backends"]["new"]["healthy"] is False, "new is seen to be down")
    assert planned.admin("GET", "/readyz")[0] == 200


def test_the_four_figures_follow_the_traffic(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, percent=100, config={"fallback": {"breaker": {"min_requests": 1000}}})
    new.answer = lambda request: reply(b"broken", 500) if request.target == "/bad" else reply()
    for target in ("/good", "/bad", "/good", "/bad"):
        assert gateway.get(target, user="u").status == 200
    assert gateway.fetch("POST", "/x", body=b"x", user="u").status == 200
    # A request is counted after its last byte was sent.
    eventually(lambda: gateway.metrics()("cutover_fallback_ratio") != 0.5, "the write is counted", 10)
    metrics = gateway.metrics()
    assert metrics("cutover_read_error_ratio", backend="new") == 0.5
    assert metrics("cutover_fallback_ratio") == pytest.approx(2 / 5)
    assert metrics("cutover_conflict_ratio") == 0
    assert 0 < metrics("cutover_write_p95_seconds", backend="new") < 5
    figures = gateway.status()["metrics"]
    assert figures["read_error_rate"]["by_backend"]["new"]["value"] == 0.5
