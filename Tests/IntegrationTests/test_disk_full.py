"""A disk that is full or cannot be written: 503 on writes while reads go on (contract §6, point 7)."""

import subprocess

import pytest

from support.parallel import in_parallel
from support.small_disk import SmallDisk
from support.store import CHANGE_ROUTES
from support.waiting import eventually

BODY = b"x" * 60_000


@pytest.fixture
def small(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, start=False, config={"routes": CHANGE_ROUTES})
    disk = SmallDisk(gateway)
    try:
        yield gateway.start(), disk
    finally:
        gateway.kill()
        disk.remove()


def test_a_full_disk_refuses_writes_and_serves_reads(small, legacy_store, new_store):
    gateway, disk = small
    acknowledged = {}

    def write(index):
        answer = gateway.fetch("PUT", f"/notes/{index}", body=b"%d" % index + BODY, user=f"u{index % 7}")
        if answer.status == 200:
            acknowledged[f"/notes/{index}"] = b"%d" % index + BODY
        return answer

    assert write(0).status == 200
    gateway.settle()
    disk.fill()
    numbers = iter(range(1, 1000))
    refused = eventually(
        lambda: next((a for a in [write(next(numbers))] if a.status != 200), None), "a write is refused", 60)
    assert refused.status == 503 and int(refused["Retry-After"]) >= 1
    assert refused["Content-Type"] == "application/problem+json"
    for _ in range(5):
        assert gateway.get("/notes/0", user="u0").status == 200
    assert gateway.admin("GET", "/healthz")[0] == 200
    disk.free()
    eventually(lambda: write(next(numbers)).status == 200, "writes go on when there is room again", 60)
    gateway.settle(60)
    for store in (legacy_store, new_store):
        for path, body in acknowledged.items():
            assert store.documents[path] == body
    assert set(legacy_store.documents) == set(acknowledged), "what was refused has reached nobody"


def test_a_limit_on_the_size_of_files_is_like_a_full_disk(make_gateway, legacy_store, new_store):
    """RLIMIT_FSIZE, as `LimitFSIZE=` sets it: the signal that comes with it must not end the gateway."""
    gateway = make_gateway(legacy_store, new_store, start=False, config={"routes": CHANGE_ROUTES})
    gateway.prefix = ["prlimit", "--fsize=1048576:unlimited"]
    gateway.start()
    statuses = [gateway.fetch("PUT", f"/notes/{index}", body=BODY, user="u").status for index in range(60)]
    assert statuses[0] == 200 and statuses[-1] == 503
    assert gateway.get("/notes/0", user="u").status == 200
    subprocess.run(["prlimit", "--pid", str(gateway.process.pid), "--fsize=unlimited:unlimited"], check=True)
    gateway.prefix = []
    eventually(lambda: gateway.fetch("PUT", "/notes/1", body=BODY, user="u").status == 200, "writes go on", 60)


def test_a_data_directory_that_cannot_be_made_is_an_error_that_names_it(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, start=False, config={"data": "/proc/nowhere/data"})
    gateway.start(wait=False)
    assert gateway.process.wait(20) == 1
    assert "/proc/nowhere/data" in gateway.log()


def test_the_write_ahead_log_alone_does_not_fill_a_small_disk(small, legacy_store):
    gateway, disk = small
    # Without a mount the disk is a limit of 2 MiB a file: less of everything.
    writes = 300 if disk.is_mounted else 30

    def write(client):
        with gateway.connect() as connection:
            return [
                connection.request("PUT", f"/notes/{client}-{index}", body=b"short", user=f"u{client}").status
                for index in range(writes)]

    # The log holds each changed page once per group, many times what the database needs for the same rows.
    answers = [status for found in in_parallel(write, range(6)) for status in found]
    assert answers == [200] * 6 * writes
    assert len(legacy_store.documents) == 6 * writes
