"""More outstanding legs than the gateway keeps in memory (8,192 a backend): the others wait in the journal, and
everything that holds for a leg holds for them too: they arrive, in order, once, and their users stay off the backend
that lacks their writes.
"""

import collections
import time

import pytest

from support.backend import reply
from support.journal_fill import fill
from support.waiting import eventually, stays
from support.wire import request_bytes

WINDOW = 8192
ROUTES = [{"match": "PUT /notes/{record}", "kind": "write"}]


@pytest.fixture
def gateway(make_gateway, legacy, new):
    """Has a journal and does not run; new is down."""
    new.stop()
    gateway = make_gateway(legacy, new, config={
        "routes": ROUTES,
        "backends": {"new": {"timeout": "2s"}}, "fallback": {"breaker": {"open_for": "500ms"}}})
    gateway.stop()
    return gateway


def database(gateway):
    return gateway.data / "journal.sqlite"


def deferred(gateway):
    return gateway.metrics()("cutover_journal_deferred", backend="new")


def pending(gateway):
    return gateway.status()["journal"]["pending"]["new"]


def arrivals(new):
    """The bodies that new received whole, by target, in the order in which they came."""
    found = collections.defaultdict(list)
    for request in list(new.requests):
        if request.method == "PUT":
            found[request.target].append(int(request.body[:8]))
    return found


def expect_each_once_in_order(new, first, last):
    numbers = [number for arrived in arrivals(new).values() for number in arrived]
    assert sorted(numbers) == list(range(first, last + 1))
    for target, arrived in arrivals(new).items():
        assert arrived == sorted(arrived), target


def test_legs_beyond_the_window_arrive_once_and_in_order_when_the_backend_is_back(gateway, new):
    first, last = fill(database(gateway), 20_000, 20_000)
    gateway.start()
    assert pending(gateway) == 20_000
    eventually(lambda: 0 < deferred(gateway) <= 20_000 - WINDOW + 512, "the window is full and the rest waits")
    new.start()
    eventually(lambda: pending(gateway) == 0, "everything has arrived", 120)
    expect_each_once_in_order(new, first, last)
    status = gateway.status()["journal"]["catch_up"]["new"]
    assert status["seconds"] == 0 and status["rate"] > 0
    assert deferred(gateway) == 0


def test_a_user_whose_legs_are_all_deferred_reads_legacy_until_they_hold(gateway, new):
    # The last ones of the queue are of users that nobody else is.
    fill(database(gateway), WINDOW + 2_000, WINDOW + 2_000)
    fill(database(gateway), 10, 10, users=10, name=lambda user: f"late{user}")
    gateway.start()
    gateway.set_percent(100)
    eventually(lambda: deferred(gateway) < 3_000, "the window has filled")
    answer = gateway.get("/notes/1", user="late3")
    assert (answer.backend, answer["Cutover-Reason"]) == ("legacy", "behind")
    assert gateway.get("/notes/1", user="somebody else")["Cutover-Reason"] != "behind"
    new.start()
    eventually(lambda: pending(gateway) == 0, "everything has arrived", 120)
    answer = gateway.get("/notes/1", user="late3")
    assert (answer.backend, answer["Cutover-Reason"]) == ("new", "in-percent")


def test_writes_that_find_the_window_full_are_answered_and_arrive_behind_the_older_ones(gateway, legacy, new):
    first, last = fill(database(gateway), WINDOW - 100, WINDOW - 100, users=500, records=1)
    gateway.start()
    eventually(lambda: pending(gateway) == WINDOW - 100 and deferred(gateway) <= 600, "most of it is in memory")
    with gateway.connect() as client:
        for number in range(last + 1, last + 1_001):
            user = f"user{number % 500}"
            client.send(request_bytes("PUT", f"/notes/{user}-r0", body=b"%08d" % number, user=user))
            assert client.response("PUT").status == 200
    assert pending(gateway) == WINDOW + 900
    assert deferred(gateway) >= 500
    new.start()
    eventually(lambda: pending(gateway) == 0, "everything has arrived", 120)
    expect_each_once_in_order(new, first, last + 1_000)


def test_nothing_is_lost_when_the_gateway_is_killed_while_legs_are_deferred(gateway, new):
    first, last = fill(database(gateway), 12_000, 12_000)
    gateway.start()
    eventually(lambda: 0 < deferred(gateway) < 12_000, "the window is being filled")
    gateway.kill()
    gateway.start()
    assert pending(gateway) == 12_000
    new.start()
    eventually(lambda: len(new.requests) > 2_000, "it catches up", 60)
    gateway.kill()
    gateway.start()
    eventually(lambda: pending(gateway) == 0, "everything has arrived", 120)
    found = arrivals(new)
    assert {number for arrived in found.values() for number in arrived} == set(range(first, last + 1))
    for target, arrived in found.items():
        # What the kill made uncertain is sent again, with the same key: the newest state is the last one all the same.
        assert arrived[-1] == max(arrived), target


def test_a_record_that_is_stuck_for_ever_keeps_nobody_else_waiting(gateway, new):
    stuck = 3_500
    fill(database(gateway), stuck, stuck, users=1, records=1, name=lambda user: "stuck")
    fill(database(gateway), 9_000, 9_000)
    new.answer = lambda request: reply(b"{}", 503) if request["X-User-Id"] == "stuck" else reply(b"{}")
    new.start()
    gateway.start()
    eventually(lambda: pending(gateway) == stuck, "all the others have arrived", 120)
    tries = len(new.to("/notes/stuck-r0"))
    stays(lambda: pending(gateway) == stuck, "the stuck ones wait", 0.3)
    assert tries < 2_000, "one leg is tried, not each of the lane"
    new.answer = lambda request: reply(b"{}")
    eventually(lambda: pending(gateway) == 0, "the lane goes on", 120)
    arrived = arrivals(new)["/notes/stuck-r0"]
    assert arrived == sorted(arrived) and len(set(arrived)) == stuck


def moves(figure, seconds):
    before = figure()
    time.sleep(seconds)
    return figure() != before


def test_a_dead_backend_costs_one_probe_at_a_time(gateway, new):
    fill(database(gateway), WINDOW, WINDOW)
    gateway.start()
    eventually(lambda: not gateway.status()["backends"]["new"]["healthy"], "the breaker has opened")

    def tries():
        return gateway.metrics()("cutover_leg_retries_total", backend="new")

    # What was under way when it opened comes to its end first.
    eventually(lambda: not moves(tries, 0.3), "only probes are sent")
    before, since = tries(), time.monotonic()
    eventually(lambda: tries() - before >= 4, "it is probed")
    assert time.monotonic() - since >= 1.4, "a probe every half second, not one a leg"


def test_a_start_with_a_long_journal_takes_no_longer_than_its_outstanding_legs(gateway):
    fill(database(gateway), 60_000, 20_000, users=5_000)
    began = time.monotonic()
    gateway.start()
    assert time.monotonic() - began < 5
    assert pending(gateway) == 20_000
