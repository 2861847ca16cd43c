"""kill -9 at random moments, a hundred times, under load: nothing acknowledged is lost, doubled or out of order."""

import os
import random
import time

from support.torture import Load, Mover, prove, seed, torture_config

KILLS = int(os.environ.get("CUTOVER_KILLS", "100"))


def test_a_hundred_kills_under_load_lose_double_and_reorder_nothing(make_gateway, recorders):
    number = seed()
    print(f"seed {number}, {KILLS} kills")
    dice = random.Random(number)
    gateway = make_gateway(*recorders, percent=50, config=torture_config())
    load = Load(gateway, number)
    mover = Mover(gateway, number)
    gateway.kill()
    in_recovery = 0
    for _ in range(KILLS):
        # Recovery itself is cut short now and then, several times in a row as well.
        if dice.random() < 0.35:
            gateway.start(wait=False)
            time.sleep(dice.uniform(0, 0.08))
            in_recovery += 1
        else:
            gateway.start()
            time.sleep(dice.choice([dice.uniform(0, 0.05), dice.uniform(0, 0.6)]))
        gateway.kill()
    gateway.start()
    mover.finish()
    load.go_on()
    load.finish()
    assert len(load.acknowledged) >= 5 * KILLS, "the load was too light to prove anything"
    prove(gateway, load, *recorders)
    print(f"{KILLS} kills, {in_recovery} of them within 80 ms of the start, {mover.moves} changes of the percent")
