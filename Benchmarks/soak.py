"""Mixed traffic for a long time while backends come and go, the percent moves, and the gateway is reloaded and
replaced; nothing acknowledged may be lost.

Ends with 1 when a write is missing, a read failed that should not have, or memory or descriptors kept growing.
"""

import argparse
import itertools
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

import proxies
from support.gateway import Gateway
from support.store import CHANGE_ROUTES, RecordingStore
from support.upgrade import upgrade
from support.wire import Truncated, WireError


class Traffic:
    """Threads that write documents and read them back."""

    def __init__(self, gateway, threads=6):
        self.gateway, self.acknowledged, self.failures = gateway, {}, []
        self.reads = itertools.count()
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(f"user-{index}",)) for index in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, user):
        for number in itertools.count():
            if self.stop.is_set():
                return
            path, body = f"/notes/{user}-{number % 500}", f"{user} {number}".encode() * 40
            try:
                with self.gateway.connect() as client:
                    if client.request("PUT", path, body=body, user=user).status == 200:
                        self.acknowledged[path] = body
                    self.read_back(client, path, user)
            except (OSError, WireError) as error:
                self.failures.append(f"{user}: {error!r}")

    def read_back(self, client, path, user):
        for _ in range(4):
            next(self.reads)
            seen = len(client.reader.consumed)
            try:
                answer = client.request("GET", path, user=user)
            except (OSError, Truncated):
                # A kept connection may be closed between two requests (RFC 9112 §9.3.1), and is by every drain.
                if len(client.reader.consumed) > seen:
                    raise
                return
            if answer.status == 200 and answer.body != self.acknowledged.get(path, answer.body):
                self.failures.append(f"{path} read back wrong from {answer.backend}, {answer.why}")

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(30)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    options = arguments.parse_args()
    print(f"seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cutover-soak-"))
    legacy, new = RecordingStore(), RecordingStore()
    config = {"routes": CHANGE_ROUTES, "shadow": {"percent": 100}}
    gateway = Gateway(directory, legacy.url, new.url, config=config).start()
    proxies.wait_for_port(gateway.port)
    traffic = Traffic(gateway)
    end, memory, descriptors, upgrades = time.monotonic() + options.minutes * 60, [], [], 0
    while time.monotonic() < end:
        time.sleep(min(5, max(0.1, end - time.monotonic())))
        for store in (legacy, new):
            store.forget()
            store.applied.clear()
        memory.append(gateway.resident_bytes())
        gateway.set_percent(dice.choice([0, 1, 10, 50, 100]))
        if dice.random() < 0.3:
            new.stop()
            time.sleep(dice.random() * 2)
            new.start()
        if dice.random() < 0.2:
            gateway.process.send_signal(signal.SIGHUP)
        if dice.random() < 0.2:
            upgrade(gateway)
            upgrades += 1
        descriptors.append(len(os.listdir(f"/proc/{gateway.process.pid}/fd")))
        percent = gateway.status()["rollout"]["percent"]
        print(f"{len(traffic.acknowledged)} documents, {memory[-1] >> 20} MiB, {descriptors[-1]} descriptors, "
              f"{percent} %, {upgrades} upgrades", flush=True)
    traffic.finish()
    gateway.settle(120)
    missing = [path for path, body in traffic.acknowledged.items()
               for store in (legacy, new) if store.documents.get(path) != body]
    grown = memory[-1] - memory[len(memory) // 4]
    # Connections come and go, many of them after an outage: what is open at the quietest moment tells of a leak.
    half = len(descriptors) // 2
    opened = min(descriptors[half:]) - min(descriptors[:half] or descriptors)
    gateway.stop()
    shutil.rmtree(directory, ignore_errors=True)
    for failure in traffic.failures[:20]:
        print(failure)
    print(f"{len(missing)} writes missing, {len(traffic.failures)} failures, memory grew by {grown >> 20} MiB, "
          f"descriptors by {opened}, {upgrades} upgrades")
    return 1 if missing or traffic.failures or grown > 64 << 20 or opened > 50 else 0


if __name__ == "__main__":
    sys.exit(main())
