"""The journal cannot be written, under load: writes wait or get 503 with Retry-After, reads go on, and whatever was
acknowledged before, meanwhile and afterwards is on both backends in the end (contract §6 point 7)."""

import threading
import time

import pytest

from support.database import HeldLock
from support.torture import Load, Mover, prove, seed, torture_config
from support.volume import DiskVolume, MemoryVolume
from support.waiting import eventually


@pytest.fixture
def story(make_gateway, recorders):
    """Makes a gateway that is not started yet, and its parts: `story(volume)` → (gateway, volume, start)."""
    volumes = []

    def make(volume=None):
        gateway = make_gateway(*recorders, start=False, config=torture_config())
        made = volume(gateway) if volume else None
        if made:
            volumes.append((gateway, made))
        return gateway, made

    yield make
    for gateway, volume in volumes:
        gateway.kill()
        volume.remove()


def begin(gateway, **options):
    """Load on a started gateway at 50 percent; returns once writes are acknowledged."""
    gateway.start()
    gateway.set_percent(50)
    load = Load(gateway, seed(), pause=0.01, **options)
    load.go_on(100)
    return load


def refusals_begin(load):
    before = load.statuses[503]
    eventually(lambda: load.statuses[503] >= before + 20 or load.surprises, "writes are refused with 503", 20)
    # `Client` has looked for Retry-After in each of them.
    assert load.surprises == []


def reads_go_on(gateway, load, count=20):
    for number in range(count):
        index = number % len(load.clients)
        answer = gateway.get(load.clients[index].own, user=load.clients[index].user)
        assert answer.status in (200, 404), answer
    assert gateway.admin("GET", "/healthz")[0] == 200
    assert gateway.status()["rollout"]["percent"] == 50


def end(gateway, load, recorders):
    load.go_on(100, 30, "writes go on when the journal can be written again")
    load.finish()
    prove(gateway, load, *recorders)


@pytest.mark.parametrize("kill", [False, True], ids=["running-on", "killed-while-full"])
def test_a_full_disk_loses_nothing_that_was_acknowledged(story, recorders, kill):
    gateway, disk = story(MemoryVolume)
    load = begin(gateway)
    disk.fill()
    refusals_begin(load)
    reads_go_on(gateway, load)
    if kill:
        gateway.restart()
        refusals_begin(load)
        reads_go_on(gateway, load)
    disk.free()
    end(gateway, load, recorders)


def test_a_disk_that_fails_under_the_gateway_loses_nothing_that_was_acknowledged(story, recorders):
    gateway, disk = story(DiskVolume)
    load = begin(gateway)
    disk.fail()
    refusals_begin(load)
    reads_go_on(gateway, load)
    assert gateway.metrics()("cutover_journal_writable") == 0
    gateway.kill()
    disk.repair()
    gateway.start()
    end(gateway, load, recorders)


def test_a_start_on_a_read_only_disk_says_so_and_a_start_after_that_loses_nothing(story, recorders):
    gateway, disk = story(MemoryVolume)
    load = begin(gateway)
    gateway.kill()
    disk.set_read_only(True)
    gateway.start(wait=False)
    assert gateway.process.wait(20) == 1
    assert f"{gateway.data}" in gateway.log() and "Read-only file system" in gateway.log()
    disk.set_read_only(False)
    gateway.start()
    end(gateway, load, recorders)


@pytest.mark.parametrize("how", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_journal_that_is_locked_for_longer_than_the_time_out_loses_nothing(story, recorders, how):
    gateway, _ = story()
    load = begin(gateway)
    with HeldLock(gateway, how):
        until = time.monotonic() + 5
        refusals_begin(load)
        while time.monotonic() < until:
            reads_go_on(gateway, load)
    end(gateway, load, recorders)


def user_on_new(gateway):
    return next(f"n{n}" for n in range(1000) if gateway.get("/", user=f"n{n}").why == "in-percent")


def test_a_rollback_while_the_journal_is_locked_is_in_force_at_once_and_kept(story, recorders):
    gateway, _ = story()
    load = begin(gateway)
    user = user_on_new(gateway)
    with HeldLock(gateway):
        refusals_begin(load)
        answered = []
        asked = time.monotonic()
        operator = threading.Thread(target=lambda: answered.append(gateway.change("POST", "rollout/rollback", {})))
        operator.start()
        eventually(lambda: gateway.get("/", user=user).why == "outside-percent", "the rollback is in force", 1)
        operator.join(30)
        assert answered and time.monotonic() - asked < 4, (
            f"answered after {time.monotonic() - asked:.1f} s, not within the 2 s of ARCHITECTURE.md 5 and some more")
        assert gateway.status()["rollout"]["percent"] == 0
    # An event is kept together with the state that it tells of.
    eventually(
        lambda: "rollback" in [event["action"] for event in gateway.read("events")["items"]],
        "the rollback is durable", 10)
    gateway.restart()
    assert gateway.status()["rollout"]["percent"] == 0
    end(gateway, load, recorders)
