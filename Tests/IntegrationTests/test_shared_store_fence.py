"""A gateway that was stopped past its lease delivers nothing late: another one has its place, and it begins anew."""

import os
import signal
import time

from support.cluster import SLACK_SECONDS, TAKEOVER_SECONDS
from support.torture import RECORD_ROUTES, Load, absent_on_both, prove, seed
from support.waiting import eventually

# Twice the lease: the other one has long taken over.
STOPPED_SECONDS = 13


def test_a_gateway_that_was_stopped_past_its_lease_delivers_nothing_late(make_cluster, recorders):
    _, new = recorders
    cluster = make_cluster(*recorders, percent=50, config={"routes": RECORD_ROUTES})
    stopped, other = cluster
    load = Load(cluster, seed(), patience=4.0, wander=0.05)
    load.go_on(100, 60)
    # Answers are on their way at every moment, and legs to new are outstanding at the one that stops.
    for recorder in recorders:
        recorder.mode(delay=0.02)
    new.mode(status=502)
    load.go_on(50, 60)
    eventually(lambda: stopped.status()["journal"]["pending"]["new"] > 0, "legs are outstanding")
    began = time.monotonic()
    os.kill(stopped.process.pid, signal.SIGSTOP)
    try:
        taken = "cutover_store_taken_over_total"
        eventually(lambda: other.metrics()(taken) > 0, "the other one takes over", TAKEOVER_SECONDS + SLACK_SECONDS)
        print(f"taken over {time.monotonic() - began:.1f} s after the stop")
        # Now the stopped one would have something to deliver that the other one delivers as well.
        new.mode(status=None)
        load.go_on(50, 60, "writes go on at the other gateway")
        time.sleep(max(0.0, STOPPED_SECONDS - (time.monotonic() - began)))
        starts = stopped.log().count("cutover: ready")
    finally:
        os.kill(stopped.process.pid, signal.SIGCONT)
    eventually(lambda: "fenced:" in stopped.log(), "it says that it was fenced", 30)
    eventually(lambda: stopped.log().count("cutover: ready") > starts, "it serves again by itself", 60)
    eventually(lambda: stopped.admin("GET", "/readyz")[0] == 200, "it is ready", 30)
    eventually(lambda: other.status()["store"]["members"] == 2, "it is a member again", 30)
    assert stopped.get("/notes/none", user="u").status == 404
    for recorder in recorders:
        recorder.mode(delay=0.0)
    load.go_on(100, 60)
    load.finish()
    prove(cluster, load, *recorders, excused=absent_on_both)
    # The fence is for the one that was stopped.
    assert other.metrics()("cutover_store_fenced_total") == 0


def test_a_gateway_that_was_stopped_for_less_than_its_lease_goes_on(make_cluster, recorders):
    cluster = make_cluster(*recorders, percent=50, config={"routes": RECORD_ROUTES})
    load = Load(cluster, seed(), patience=4.0, wander=0.05)
    load.go_on(100, 60)
    for _ in range(3):
        os.kill(cluster[0].process.pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(cluster[0].process.pid, signal.SIGCONT)
        load.go_on(50, 60)
    load.finish()
    prove(cluster, load, *recorders, excused=absent_on_both)
    for gateway in cluster:
        assert gateway.metrics()("cutover_store_fenced_total") == 0
        assert "fenced" not in gateway.log()
