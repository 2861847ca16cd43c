"""A disk that is full or cannot be written: 503 on writes while reads go on (contract §6, point 7)."""

import subprocess

import pytest

from support.store import CHANGE_ROUTES
from support.waiting import eventually

BODY = b"x" * 60_000


class SmallDisk:
    """A file system of 8 MiB below the data directory; where mounting is forbidden, a limit on the size of files."""

    def __init__(self, gateway):
        self.gateway, self.filler = gateway, gateway.data / "filler"
        gateway.data.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(gateway.data)]
        self.is_mounted = subprocess.run(mount, capture_output=True).returncode == 0
        if not self.is_mounted:
            gateway.prefix = ["prlimit", "--fsize=2097152:unlimited", "sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"]

    def fill(self):
        if self.is_mounted:
            with open(self.filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass

    def free(self):
        if self.is_mounted:
            self.filler.unlink()
        else:
            pid = str(self.gateway.process.pid)
            subprocess.run(["prlimit", "--pid", pid, "--fsize=unlimited:unlimited"], check=True)

    def remove(self):
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", str(self.gateway.data)], check=True)


@pytest.fixture
def small(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, start=False, config={"routes": CHANGE_ROUTES})
    disk = SmallDisk(gateway)
    gateway.start()
    yield gateway, disk
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


def test_a_data_directory_that_cannot_be_made_is_an_error_that_names_it(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, start=False, config={"data": "/proc/nowhere/data"})
    gateway.start(wait=False)
    assert gateway.process.wait(20) == 1
    assert "/proc/nowhere/data" in gateway.log()
