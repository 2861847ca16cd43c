"""A record that new refuses, and a backend that is dead: what they cost the others (contract §6.4, §8)."""

import os
import pathlib
import time

import pytest

from support.flood import flood
from support.torture import RECORD_ROUTES, Write
from support.waiting import eventually, stays

CONFIG = {
    "routes": RECORD_ROUTES,
    "fallback": {"breaker": {"min_requests": 10, "window": "5s", "open_for": "500ms"}},
}
LEGS = 5000


def put(gateway, record, user="u", body=b"x"):
    answer = gateway.fetch("PUT", f"/notes/{record}", [("X-Write", f"{user}-{record}-{body.decode()}")], body, user)
    assert answer.status == 200, answer


def on_new(new, record):
    return len(new.ledger()["order"].get(f"/notes/{record}", []))


def parked(gateway):
    return gateway.read("journal?parked=true")["items"]


def test_a_record_that_new_refuses_for_good_is_parked_and_listed_and_holds_up_only_itself(make_gateway, recorders):
    _, new = recorders
    # Three tries more take two seconds at least: time enough to see what the others do meanwhile.
    gateway = make_gateway(*recorders, config={**CONFIG, "writes": {"retry_min": "700ms", "retry_max": "1s"}})
    new.mode(refuse={"/notes/poison": 422})
    put(gateway, "poison")
    for user in ("u", "v"):
        for number in range(20):
            put(gateway, f"{user}{number}", user)
    eventually(lambda: all(on_new(new, f"{user}{n}") for user in "uv" for n in range(20)), "the others arrive", 5)
    assert gateway.status()["journal"]["parked"] == 0, "all of them were there before the refused one was given up"
    assert gateway.get("/notes/poison", user="u").status == 200
    eventually(lambda: gateway.status()["journal"]["parked"] == 1, "it is parked", 10)
    (row,) = parked(gateway)
    assert (row["record"], row["user"], row["target"]) == ("poison", "u", "/notes/poison")
    leg = row["legs"]["new"]
    assert (leg["state"], leg["attempts"], leg["last_status"]) == ("parked", 4, 422)
    assert gateway.metrics()("cutover_journal_parked") == 1
    # Its lane goes on as well, and an operator may send it again.
    new.mode(refuse={})
    put(gateway, "poison", body=b"second")
    eventually(lambda: on_new(new, "poison") == 1, "the next write of the record arrives", 5)
    # The record was written since: sent again by itself, the old content would come over the new.
    held = gateway.change("POST", "journal/replay", {"seqs": [row["seq"]]})
    assert (held["replayed"], [leg["seq"] for leg in held["held"]]) == (0, [row["seq"]])
    gateway.change("POST", "journal/replay", {"seqs": [row["seq"]], "force": True})
    eventually(lambda: on_new(new, "poison") == 2, "the replay arrives", 5)
    gateway.settle()
    assert parked(gateway) == [] and gateway.status()["journal"]["parked"] == 0


def test_a_record_for_which_new_fails_for_ever_holds_up_only_its_own_lane(make_gateway, recorders):
    legacy, new = recorders
    gateway = make_gateway(*recorders, percent=100, config=CONFIG)
    new.mode(refuse={"/notes/poison": 503})
    put(gateway, "poison", body=b"one")
    put(gateway, "poison", body=b"two")
    assert gateway.get("/notes/poison", user="u").body == b"two"
    for user in ("u", "v"):
        for number in range(100):
            put(gateway, f"{user}{number}", user)
    eventually(lambda: all(on_new(new, f"{user}{n}") for user in "uv" for n in (0, 50, 99)), "the others arrive", 5)
    eventually(lambda: gateway.status()["journal"]["pending"] == {"legacy": 0, "new": 2}, "only its own lane waits", 5)
    # It is retried for as long as it takes and never given up; its user reads where all their writes are.
    stays(lambda: gateway.status()["journal"]["parked"] == 0, "a failure is never parked", 1)
    assert gateway.get("/notes/poison", user="u").why == "behind"
    assert gateway.get("/notes/v1", user="v").why == "in-percent"
    new.mode(refuse={})
    gateway.settle()
    ledgers = [side.ledger() for side in recorders]
    for ledger in ledgers:
        assert ledger["order"]["/notes/poison"] == ["u-poison-one", "u-poison-two"]
    assert ledgers[0]["documents"] == ledgers[1]["documents"]


def processor_seconds(gateway):
    fields = pathlib.Path(f"/proc/{gateway.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def threads(gateway):
    return len(os.listdir(f"/proc/{gateway.process.pid}/task"))


@pytest.mark.parametrize("death", ["refuses-connections", "resets-connections", "answers-503"])
def test_a_dead_backend_costs_one_probe_an_open_for_and_no_thread(make_gateway, recorders, death):
    _, new = recorders
    gateway = make_gateway(*recorders, config=CONFIG)
    put(gateway, "first")
    gateway.settle()
    idle = threads(gateway)
    if death == "refuses-connections":
        new.stop()
    elif death == "resets-connections":
        new.mode(slam=True)
        new.stop()
        new.start()
    else:
        new.mode(status=503)

    def contacts():
        counts = new.counts()
        failed = gateway.metrics()("cutover_upstream_connects_total", backend="new", result="error")
        return counts["requests"] if death == "answers-503" else counts["connects"] + failed

    writes = (Write("PUT", f"/notes/{n % 1000}", b"x", f"user-{n % 50}").bytes for n in range(LEGS))
    assert flood(gateway.address, writes) == {200: LEGS}
    assert gateway.status()["journal"]["pending"]["new"] == LEGS
    eventually(lambda: not gateway.status()["backends"]["new"]["healthy"], "the breaker is open", 10)
    time.sleep(1)
    before, used, began = contacts(), processor_seconds(gateway), time.monotonic()
    time.sleep(5)
    seconds = time.monotonic() - began
    made, burnt = contacts() - before, processor_seconds(gateway) - used
    print(f"{death}: {made} contacts and {burnt:.2f} s of processor in {seconds:.1f} s, {threads(gateway)} threads")
    # One every 0.5 s; one that meets a pooled connection that is gone may be made again on a fresh one.
    assert 2 <= made <= 2 * (seconds / 0.5 + 1)
    assert threads(gateway) <= idle
    assert burnt < 0.1 * seconds, "legs that cannot go burn the processor"
    assert gateway.status()["journal"]["pending"]["new"] == LEGS
    new.start()
    new.mode(slam=False, status=None)
    gateway.settle(30)
    assert new.counts()["applied"] == LEGS + 1
