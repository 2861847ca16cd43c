"""kill -9 at random moments, a hundred times, under load: nothing acknowledged is lost, doubled or out of order."""

import os
import random
import time

from support.torture import Load, Mover, absent_on_both, prove, seed, torture_config

KILLS = int(os.environ.get("CUTOVER_KILLS", "100"))


def kill_again_and_again(gateway, dice, count, between=lambda: None):
    """Kills and starts `count` times at random moments; returns how many of the kills hit a gateway as it started."""
    gateway.kill()
    in_recovery = 0
    for _ in range(count):
        # Recovery itself is cut short now and then, several times in a row as well.
        if dice.random() < 0.35:
            gateway.start(wait=False)
            time.sleep(dice.uniform(0, 0.08))
            in_recovery += 1
        else:
            gateway.start()
            time.sleep(dice.choice([dice.uniform(0, 0.05), dice.uniform(0, 0.6)]))
        gateway.kill()
        between()
    gateway.start()
    return in_recovery


def test_a_hundred_kills_under_load_lose_double_and_reorder_nothing(make_gateway, recorders):
    number = seed()
    print(f"seed {number}, {KILLS} kills")
    gateway = make_gateway(*recorders, percent=50, config=torture_config())
    load, mover = Load(gateway, number), Mover(gateway, number)
    in_recovery = kill_again_and_again(gateway, random.Random(number), KILLS)
    mover.finish()
    load.go_on()
    load.finish()
    assert len(load.acknowledged) >= 5 * KILLS, "the load was too light to prove anything"
    prove(gateway, load, *recorders)
    print(f"{KILLS} kills, {in_recovery} of them within 80 ms of the start, {mover.moves} changes of the percent")


def test_kills_while_new_comes_and_goes_lose_double_and_reorder_nothing(make_gateway, recorders):
    number = seed()
    kills = max(1, KILLS // 4)
    print(f"seed {number}, {kills} kills")
    _, new = recorders
    breaker = {"breaker": {"min_requests": 10, "window": "1s", "open_for": "200ms"}}
    gateway = make_gateway(*recorders, percent=50, config=torture_config(fallback=breaker))
    load, mover = Load(gateway, number), Mover(gateway, number)
    dice = random.Random(number)
    # In the middle of writes, half of the time for longer than the gateway lives.
    kill_again_and_again(gateway, dice, kills, lambda: dice.choice([new.stop, new.start])())
    new.start()
    mover.finish()
    load.go_on()
    load.finish()
    prove(gateway, load, *recorders, excused=absent_on_both)
