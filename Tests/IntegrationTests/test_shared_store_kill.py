"""kill -9 among several gateways on one PostgreSQL: what clients were told is on both backends, once, in one order."""

import os
import random
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


def test_two_killed_within_a_second_hand_over_to_each_other_in_order(make_cluster, recorders):
    """Each takes over from the other: changes come into lanes in which later ones are already."""
    legacy, _ = recorders
    number = seed()
    print(f"seed {number}")
    dice = random.Random(number)
    cluster = make_cluster(*recorders, percent=100, config=shared_config())
    load = Load(cluster, number, patience=15.0, wander=0.05)
    # Legs to legacy are outstanding at every moment.
    legacy.mode(delay=0.005)
    for _ in range(max(4, KILLS // 6)):
        load.go_on(40, 60)
        for gateway in dice.sample(list(cluster), 2):
            gateway.kill()
            time.sleep(dice.choice([0, 0.3, 1]))
            gateway.start(wait=False)
            gateway.wait_until_ready(60)
            time.sleep(dice.uniform(0, 0.6))
        # Refuses before it applies: a backend that applies, does not answer, and is asked again after later writes has
        # another order whatever the gateway does (ARCHITECTURE.md 10).
        legacy.mode(status=502)
        time.sleep(1)
        legacy.mode(status=None)
    load.go_on(40, 60)
    legacy.mode(delay=0)
    load.finish()
    prove(cluster, load, *recorders, seconds=SETTLED_SECONDS, excused=absent_on_both)


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


def test_a_rolling_restart_under_load_loses_nothing_and_hands_over_at_once(make_cluster, recorders):
    _, new = recorders
    cluster = make_cluster(*recorders, percent=50, config=shared_config())
    load = Load(cluster, seed(), patience=15.0, wander=0.05)
    load.go_on(50, 60)
    # Legs are outstanding at every moment: what a gateway leaves behind is the other one's to deliver.
    new.mode(status=502)
    for leaving, staying in ((0, 1), (1, 0)):
        load.go_on(30, 60)
        taken = cluster[staying].metrics()("cutover_store_taken_over_total")
        assert cluster[leaving].status()["journal"]["pending"]["new"] > 0
        cluster[leaving].stop()
        left = time.monotonic()
        eventually(
            lambda: cluster[staying].metrics()("cutover_store_taken_over_total") > taken,  # pylint: disable=W0640
            "the other one has what was left", SLACK_SECONDS)
        print(f"taken over {time.monotonic() - left:.1f} s after the end")
        load.go_on(30, 60)
        cluster[leaving].start()
    new.mode(status=None)
    load.go_on(50, 60)
    load.finish()
    prove(cluster, load, *recorders, seconds=SETTLED_SECONDS, excused=absent_on_both)
    assert all("fenced" not in gateway.log() for gateway in cluster)
