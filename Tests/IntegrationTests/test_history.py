"""The figures over time: `GET metrics/history` says what the backends counted, whatever dies, fills up or is set."""

import datetime
import time

import pytest

from support.backend import reply
from support.clock import SteppedClock
from support.gateway import cutover
from support.small_disk import SmallDisk
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually

# Without shadow reads, so that every read a backend gets is one.
PLAN = {"name": "p", "gates": {}, "stages": [
    {"name": "first", "percent": 0, "shadow": "0%"}, {"name": "half", "percent": 50, "shadow": "0%"}]}


def history(gateway, query=""):
    """Every row, newest first, page by page."""
    items, cursor = [], None
    while True:
        page = gateway.read(f"metrics/history?{query}" + (f"&cursor={cursor}" if cursor else ""))
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            return items


def at(row):
    return datetime.datetime.strptime(row["at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc).timestamp()


def summed(rows, name, side=None):
    return sum(row[name] if side is None else row[name][side] for row in rows)


def reaches(gateway, name, side, value, query=""):
    """Waits until so much of a count is in finished rows; the rows."""
    def rows():
        found = history(gateway, query)
        return found if summed(found, name, side) >= value else None
    return eventually(rows, f"{name} {side} comes to {value}", 40)


@pytest.fixture
def clock(scratch):
    """Its steps end a span at once, so that tests need not wait for it."""
    return SteppedClock(scratch)


@pytest.fixture
def stepped(make_gateway, legacy, new, clock):
    return make_gateway(legacy, new, environment=clock.environment)


def is_well_formed(rows, seconds=10):
    """Aligned, no span twice, no count without its whole."""
    assert [row["at"] for row in rows] == sorted({row["at"] for row in rows}, reverse=True)
    for row in rows:
        assert row["seconds"] == seconds and at(row) % seconds == 0
        assert 0 <= row["load_seconds"] <= row["covered_seconds"]
        for side in ("legacy", "new"):
            assert row["read_errors"][side] <= row["reads"][side]
            assert (row["write_p95_seconds"][side] is None) == (row["writes"][side] == 0)


def test_rows_say_what_the_backends_counted(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, plan=PLAN, config={"fallback": {"breaker": {"min_requests": 1000}}})
    began = time.monotonic()
    gateway.change("POST", "rollout/promote", {})
    gateway.pin("n", "new")
    gateway.pin("l", "legacy")
    new.answer = lambda request: reply(b"broken", 500) if request.target == "/bad" else reply()
    legacy.answer = lambda request: reply(b"broken", 502) if request.target == "/worse" else reply()
    for _ in range(7):
        assert gateway.get("/good", user="n").status == 200
        assert gateway.get("/good", user="l").status == 200
    for _ in range(3):
        assert gateway.get("/bad", user="n").status == 200
    for _ in range(2):
        assert gateway.get("/worse", user="l").status == 502
    for _ in range(4):
        assert gateway.fetch("POST", "/x", body=b"x", user="n").status == 200
    assert gateway.fetch("POST", "/x", body=b"x", user="l").status == 200
    gateway.settle()
    took = time.monotonic() - began
    rows = reaches(gateway, "writes", "legacy", 1)
    is_well_formed(rows)
    assert summed(rows, "reads", "new") == len(new.to("/good")) + len(new.to("/bad")) == 10
    assert summed(rows, "read_errors", "new") == len(new.to("/bad")) == 3
    # The gateway asks legacy for / itself, before the last stage.
    at_legacy = [request for request in legacy.requests if request.method == "GET" and request.target != "/"]
    assert summed(rows, "reads", "legacy") == len(at_legacy) == 12
    assert summed(rows, "read_errors", "legacy") == len(legacy.to("/worse")) == 2
    assert summed(rows, "client_errors") == 2
    assert (summed(rows, "writes", "new"), summed(rows, "writes", "legacy")) == (4, 1)
    assert summed(rows, "writes_received") == 5 and summed(rows, "conflicts") == 0
    assert summed(rows, "fallbacks") == 3 and summed(rows, "new_requests") == 14
    assert summed(rows, "compared") == 0
    # The rollout is looked at once a second: a row that ends within one of a change may not know of it yet.
    newest, = eventually(
        lambda: [row for row in history(gateway)[:1] if row["stage"] != "first"], "the stage is there", 40)
    assert (newest["stage"], newest["percent"], newest["state"]) == ("half", 50, "complete")
    assert newest["generation"] == gateway.status()["rollout"]["generation"]
    assert newest["pending"] == {"legacy": 0, "new": 0} and newest["parked"] == 0
    assert 0 < summed(rows, "load_seconds") <= took + 2
    # No less of it in coarser rows, which grow while their span lasts.
    for resolution in (60, 600):
        coarse = reaches(gateway, "writes", "legacy", 1, f"resolution={resolution}")
        is_well_formed(coarse, resolution)
        for name, side in (("reads", "new"), ("writes", "legacy"), ("read_errors", "new")):
            assert summed(coarse, name, side) == summed(rows, name, side)
    with_writes = [row for row in rows if row["writes"]["new"]]
    assert all(0 < row["write_p95_seconds"]["new"] < 10 for row in with_writes)


def test_what_is_asked_for_wrongly_is_refused_with_what_is_accepted(gateway):
    for query, word in [
        ("since=yesterday", "2h"), ("since=0s", "90d"), ("resolution=5", "10, 60, 600"),
        ("resolution=x", "10, 60, 600"), ("limit=0", "above 0"), ("limit=-3", "above 0"), ("limit=x", "above 0"),
        ("cursor=x", "next"), ("cursor=1", "next"), ("cursor=-1.a", "next"),
    ]:
        status, problem, _ = gateway.admin("GET", f"/api/v1/metrics/history?{query}")
        assert status == 400 and word in problem["detail"], query
    for method in ("POST", "DELETE"):
        assert gateway.admin(method, "/api/v1/metrics/history", token=gateway.token())[0] == 405
    for query in ("", "since=2h", "since=3d", "since=90d", "since=91d", "limit=5000", "since=",
                  "resolution=60&since=90d"):
        assert gateway.admin("GET", f"/api/v1/metrics/history?{query}")[0] == 200, query


def test_after_a_kill_the_rows_are_there_with_a_gap_and_none_is_made_up(stepped, clock):
    for _ in range(6):
        stepped.get("/", user="u")
    time.sleep(1.5)
    clock.step(10)
    before = reaches(stepped, "reads", "legacy", 6)
    reaches(stepped, "reads", "legacy", 6, "resolution=600")
    # These are lost with the process, unless their span ends just now.
    for _ in range(3):
        stepped.get("/", user="u")
    stepped.kill()
    clock.step(600)
    stepped.start()
    known = history(stepped)
    kept = summed(known, "reads", "legacy")
    assert known[-len(before):] == before and kept in (6, 9)
    for _ in range(5):
        stepped.get("/", user="u")
    time.sleep(1.5)
    clock.step(10)
    rows = reaches(stepped, "reads", "legacy", kept + 5)
    is_well_formed(rows)
    assert rows[-len(known):] == known
    new = rows[:-len(known)]
    assert summed(rows, "reads", "legacy") == kept + 5 and summed(new, "reads", "legacy") == 5
    assert min(at(row) for row in new) - max(at(row) for row in known) >= 600, "nothing in between"
    for resolution in (60, 600):
        coarse = reaches(stepped, "reads", "legacy", kept + 5, f"resolution={resolution}")
        assert summed(coarse, "reads", "legacy") == kept + 5


def test_what_an_orderly_end_leaves_of_a_span_is_kept(stepped):
    for _ in range(4):
        stepped.get("/", user="u")
    assert stepped.stop() == 0
    stepped.start()
    rows = history(stepped)
    assert summed(rows, "reads", "legacy") == 4
    assert summed(history(stepped, "since=90d"), "reads", "legacy") == 4


def test_a_clock_that_is_set_loses_and_doubles_nothing(stepped, clock):
    total = 0
    for step in (10, 3_600, -3_600, -7_200, 20, 7_200, 10):
        for _ in range(3):
            assert stepped.get("/", user="u").status == 200
        total += 3
        # A reading before the step, so that what was counted lies before it.
        time.sleep(1.2)
        clock.step(step)
    time.sleep(1.2)
    clock.step(10_000)
    eventually(lambda: summed(history(stepped, "since=1d&resolution=10"), "reads", "legacy") >= total, "all of it", 20)
    for resolution in (10, 60, 600):
        rows = reaches(stepped, "reads", "legacy", total, f"since=1d&resolution={resolution}")
        is_well_formed(rows, resolution)
        assert summed(rows, "reads", "legacy") == total


def test_time_without_requests_is_no_load(stepped, clock):
    time.sleep(1.5)
    clock.step(10)
    # The last row is still growing when it is first read.
    eventually(lambda: summed(history(stepped), "covered_seconds") > 0, "a row that covers some time")
    rows = history(stepped)
    assert summed(rows, "load_seconds") == 0
    assert rows[0]["reads"] == {"legacy": 0, "new": 0} and rows[0]["stage"] is None


def test_pages_hold_every_row_once(stepped, clock):
    for _ in range(7):
        clock.step(10)
        time.sleep(1.2)
    eventually(lambda: len(history(stepped)) >= 7, "the rows")
    everything = [row["at"] for row in history(stepped)]
    # Rows come while the pages are read: only what was there before is looked for.
    paged = [row["at"] for row in history(stepped, "limit=2") if row["at"] <= everything[0]]
    assert paged == everything and len(set(everything)) == len(everything)
    assert len(stepped.read("metrics/history?limit=3")["items"]) == 3


def test_a_full_disk_drops_rows_and_nothing_else(make_gateway, legacy_store, new_store, clock):
    gateway = make_gateway(legacy_store, new_store, start=False, environment=clock.environment,
                           config={"routes": CHANGE_ROUTES})
    disk = SmallDisk(gateway)
    try:
        gateway.start()
        assert gateway.fetch("PUT", "/notes/0", body=b"0", user="u").status == 200
        gateway.settle()
        disk.fill()
        numbers = iter(range(1, 1_000))
        eventually(lambda: gateway.fetch("PUT", f"/notes/{next(numbers)}", body=b"x" * 60_000, user="u").status == 503,
                   "writes are refused", 60)

        def lost():
            """Reads that memory has and the store has not."""
            return summed(history(gateway), "reads", "legacy") - summed(
                history(gateway, "resolution=60"), "reads", "legacy")

        def a_span_with_a_read_is_dropped():
            assert gateway.get("/notes/0", user="u").status == 200
            time.sleep(1.1)
            clock.step(10)
            time.sleep(1.5)
            return "rows are dropped" in gateway.log() and lost() > 0

        eventually(a_span_with_a_read_is_dropped, "the history is dropped", 120)
        log = gateway.log()
        assert log.count("rows are dropped") <= log.count("takes it again") + 1, "a line when it begins, not one a row"
        disk.free()
        eventually(lambda: gateway.fetch("PUT", "/notes/1", body=b"1", user="u").status == 200, "writes go on", 60)
        clock.step(10)
        eventually(lambda: "the store takes it again" in gateway.log(), "so does the history", 30)
        assert gateway.get("/notes/0", user="u").status == 200
        before = summed(history(gateway, "resolution=60"), "reads", "legacy")
        time.sleep(1.1)
        clock.step(10)
        reaches(gateway, "reads", "legacy", before + 1, "resolution=60")
        assert lost() > 0, "what was dropped stays so"
    finally:
        gateway.kill()
        disk.remove()


def test_gateways_of_a_shared_store_show_the_rows_of_all_and_add_nothing_up(make_cluster, legacy, new):
    cluster = make_cluster(legacy, new)
    for number, gateway in enumerate(cluster):
        for _ in range(3 + number):
            assert gateway.get("/", user="u").status == 200

    def by_instance(gateway, query=""):
        found = {}
        for row in history(gateway, query):
            found[row["instance"]] = found.get(row["instance"], 0) + row["reads"]["legacy"]
        return found

    for gateway in cluster:
        eventually(lambda gateway=gateway: sorted(by_instance(gateway).values()) == [3, 4], "the rows of both", 40)
        eventually(lambda gateway=gateway: sorted(by_instance(gateway, "resolution=600").values()) == [3, 4], "coarser")
    before = by_instance(cluster[0])
    cluster[1].kill()
    cluster[1].start()
    assert cluster[1].get("/", user="u").status == 200
    expected = {name: count + (1 if count == 4 else 0) for name, count in before.items()}
    for gateway in cluster:
        eventually(lambda gateway=gateway: by_instance(gateway) == expected, "the same name after a restart", 40)


def test_without_its_shared_store_a_gateway_shows_its_own_rows(make_cluster, legacy, new, postgres):
    cluster = make_cluster(legacy, new, count=1, server=postgres)
    gateway = cluster[0]
    for _ in range(3):
        assert gateway.get("/", user="u").status == 200
    reaches(gateway, "reads", "legacy", 3, "resolution=60")
    postgres.stop()
    assert summed(history(gateway), "reads", "legacy") == 3
    assert gateway.get("/", user="u").status == 200
    reaches(gateway, "reads", "legacy", 4)
    status, problem, _ = gateway.admin("GET", "/api/v1/metrics/history?resolution=60")
    assert status == 503 and problem["title"]
    postgres.start()
    # Until the gateway has found it again, the history is still answered with 503.
    eventually(lambda: gateway.admin("GET", "/api/v1/metrics/history?resolution=60")[0] == 200, "it is read again", 60)
    assert gateway.get("/", user="u").status == 200
    eventually(lambda: summed(history(gateway, "resolution=60"), "reads", "legacy") in (4, 5), "it goes on", 60)


def test_a_move_to_a_shared_store_takes_the_history_along(make_gateway, legacy_store, new_store, shared_postgres):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    for revision in range(1, 4):
        body = change("u", "r", revision)
        assert gateway.fetch("POST", "/changes", [("Content-Type", "application/json")], body).status == 200
    gateway.settle()
    assert gateway.stop() == 0
    url = shared_postgres.url(shared_postgres.make_database(), by_socket=True)
    moved = cutover("store", "migrate", "--from", "sqlite", "--to", url, "--data", str(gateway.data))
    assert "history" in moved.stdout
    gateway.config["store"] = url
    gateway.start()
    rows = history(gateway)
    assert summed(rows, "writes", "legacy") == 3
    assert gateway.get("/notes/1", user="u").status == 404
    reaches(gateway, "reads", "legacy", 1)
    assert len({row["instance"] for row in history(gateway)}) == 1
