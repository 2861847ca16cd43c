"""PostgreSQL goes away and comes back: reads go on, writes say 503, and nothing that was acknowledged is lost."""

import threading
import time

import pytest

from support.parallel import in_parallel
from support.postgres import timed
from support.torture import RECORD_ROUTES, Load, absent_on_both, prove, seed
from support.waiting import eventually, stays

# A write is refused at the latest when an answer of the store is overdue (5 s), and some more on a loaded machine.
REFUSED_WITHIN_SECONDS = 10.0
# `status` and `/metrics` do not ask a store that hangs.
SEEN_WITHIN_SECONDS = 2.0


@pytest.fixture
def cluster(make_cluster, recorders, postgres):
    return make_cluster(*recorders, percent=50, server=postgres, config={"routes": RECORD_ROUTES})


def put(gateway, number):
    return gateway.fetch("PUT", f"/notes/outage-{number}", [("X-Write", f"outage-{number}")], b"x", user=f"o{number}")


def reads_go_on(cluster):
    """A read at every gateway, which has to be answered by a backend and soon."""
    for gateway in cluster:
        answer, seconds = timed(lambda gateway=gateway: gateway.get("/notes/outage-none", user="reader"))
        assert answer.status == 404 and answer.backend and seconds < SEEN_WITHIN_SECONDS, (answer, seconds)
    return True


def slow_looks(cluster):
    """Looks at status, metrics and health of every gateway; those that failed or took too long."""
    found = []
    for number, gateway in enumerate(cluster):
        for path in ("/api/v1/status", "/metrics", "/healthz"):
            (status, _, _), seconds = timed(lambda: gateway.admin("GET", path))  # pylint: disable=cell-var-from-loop
            if status != 200 or seconds > SEEN_WITHIN_SECONDS:
                found.append((number + 1, path, status, round(seconds, 2)))
    return found


def settle(cluster, load, recorders):
    """After the store is back: everything goes on by itself, nothing was lost, and nobody was fenced for it."""
    cluster.everywhere(lambda gateway: gateway.status()["store"]["connected"], "the store is back", 30)
    cluster.everywhere(lambda gateway: gateway.status()["store"]["may_deliver"], "it may deliver again", 30)
    load.go_on(50, 60)
    load.finish()
    prove(cluster, load, *recorders, excused=absent_on_both)
    for gateway in cluster:
        metrics = gateway.metrics()
        assert metrics("cutover_store_fenced_total") == 0
        # A gateway that begins anew counts from 0 again.
        assert "fenced" not in gateway.log()
        assert metrics("cutover_store_connected") == metrics("cutover_store_lease_held") == 1
        assert gateway.status()["store"]["stale"] is False


def test_a_store_that_is_killed_and_restarted_loses_nothing(cluster, recorders, postgres):
    load = Load(cluster, seed(), wander=0.05, pause=0.002)
    for _ in range(4):
        load.go_on(50, 60)
        postgres.kill()
        reads_go_on(cluster)
        postgres.start()
    settle(cluster, load, recorders)


def test_while_the_store_is_away_writes_are_503_and_reads_go_on(cluster, recorders, postgres):
    load = Load(cluster, seed(), pause=0.01)
    load.go_on(50, 60)
    postgres.stop()
    stopped = time.monotonic()
    for number, gateway in enumerate(cluster):
        answer, seconds = timed(lambda: put(gateway, number))  # pylint: disable=cell-var-from-loop
        assert answer.status == 503 and answer["Retry-After"], answer
        assert answer["Content-Type"] == "application/problem+json"
        assert seconds < REFUSED_WITHIN_SECONDS
        eventually(lambda gateway=gateway: gateway.status()["store"]["stale"], "status says that it is stale", 5)
        assert gateway.status()["store"]["connected"] is False
        assert gateway.status()["rollout"]["percent"] == 50
        metrics = gateway.metrics()
        assert metrics("cutover_store_connected") == 0
    stays(lambda: reads_go_on(cluster), "reads go on", max(0.5, 8 - (time.monotonic() - stopped)))
    # The right to deliver has ended by now; whoever is on whichever side reads all the same.
    assert all(gateway.metrics()("cutover_store_lease_held") == 0 for gateway in cluster)
    reads_go_on(cluster)
    postgres.start()
    settle(cluster, load, recorders)


def test_connections_that_are_cut_all_the_time_lose_nothing(cluster, recorders, postgres):
    load = Load(cluster, seed(), wander=0.05)
    load.go_on(50, 60)
    with postgres.cutting_connections(cluster.database) as cut:
        until = time.monotonic() + 8
        while time.monotonic() < until:
            reads_go_on(cluster)
            time.sleep(0.1)
    assert sum(cut) > 10, cut
    settle(cluster, load, recorders)


def test_a_store_that_hangs_keeps_neither_status_nor_metrics_nor_reads(cluster, recorders, postgres):
    load = Load(cluster, seed(), pause=0.01)
    load.go_on(50, 60)
    with postgres.frozen():
        refused = []

        def write_at_all():
            refused.extend(in_parallel(lambda given: timed(lambda: put(given[1], given[0])), enumerate(cluster)))

        writer = threading.Thread(target=write_at_all)
        writer.start()
        until = time.monotonic() + 8
        while time.monotonic() < until:
            assert slow_looks(cluster) == []
            reads_go_on(cluster)
            time.sleep(0.1)
        assert all(gateway.status()["store"]["stale"] for gateway in cluster)
        writer.join(REFUSED_WITHIN_SECONDS)
        assert len(refused) == 2
        for answer, seconds in refused:
            assert answer.status == 503 and answer["Retry-After"], answer
            assert seconds < REFUSED_WITHIN_SECONDS
    settle(cluster, load, recorders)


def test_a_rollback_while_the_store_is_away_is_in_force_here_and_everywhere_once_it_is_back(cluster, postgres):
    one, other = cluster
    cluster.set_percent(100)
    postgres.stop()
    (status, answer, _), seconds = timed(
        lambda: one.admin("POST", "/api/v1/rollout/rollback", {}, token=one.token()))
    assert status == 200, (status, answer)
    assert seconds < REFUSED_WITHIN_SECONDS
    eventually(lambda: one.get("/notes/none", user="u").backend == "legacy", "legacy serves here", 5)
    # Any other change is refused: nobody could say who else decides meanwhile.
    status, _, _ = other.admin("POST", "/api/v1/rollout/percent", {"percent": 25}, token=other.token())
    assert status == 503
    postgres.start()
    cluster.everywhere(lambda gateway: gateway.read("rollout")["state"] == "rolled_back", "the rollback is known", 30)
    cluster.everywhere(lambda gateway: gateway.get("/notes/none", user="u").backend == "legacy", "legacy serves", 5)
    for gateway in cluster:
        gateway.restart()
        assert gateway.read("rollout")["percent"] == 0


def test_a_gateway_does_not_start_without_its_store_and_says_why(cluster, postgres):
    one, _ = cluster
    one.kill()
    postgres.stop()
    one.start(wait=False)
    eventually(lambda: one.process.poll() is not None, "it ends", 30)
    assert one.process.returncode == 1
    assert "PostgreSQL" in one.log() or "postgresql" in one.log()
    postgres.start()
    one.start()
    assert put(one, "after").status == 200
