"""The wall clock is set eleven minutes forwards and backwards while legs are outstanding and writes arrive.

The order is by sequence and pauses are by the monotonic clock: nothing is lost, thrown away too early or kept waiting.
"""

import calendar
import time

import pytest

from support.clock import SteppedClock
from support.torture import Load, absent_on_both, prove, seed, torture_config
from support.waiting import eventually

ELEVEN_MINUTES = 11 * 60
# Rows may go after five minutes by the clock, so that a step forwards makes everything old at once.
CONFIG = {
    "writes": {"retry_min": "50ms", "retry_max": "500ms", "idempotency_retention": "5m"},
    "fallback": {"breaker": {"min_requests": 10, "window": "2s", "open_for": "300ms"}},
}
PLAN = {
    "name": "short", "rollback_window": "5m",
    "stages": [{"name": "dual-write", "percent": 0, "shadow": "0%"}, {"name": "half", "percent": 50, "shadow": "0%"}],
}


def wall_clock_of(gateway):
    """Seconds since 1970, as the gateway dates an event that happens now."""
    gateway.set_percent(100)
    gateway.set_percent(50)
    at = gateway.read("events?limit=1")["items"][0]["at"]
    return calendar.timegm(time.strptime(at[:19], "%Y-%m-%dT%H:%M:%S"))


def oldest(gateway):
    return gateway.status()["journal"]["oldest_pending_seconds"]["new"]


@pytest.mark.parametrize("restart", [False, True], ids=["running-on", "killed-after-each-step"])
@pytest.mark.parametrize("direction", [1, -1], ids=["forwards-first", "backwards-first"])
def test_a_stepped_clock_loses_nothing_and_keeps_nobody_waiting(make_gateway, recorders, scratch, direction, restart):
    legacy, new = recorders
    clock = SteppedClock(scratch)
    gateway = make_gateway(
        *recorders, percent=50, config=torture_config(**CONFIG), plan=PLAN, environment=clock.environment)
    load = Load(gateway, seed(), pause=0.005)
    load.go_on(100)
    new.stop()
    load.go_on(100)
    assert abs(wall_clock_of(gateway) - time.time()) < 60
    for step in (direction * ELEVEN_MINUTES, -2 * direction * ELEVEN_MINUTES, direction * ELEVEN_MINUTES):
        clock.step(step)
        assert abs(wall_clock_of(gateway) - time.time() - clock.seconds) < 60, "the clock was not stepped at all"
        if restart:
            gateway.restart()
        # Never negative, never more than the step and the time that the test runs can explain.
        assert 0 <= oldest(gateway) <= 2 * ELEVEN_MINUTES + 120
        load.go_on(100)
        assert gateway.status()["journal"]["pending"]["new"] > 0
    clock.step(-direction * ELEVEN_MINUTES)
    # Attempts are dated by the clock of their step: what is due in ten minutes is tried within `retry_max` even so.
    new.start()
    back = time.monotonic()
    load.finish()
    prove(gateway, load, *recorders, seconds=30, excused=absent_on_both)
    print(f"caught up {time.monotonic() - back:.1f} s after new was back")


def test_legs_that_are_due_in_the_far_future_go_at_once_when_the_clock_is_set_back(make_gateway, recorders, scratch):
    _, new = recorders
    clock = SteppedClock(scratch)
    gateway = make_gateway(*recorders, config=torture_config(**CONFIG), environment=clock.environment)
    new.stop()
    for index in range(20):
        assert gateway.fetch("PUT", f"/notes/{index}", body=b"x", user=f"u{index % 3}").status == 200
    dates = lambda: [i["legs"]["new"]["next_attempt_at"] for i in gateway.read("journal")["items"]]  # noqa: E731
    eventually(lambda: any(dates()), "legs were tried and have dates", 10)
    clock.step(-ELEVEN_MINUTES)
    gateway.restart()
    new.start()
    # retry_max 0.5 s, and one probe of the breaker every 0.3 s.
    gateway.settle(10)
    assert new.counts()["applied"] == 20
