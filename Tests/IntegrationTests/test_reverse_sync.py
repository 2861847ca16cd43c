"""After the end: legacy is not written any more; the way back brings it what it lacks, in order (contract §2, §4)."""

import json
import sqlite3
import threading
import time

import pytest

from support.backend import reply
from support.gateway import cutover
from support.journal_fill import fill
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually

PLAN = {
    "name": "to-the-end", "keep": "90d", "rollback_window": "24h",
    "stages": [
        {"name": "dual-write", "percent": 0, "shadow": "0%"}, {"name": "half", "percent": 50, "shadow": "0%"},
        {"name": "full", "percent": 100, "shadow": "0%"},
    ],
}
# Where the records of a POST can be read.
ROUTES = [
    {**route, "read": "/records/{record}"} if route["match"].startswith("POST") else route for route in CHANGE_ROUTES]
# Two seconds between the looks at a difference would only make the tests longer.
SETTINGS = {"routes": ROUTES, "shadow": {"percent": 0, "recheck_after": "50ms"}}


def put(gateway, note, body, user="u"):
    return gateway.fetch("PUT", f"/notes/{note}", body=body.encode(), user=user,
                         headers=[("Content-Type", "text/plain")])


def post(gateway, record, revision, user="u"):
    return gateway.fetch("POST", "/changes", body=change(user, record, revision), user=user,
                         headers=[("Content-Type", "application/json")])


def keys(store, without=None):
    return [r["Idempotency-Key"] for r in store.requests if r.method == "PUT" and r.body != without]


def report(gateway):
    return gateway.read("reverse-sync")


def applied(store, path):
    return [body for target, body in store.applied if target == path]


def at_the_end(make_gateway, legacy, new, **options):
    """A gateway in the last stage, whose legacy is not written any more."""
    gateway = make_gateway(legacy, new, config={**SETTINGS, **options.pop("config", {})}, plan=PLAN, **options)
    gateway.change("POST", "rollout/promote", {"to": "full"})
    gateway.change("POST", "rollout/stop-legacy", {"reason": "nobody reads it"})
    return gateway


@pytest.fixture
def ended(make_gateway, legacy_store, new_store):
    return at_the_end(make_gateway, legacy_store, new_store)


def test_legacy_is_not_written_any_more_and_the_journal_says_so(ended, legacy_store, new_store):
    legacy_store.forget()
    for number in range(5):
        assert put(ended, "a", str(number)).status == 200
    assert applied(new_store, "/notes/a") == [b"0", b"1", b"2", b"3", b"4"]
    assert [r for r in legacy_store.requests if r.method == "PUT"] == []
    rows = ended.read("journal")["items"]
    assert {row["legs"]["legacy"]["state"] for row in rows} == {"skipped"}
    rollout = ended.status()["rollout"]
    assert (rollout["legacy_writes"], rollout["state"]) == (False, "complete")
    assert "legacy is not written since" in ended.command("status").stdout


def test_the_end_survives_a_restart(ended, legacy_store):
    ended.restart()
    assert ended.status()["rollout"]["legacy_writes"] is False
    put(ended, "a", "x")
    assert applied(legacy_store, "/notes/a") == []


def test_stopping_is_refused_before_the_last_stage_and_while_users_are_pinned_to_legacy(
        make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config=SETTINGS, plan=PLAN)
    status, answer, _ = gateway.admin("POST", "/api/v1/rollout/stop-legacy", {}, token=gateway.token())
    assert status == 409 and "last stage" in answer["detail"]
    gateway.change("POST", "rollout/promote", {"to": "full"})
    gateway.pin("secret-user", "legacy")
    status, answer, _ = gateway.admin("POST", "/api/v1/rollout/stop-legacy", {}, token=gateway.token())
    assert status == 409 and answer["reasons"] == ["1 user is pinned to legacy"]
    gateway.change("DELETE", "users/secret-user/pin")
    dry = gateway.command("stop-legacy", "--dry-run").stdout
    assert "legacy writes yes → no" in dry and "dry run" in dry
    assert gateway.status()["rollout"]["legacy_writes"] is True
    assert gateway.command("stop-legacy").stdout == "legacy writes yes → no\n"
    # And nobody may be sent there afterwards.
    status, answer, _ = gateway.admin("PUT", "/api/v1/users/u/pin", {"side": "legacy"}, token=gateway.token())
    assert status == 409 and "miss their writes" in answer["detail"]
    status, answer, _ = gateway.admin("POST", "/api/v1/rollout/percent", {"percent": 50}, token=gateway.token())
    assert status == 409 and "resume-legacy" in answer["detail"]


def test_keep_ends_by_itself(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config=SETTINGS, plan={**PLAN, "keep": "1s"})
    gateway.change("POST", "rollout/promote", {"to": "full"})
    eventually(lambda: gateway.status()["rollout"]["legacy_writes"] is False, "keep has ended")
    event = eventually(lambda: [e for e in gateway.read("events")["items"] if e["action"] == "stop-legacy"], "an event")
    assert [(e["actor"], e["reason"]) for e in event] == [("gateway", "keep of 1s has ended")]


def test_a_failing_new_is_no_reason_to_serve_what_legacy_does_not_have(ended, legacy_store, new_store):
    put(ended, "a", "newest")
    legacy_store.documents["/notes/a"] = b"old"
    new_store.refuse = lambda request: reply(b"broken", 503)
    answer = ended.get("/notes/a", user="u")
    assert (answer.status, answer.headers.get("Cutover-Backend")) == (503, "new")
    assert put(ended, "a", "lost").status == 503
    new_store.refuse = lambda request: None
    assert ended.get("/notes/a", user="u").body == b"newest"
    assert ended.get("/notes/none", user="u").status == 404
    assert [r for r in legacy_store.requests if r.target == "/notes/none"] == []


def test_the_whole_way_back(ended, legacy_store, new_store):
    """At the end, legacy unwritten, rollback: legacy gets everything in order, and both agree."""
    for number in range(20):
        for note in "abc":
            assert put(ended, note, f"{note}{number}", user=f"user-{note}").status == 200
        assert post(ended, "r", number + 1).status == 200
    new_store.refuse = lambda request: reply(b"no", 422) if request.body == b"refused" else None
    assert put(ended, "a", "refused", user="user-a").status == 422
    new_store.refuse = lambda request: None
    done = ended.command("rollback", "--reason", "it was a mistake")
    assert "lacks 80 changes" in done.stderr + done.stdout
    assert "legacy is caught up at" in done.stdout
    for note in "abc":
        assert applied(legacy_store, f"/notes/{note}") == [f"{note}{number}".encode() for number in range(20)]
    assert [revision for record, revision in legacy_store.applied if record == "r"] == list(range(1, 21))
    assert sorted(keys(legacy_store)) == sorted(keys(new_store, without=b"refused"))
    assert "(80 legs)" in done.stdout
    assert legacy_store.documents == new_store.documents
    # What new refused never reaches legacy.
    assert all(r.body != b"refused" for r in legacy_store.requests)
    # Legacy is written first now.
    assert put(ended, "a", "after", user="user-a").headers.get("Cutover-Backend") == "legacy"
    ended.settle()
    done = ended.command("reverse-sync", "--json")
    end = json.loads(done.stdout)
    assert end["total"] == 0 and end["clean"] is True
    assert end["verification"] == {"records": 4, "equal": 4, "different": 0, "unverifiable": 0, "in_flight": 0}
    actions = [event["action"] for event in ended.read("events")["items"]]
    assert actions[0] == "reverse-sync" and "legacy caught up" in actions


def test_writes_that_come_during_the_way_back_stay_behind_what_legacy_lacks(ended, legacy_store, new_store):
    for number in range(60):
        put(ended, "a", f"old{number}")
    slow = threading.Event()
    legacy_store.refuse = lambda request: None if slow.is_set() or request.method == "GET" else reply(b"later", 503)
    writers, answers = [], []

    def write(number):
        answers.append((put(ended, "a", f"new{number}").status, number))

    ended.change("POST", "rollout/rollback", {})
    for number in range(4):
        writers.append(threading.Thread(target=write, args=(number,)))
        writers[-1].start()
    time.sleep(0.3)
    assert applied(legacy_store, "/notes/a") == []
    slow.set()
    for writer in writers:
        writer.join()
    ended.settle()
    order = applied(legacy_store, "/notes/a")
    olds = [body for body in order if body.startswith(b"old")]
    assert olds == [f"old{number}".encode() for number in range(60)]
    accepted = {f"new{number}".encode() for status, number in answers if status == 200}
    # The whole of the past comes first, then what was accepted since.
    assert order[:60] == olds and set(order[60:]) >= accepted
    assert new_store.documents == legacy_store.documents


def test_users_that_legacy_owes_something_read_their_own_writes(ended, legacy_store):
    put(ended, "a", "mine", user="owed")
    legacy_store.refuse = lambda request: None if request.method == "GET" else reply(b"later", 503)
    ended.change("POST", "rollout/rollback", {})
    answer = ended.get("/notes/a", user="owed")
    assert (answer.body, answer.headers.get("Cutover-Reason")) == (b"mine", "draining")
    assert ended.get("/notes/a", user="stranger").headers.get("Cutover-Backend") == "legacy"
    legacy_store.refuse = lambda request: None
    eventually(lambda: ended.get("/notes/a", user="owed").headers.get("Cutover-Backend") == "legacy", "legacy has it")
    assert ended.get("/notes/a", user="owed").body == b"mine"


def test_a_dry_run_counts_and_touches_nothing(ended, legacy_store):
    for number in range(7):
        put(ended, f"n{number}", "x")
    legacy_store.forget()
    done = ended.command("reverse-sync", "--since", "24h", "--dry-run")
    assert done.stdout.startswith("legacy lacks 7 changes, accepted from ") and "dry run" in done.stdout
    status, answer, _ = ended.admin(
        "POST", "/api/v1/reverse-sync", {"since": "24h", "dry_run": True}, token=ended.token())
    assert status == 200 and answer["missing"] == 7 and answer["older"] == 0
    assert legacy_store.requests == [] and report(ended)["phase"] == "idle"
    assert {row["legs"]["legacy"]["state"] for row in ended.read("journal")["items"]} == {"skipped"}


def test_a_run_while_legacy_stays_unwritten_brings_what_there_is(ended, legacy_store, new_store):
    for number in range(30):
        put(ended, "a", str(number))
    done = ended.command("reverse-sync")
    assert "30 changes brought to legacy" in done.stdout and "1 record compared: 1 equal, 0 different" in done.stdout
    assert applied(legacy_store, "/notes/a") == [str(number).encode() for number in range(30)]
    # It stays unwritten; the next run takes the rest, and nothing twice.
    put(ended, "a", "later")
    assert applied(legacy_store, "/notes/a")[-1] == b"29"
    assert "1 change brought to legacy" in ended.command("reverse-sync").stdout
    assert applied(legacy_store, "/notes/a")[29:] == [b"29", b"later"]
    assert ended.status()["rollout"]["legacy_writes"] is False
    # And legacy may be written again.
    assert ended.command("resume-legacy").stdout == "legacy writes no → yes\n"
    put(ended, "a", "both")
    ended.settle()
    assert applied(legacy_store, "/notes/a")[-1] == b"both"


def test_what_differs_is_found_and_named_without_its_values(ended, legacy_store, new_store):
    put(ended, "a", "x")
    for record in ("equal", "planted"):
        post(ended, record, 1)
    assert ended.command("reverse-sync").stdout.count("equal") >= 1
    legacy_store.records["planted"] = {**legacy_store.records["planted"], "payload": {"text": "hidden-value"}}
    del legacy_store.documents["/notes/a"]
    done = ended.command("reverse-sync", check=False)
    assert done.returncode == 1
    assert "3 records compared: 1 equal, 2 different, 0 unverifiable" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["3", "200", "200", "/records/planted", "/payload/text"] in lines
    assert ["1", "404", "200", "/notes/a"] in lines
    assert "hidden-value" not in done.stdout


def test_what_cannot_be_read_is_never_equal(make_gateway, legacy_store, new_store):
    gateway = at_the_end(make_gateway, legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    post(gateway, "r", 1)
    put(gateway, "a", "x")
    refusal = reply(b"who are you", 401)
    found = gateway.command("reverse-sync").stdout
    assert "2 records compared: 1 equal, 0 different, 1 unverifiable" in found
    legacy_store.refuse = new_store.refuse = lambda request: refusal if request.method == "GET" else None
    assert "2 records compared: 0 equal, 0 different, 2 unverifiable" in gateway.command("reverse-sync").stdout


def test_the_users_own_headers_are_what_is_read_with(ended, new_store):
    ended.fetch("PUT", "/notes/a", [("Authorization", "Bearer t"), ("If-Match", "*"), ("Content-Type", "text/x")],
                b"x", user="someone")
    new_store.forget()
    ended.command("reverse-sync")
    (read,) = [r for r in new_store.requests if r.method == "GET"]
    assert (read["X-User-Id"], read["Authorization"]) == ("someone", "Bearer t")
    assert read["If-Match"] is None and read["Content-Type"] is None and read["Idempotency-Key"] is None


def test_a_poison_record_is_parked_and_listed_and_stops_nobody(ended, legacy_store, new_store):
    for note in ("a", "poison", "b"):
        for number in range(3):
            put(ended, note, f"{note}{number}")
    legacy_store.refuse = lambda request: (
        reply(b"never", 422) if request.body == b"poison1" and request.method == "PUT" else None)
    done = ended.command("reverse-sync", check=False)
    assert done.returncode == 1 and "legacy refused 1 change: 5 (cutover journal --parked)" in done.stdout
    assert [row["seq"] for row in ended.read("journal?parked=true")["items"]] == [5]
    assert legacy_store.documents["/notes/b"] == b"b2"
    legacy_store.refuse = lambda request: None
    done = ended.command("reverse-sync", "--include-parked", check=False)
    assert "1 change brought to legacy" in done.stdout
    assert ended.read("journal?parked=true")["items"] == []


def test_a_kill_in_the_middle_loses_nothing(ended, legacy_store, new_store):
    for number in range(40):
        for note in "abcde":
            put(ended, note, f"{note}{number}", user=note)
    seen = threading.Event()

    def slowly(request):
        if request.method == "PUT":
            if len(legacy_store.applied) > 60:
                seen.set()
            time.sleep(0.005)
        return None

    legacy_store.refuse = slowly
    ended.change("POST", "reverse-sync", {})
    assert seen.wait(20)
    ended.kill()
    ended.start()
    legacy_store.refuse = lambda request: None
    done = ended.command("reverse-sync")
    assert "5 records compared: 5 equal, 0 different" in done.stdout
    for note in "abcde":
        assert applied(legacy_store, f"/notes/{note}") == [f"{note}{number}".encode() for number in range(40)]


def test_a_kill_during_the_way_back_goes_on_by_itself(ended, legacy_store, new_store):
    for number in range(50):
        for note in "abc":
            put(ended, note, f"{note}{number}", user=note)
    legacy_store.refuse = lambda request: None if request.method == "GET" else reply(b"later", 503)
    ended.change("POST", "rollout/rollback", {})
    ended.kill()
    ended.start()
    legacy_store.refuse = lambda request: None
    # A write that comes now stays behind what legacy lacks.
    eventually(lambda: put(ended, "a", "after", user="a").status == 200, "legacy takes writes again")
    eventually(lambda: ended.status()["journal"]["caught_up_at"]["legacy"], "legacy is caught up")
    for note in "abc":
        got = [body for body in applied(legacy_store, f"/notes/{note}") if body != b"after"]
        assert got == [f"{note}{number}".encode() for number in range(50)]
    assert applied(legacy_store, "/notes/a")[-1] == b"after"
    ended.settle()
    assert legacy_store.documents == new_store.documents


def test_only_one_runs_at_a_time_and_the_command_follows_it(ended, legacy_store):
    for number in range(5):
        put(ended, "a", str(number))
    held = threading.Event()
    legacy_store.refuse = lambda request: None if held.is_set() or request.method == "GET" else reply(b"", 503)
    ended.change("POST", "reverse-sync", {})
    status, answer, _ = ended.admin("POST", "/api/v1/reverse-sync", {}, token=ended.token())
    assert status == 409 and answer["reasons"] == ["a reverse sync is under way"]
    threading.Timer(0.5, held.set).start()
    done = ended.command("reverse-sync")
    assert done.stdout.startswith("a reverse sync is under way") and "5 changes brought to legacy" in done.stdout


def test_newer_changes_do_not_overtake_older_ones(ended, legacy_store):
    put(ended, "a", "old")
    time.sleep(1.1)
    put(ended, "a", "new")
    status, answer, _ = ended.admin("POST", "/api/v1/reverse-sync", {"since": "1s"}, token=ended.token())
    assert status == 409 and "1 older change is missing, too" in answer["detail"]
    assert applied(legacy_store, "/notes/a") == []


def test_a_wrong_since_is_refused_in_words(ended):
    status, answer, _ = ended.admin("POST", "/api/v1/reverse-sync", {"since": "yesterday"}, token=ended.token())
    assert status == 400 and answer["detail"] == 'since: "yesterday" is no duration; accepted: 24h, 30m, 90s, 7d'


def test_the_last_stage_is_not_entered_while_the_way_back_does_not_work(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config=SETTINGS, plan=PLAN)
    gateway.change("POST", "rollout/promote", {"to": "half"})
    legacy_store.stop()
    for body in ({}, {"to": "full"}, {"dry_run": True}):
        status, answer, _ = gateway.admin("POST", "/api/v1/rollout/promote", body, token=gateway.token())
        assert status == 409 and answer["reasons"][0].startswith("the way back is closed: legacy does not answer")
    forced = gateway.change("POST", "rollout/promote", {"force": True})
    assert any("promoted by force" in warning for warning in forced["warnings"])
    legacy_store.start()


def test_a_parked_leg_to_legacy_and_an_ailing_legacy_close_the_way_back(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config=SETTINGS, plan=PLAN)
    gateway.change("POST", "rollout/promote", {"to": "half"})
    gateway.pin("u", "new")
    legacy_store.refuse = lambda request: reply(b"", 422) if request.method == "PUT" else reply(b"", 500)
    put(gateway, "a", "x")
    eventually(lambda: gateway.status()["journal"]["parked"] == 1, "the leg is parked")
    done = gateway.command("promote", check=False)
    assert done.returncode == 1
    assert "legacy does not answer (it answers 500)" in done.stderr and "1 leg to legacy is parked" in done.stderr


def test_help_of_the_new_commands():
    for name in ("reverse-sync", "stop-legacy", "resume-legacy"):
        assert f"cutover {name}" in cutover(name, "--help").stdout


def test_very_many_missing_changes_cost_a_window_of_memory(ended, legacy_store, new_store):
    """Thousands of changes are missing: nobody else waits for them, each record keeps its order, memory stays flat."""
    count, users = 4000, 200
    ended.stop()
    database = ended.data / "journal.sqlite"
    fill(database, count, 0, users=users, body_bytes=4096)
    connection = sqlite3.connect(database)
    with connection:
        connection.execute(
            "UPDATE change SET side = 1, dual_write = 0, served_by = 1, legacy_state = 'skipped', legacy_attempts = 0")
    connection.close()
    ended.start()
    held = threading.Event()
    legacy_store.refuse = lambda request: (
        None if held.is_set() or request.method == "GET" or request.target == "/notes/other" else reply(b"", 503))
    before = ended.resident_bytes()
    ended.change("POST", "rollout/rollback", {})
    eventually(lambda: report(ended)["phase"] == "sending" and ended.status()["journal"]["pending"]["legacy"] >= 1000,
               "legs are put back")
    # No more than fit are on their way while legacy takes none, and whoever misses nothing does not wait.
    assert ended.status()["journal"]["pending"]["legacy"] <= 1100
    assert ended.metrics()("cutover_legacy_missing") >= count - 1100
    assert put(ended, "other", "x", user="stranger").status == 200
    held.set()
    eventually(lambda: report(ended)["phase"] == "done", "everything is on legacy", 60)
    assert ended.resident_bytes() - before < 64 << 20
    records = {}
    for path, body in legacy_store.applied:
        if path != "/notes/other":
            records.setdefault(path, []).append(int(body[:8]))
    assert sum(map(len, records.values())) == count and len(records) == users * 5
    assert all(order == sorted(order) for order in records.values())


def test_a_write_that_new_has_not_decided_over_holds_up_its_own_record_only(ended, legacy_store, new_store):
    reached = threading.Event()

    def away(request):
        if request.method == "GET":
            return None
        reached.set()
        return reply(b"", 503)

    put(ended, "a", "a0")
    put(ended, "b", "b0")
    new_store.refuse = lambda request: reached.set() or time.sleep(1) or reply(b"", 503)
    writer = threading.Thread(target=lambda: pytest.raises(Exception, put, ended, "a", "a1"))
    writer.start()
    assert reached.wait(10)
    ended.kill()
    writer.join()
    new_store.refuse = away
    ended.start()
    ended.change("POST", "rollout/rollback", {})
    eventually(lambda: applied(legacy_store, "/notes/b") == [b"b0"], "the other record is there")
    assert put(ended, "b", "b1").status == 200
    assert report(ended)["phase"] == "sending" and applied(legacy_store, "/notes/a") == [b"a0"]
    new_store.refuse = lambda request: None
    eventually(lambda: report(ended)["phase"] == "done", "new has decided")
    assert applied(legacy_store, "/notes/a") == [b"a0", b"a1"]
