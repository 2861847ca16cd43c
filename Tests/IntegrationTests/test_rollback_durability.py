"""Commands and figures while the disk is full: the way back never waits for a disk (contract §6 point 7, §9)."""

import pytest

from support.small_disk import SmallDisk
from support.store import CHANGE_ROUTES
from support.waiting import eventually


@pytest.fixture
def full(make_gateway, legacy_store, new_store):
    """A gateway at 50 percent whose disk is full to the last byte, and the disk."""
    gateway = make_gateway(legacy_store, new_store, start=False, config={"routes": CHANGE_ROUTES})
    disk = SmallDisk(gateway)
    try:
        gateway.start()
        gateway.set_percent(50)
        disk.fill()
        for size in (60_000, 100):
            eventually(lambda: write(gateway, size) == 503, f"a write of {size} bytes is refused", 20)
        yield gateway, disk
    finally:
        gateway.kill()
        disk.remove()


def write(gateway, size=60_000):
    return gateway.fetch("PUT", "/notes/1", body=b"x" * size, user="u").status


def actions(gateway):
    return [event["action"] for event in gateway.read("events")["items"]]


def test_a_rollback_on_a_full_disk_is_in_force_at_once_and_durable_when_there_is_room(full):
    gateway, disk = full
    gateway.change("POST", "rollout/rollback", {})
    assert gateway.status()["rollout"]["percent"] == 0
    assert gateway.status()["rollout"]["state"] == "rolled_back"
    disk.free()
    # An event is kept together with the state that it tells of.
    eventually(lambda: "rollback" in actions(gateway), "the rollback is durable", 8)
    gateway.restart()
    assert (gateway.status()["rollout"]["percent"], gateway.status()["rollout"]["state"]) == (0, "rolled_back")


def test_commands_work_again_after_a_rollback_on_a_full_disk(full):
    gateway, disk = full
    gateway.change("POST", "rollout/rollback", {})
    disk.free()

    def set_percent():
        return gateway.admin("POST", "/api/v1/rollout/percent", {"percent": 25}, token=gateway.token())[0] == 200

    eventually(set_percent, "the next command is accepted", 8)
    gateway.restart()
    assert gateway.status()["rollout"]["percent"] == 25
    gateway.change("POST", "rollout/rollback", {})
    gateway.restart()
    assert gateway.status()["rollout"]["percent"] == 0


def test_the_metric_says_that_the_journal_cannot_be_written(full):
    gateway, disk = full

    def writable():
        return gateway.metrics()("cutover_journal_writable")

    for _ in range(3):
        # A small group of its own that found room in between would say 1 until the next write.
        eventually(lambda: write(gateway) == 503 and writable() == 0, "the metric says that it cannot", 10)
    disk.free()
    eventually(lambda: write(gateway, 1) == 200, "writes go on when there is room again", 10)
    eventually(lambda: writable() == 1, "the metric says so", 5)
