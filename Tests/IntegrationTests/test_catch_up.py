"""How fast outstanding legs arrive and how long the rest will take: `status` and the metrics say so."""

import math

from support.flood import flood
from support.torture import RECORD_ROUTES, Write
from support.waiting import eventually

LEGS = 3000
CONFIG = {"routes": RECORD_ROUTES, "fallback": {"breaker": {"min_requests": 10, "window": "5s", "open_for": "200ms"}}}


def figures(gateway, backend):
    """(legs per second, seconds to go) as the metrics have them."""
    metrics = gateway.metrics()
    return (metrics("cutover_journal_catchup_legs_per_second", backend=backend),
            metrics("cutover_journal_catchup_seconds", backend=backend))


def test_nothing_to_catch_up_with_is_zero_from_the_first_scrape(make_gateway, recorders):
    gateway = make_gateway(*recorders, config=CONFIG)
    for backend in ("legacy", "new"):
        assert figures(gateway, backend) == (0, 0)
        assert gateway.status()["journal"]["catch_up"][backend] == {"rate": 0, "seconds": 0}


def test_rate_and_estimate_are_shown_while_legs_arrive_and_zero_once_they_have(make_gateway, recorders):
    _, new = recorders
    gateway = make_gateway(*recorders, config=CONFIG)
    new.stop()
    writes = (Write("PUT", f"/notes/{n % 500}", b"x", f"user-{n % 25}").bytes for n in range(LEGS))
    assert flood(gateway.address, writes) == {200: LEGS}

    def is_stalled():
        # Nothing arrives: when it will have arrived is unknown, which is neither 0 nor a number.
        rate, seconds = figures(gateway, "new")
        shown = gateway.status()["journal"]["catch_up"]["new"]
        return rate == 0 and math.isnan(seconds) and shown == {"rate": 0, "seconds": None}

    eventually(is_stalled, "new is stalled with legs outstanding", 60)
    assert figures(gateway, "legacy")[1] == 0
    # 64 legs at a time and worker, each takes 0.2 s: some seconds to watch.
    new.mode(delay=0.2)
    new.start()

    def is_moving():
        rate, seconds = figures(gateway, "new")
        pending = gateway.status()["journal"]["pending"]["new"]
        return pending > 0 and rate > 0 and math.isfinite(seconds) and seconds > 0

    eventually(is_moving, "rate and estimate are shown", 20)
    shown = gateway.status()["journal"]["catch_up"]["new"]
    assert shown["rate"] > 0 and shown["seconds"] is not None and shown["seconds"] >= 0
    gateway.settle(60)
    eventually(lambda: figures(gateway, "new")[1] == 0, "nothing is left to wait for", 5)
    assert gateway.status()["journal"]["catch_up"]["new"]["seconds"] == 0
