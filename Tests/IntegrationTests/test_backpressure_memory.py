"""Very many outstanding legs: the queue lives in the journal, memory holds a window of it, nobody else waits for it."""

import itertools
import os
import statistics
import threading
import time

from support.flood import flood
from support.torture import RECORD_ROUTES, Write
from support.waiting import eventually

MEBIBYTE = 1 << 20
# `make soak` asks for the hundred thousand of the promise.
LEGS = int(os.environ.get("CUTOVER_LEGS", "30000"))
# What a hundred thousand may cost, and no less for fewer: a window has a size of its own.
GROWTH_MAX = 40 * MEBIBYTE
USERS, RECORDS = 500, 20
CONFIG = {"routes": RECORD_ROUTES, "fallback": {"breaker": {"min_requests": 10, "window": "5s", "open_for": "500ms"}}}


def writes(count):
    """Of many users, each with records of its own that are written several times."""
    for number in range(count):
        user = number % USERS
        record = f"{user}-{number // USERS % RECORDS}"
        yield Write("PUT", f"/notes/{record}", b"small body of write %d" % number, f"user-{user}").bytes


class Others(threading.Thread):
    """Users who have nothing to do with the backlog: they read and write, and notice how long it takes."""

    numbers = itertools.count()

    def __init__(self, gateway, users):
        super().__init__(daemon=True)
        self.gateway, self.users, self.seconds, self.surprises = gateway, users, [], []
        self.stopping = threading.Event()
        self.start()

    def run(self):
        with self.gateway.connect() as client:
            while not self.stopping.wait(0.02):
                number = next(Others.numbers)
                user = self.users[number % len(self.users)]
                name = f"{user}-{number % 100}-{number}"
                began = time.monotonic()
                read = client.request("GET", f"/notes/{user}", user=user)
                written = client.request("PUT", f"/notes/{user}-{number % 100}", [("X-Write", name)], b"x", user=user)
                self.seconds.append(time.monotonic() - began)
                if (read.status, read.body, written.status) != (200, user.encode(), 200):
                    self.surprises.append((user, read, written))

    def finish(self):
        self.stopping.set()
        self.join(30)
        assert self.surprises == [], self.surprises[:3]
        assert self.seconds, "nobody else did anything"
        assert max(self.seconds) < 5, f"somebody waited {max(self.seconds):.1f} s for a read and a write"
        return (f"others waited {statistics.median(self.seconds) * 1000:.0f} ms, at most "
                f"{max(self.seconds) * 1000:.0f} ms, for a read and a write")


def test_very_many_outstanding_legs_cost_a_window_of_memory_and_nobody_else_anything(make_gateway, recorders):
    legacy, new = recorders
    gateway = make_gateway(*recorders, config=CONFIG)
    others = [f"other-{number}" for number in range(20)]
    for user in others:
        assert gateway.fetch("PUT", f"/notes/{user}", [("X-Write", user)], user.encode(), user).status == 200
    # Warm: buffers, pools and SQLite's cache are what they are with and without a backlog.
    assert flood(gateway.address, writes(2000)) == {200: 2000}
    gateway.settle(30)
    before = gateway.resident_bytes()
    new.stop()
    meanwhile = Others(gateway, others)
    began = time.monotonic()
    assert flood(gateway.address, writes(LEGS)) == {200: LEGS}
    took = time.monotonic() - began
    assert gateway.status()["journal"]["pending"]["new"] >= LEGS
    grown = gateway.resident_bytes() - before
    print(f"{LEGS} writes in {took:.1f} s; memory grew by {grown / MEBIBYTE:.1f} MiB; {meanwhile.finish()}")
    began = time.monotonic()
    gateway.restart()
    ready = time.monotonic() - began
    after = gateway.resident_bytes()
    print(f"ready after {ready:.2f} s with {LEGS} outstanding, {after / MEBIBYTE:.1f} MiB resident")
    assert gateway.status()["journal"]["pending"]["new"] >= LEGS
    # A user with legs in the queue, in memory or not, reads where their writes are.
    gateway.set_percent(100)
    assert gateway.get("/notes/7-3", user="user-7").why == "behind"
    began = time.monotonic()
    new.start()
    meanwhile = Others(gateway, others)
    eventually(lambda: gateway.status()["journal"]["pending"]["new"] < 100, "nearly all legs arrive", 120)
    print(f"caught up in {time.monotonic() - began:.1f} s; {meanwhile.finish()}")
    gateway.settle(30)
    ledgers = [side.ledger() for side in recorders]
    assert ledgers[0]["order"] == ledgers[1]["order"], "the order of some record differs"
    assert ledgers[0]["documents"] == ledgers[1]["documents"]
    assert gateway.status()["journal"]["parked"] == 0
    assert ready < 5
    assert grown < GROWTH_MAX, f"{LEGS} outstanding legs cost {grown / MEBIBYTE:.1f} MiB"
