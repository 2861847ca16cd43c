"""kill -9 under write load loses no acknowledged write on either backend."""

import itertools
import threading

import pytest

from support.store import CHANGE_ROUTES
from support.waiting import eventually
from support.wire import WireError


class Writers:
    """Threads that write documents one after the other and remember those that were acknowledged."""

    def __init__(self, gateway, count=8):
        self.gateway, self.acknowledged = gateway, {}
        self._numbers = itertools.count()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(index,), daemon=True) for index in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self, index):
        while not self._stop.is_set():
            path, body = f"/notes/{next(self._numbers)}", f"text {index}".encode() * 50
            try:
                with self.gateway.connect(timeout=10) as client:
                    answer = client.request("PUT", path, body=body, user=f"user-{index}")
            except (OSError, WireError, TypeError):
                # The gateway is being killed or not there yet.
                self._stop.wait(0.01)
                continue
            if answer.status == 200:
                self.acknowledged[path] = body

    def finish(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(30)


@pytest.mark.parametrize("percent", [0, 50, 100])
def test_no_acknowledged_write_is_lost(make_gateway, legacy_store, new_store, percent):
    gateway = make_gateway(legacy_store, new_store, percent=percent, config={"routes": CHANGE_ROUTES})
    writers = Writers(gateway)
    for _ in range(3):
        enough = len(writers.acknowledged) + 60
        eventually(lambda: len(writers.acknowledged) >= enough, "writes are acknowledged", 60)
        gateway.restart()
    writers.finish()
    gateway.settle(60)
    assert len(writers.acknowledged) >= 180
    for store in (legacy_store, new_store):
        missing = {path for path, body in writers.acknowledged.items() if store.documents.get(path) != body}
        assert missing == set()


def test_legs_left_over_from_a_kill_arrive_though_nobody_writes_any_more(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    new_store.stop()
    for index in range(50):
        assert gateway.fetch("PUT", f"/notes/{index}", body=b"%d" % index, user=f"u{index % 5}").status == 200
    gateway.kill()
    new_store.start()
    gateway.start()
    gateway.settle(60)
    assert new_store.documents == legacy_store.documents and len(new_store.documents) == 50


def test_the_rollout_is_where_the_last_command_left_it(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    for percent in (1, 12.5, 50, 100, 0.01):
        gateway.set_percent(percent)
        gateway.restart()
        assert gateway.status()["rollout"]["percent"] == percent
