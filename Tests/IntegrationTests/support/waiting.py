"""Waiting for something to become true, without guessing how long it takes."""

import time


def eventually(check, what="the condition", seconds=20.0):
    """Returns the first true value of `check()`; fails with `what` when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}; last value {value!r}"
        time.sleep(0.02)


def quiet(figure, seconds=0.5):
    """Waits until a figure has not moved for a while, and returns it."""
    last, since = figure(), time.monotonic()
    while time.monotonic() - since < seconds:
        if (now := figure()) != last:
            last, since = now, time.monotonic()
        time.sleep(0.02)
    return last


def stays(check, what, seconds=0.5):
    """Fails as soon as `check()` is false within the time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert check(), what
        time.sleep(0.02)
