"""kill -9 among several gateways on one PostgreSQL: what clients were told is on both backends, once, in one order."""

import os
import shutil
import time

import pytest

from support.cluster import SLACK_SECONDS, TAKEOVER_SECONDS, Chaos
from support.torture import Load, Mover, absent_on_both, prove, seed, torture_config
from support.waiting import eventually

KILLS = int(os.environ.get("CUTOVER_KILLS", "25"))
# Everything has settled so soon after the last start.
SETTLED_SECONDS = 20 + SLACK_SECONDS


def shared_config(**extra):
    """The torture's routes; addresses and workers are those of the cluster."""
    config = torture_config(**extra)
    return {key: config[key] for key in config if key not in ("listen", "workers")}


@pytest.mark.parametrize("count", [2, 3], ids=["two", "three"])
def test_kills_among_gateways_lose_double_and_reorder_nothing(make_cluster, recorders, count):
    number = seed()
    kills = max(1, KILLS * (2 if count == 2 else 3) // 5)
    print(f"seed {number}, {kills} kills among {count} gateways")
    cluster = make_cluster(*recorders, count=count, percent=50, config=shared_config())
    load, mover = Load(cluster, number, patience=15.0, wander=0.05), Mover(cluster, number)
    load.go_on(50, 60)
    chaos = Chaos(cluster, number)
    last = chaos.run(kills, 30 + 15 * kills)
    mover.finish()
    load.go_on(50, SETTLED_SECONDS)
    load.finish()
    assert len(load.acknowledged) >= 5 * kills, "the load was too light to prove anything"
    prove(cluster, load, *recorders, seconds=SETTLED_SECONDS, excused=absent_on_both)
    settled = time.monotonic() - last
    print(f"{chaos.kills} kills, {chaos.in_start} of them in the start, {mover.moves} changes of the percent, "
          f"{settled:.1f} s from the last start to rest")


def test_a_gateway_that_is_gone_for_good_is_replaced(make_cluster, recorders):
    _, new = recorders
    cluster = make_cluster(*recorders, config=shared_config())
    dead, heir = cluster
    load = Load(cluster, seed(), patience=15.0)
    load.go_on(100, 60)
    new.mode(status=503)
    load.go_on(100, 60)
    eventually(lambda: dead.status()["journal"]["pending"]["new"] > 0, "legs are outstanding at the one that will die")
    dead.kill()
    shutil.rmtree(dead.data)
    died = time.monotonic()
    new.mode(status=None)
    taken = "cutover_store_taken_over_total"
    eventually(lambda: heir.metrics()(taken) > 0, "its changes are taken over", TAKEOVER_SECONDS + SLACK_SECONDS)
    print(f"taken over {time.monotonic() - died:.1f} s after the death")
    load.go_on(100, 60)
    load.finish()
    prove([heir], load, *recorders, seconds=SETTLED_SECONDS, excused=absent_on_both)
    assert heir.status()["store"]["members"] == 1
