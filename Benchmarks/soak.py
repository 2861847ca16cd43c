"""Mixed traffic for a long time while backends come and go and the percent moves; nothing acknowledged may be lost.

Ends with 1 when a write is missing, a read failed that should not have, or memory kept growing.
"""

import argparse
import itertools
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time

import proxies
from support.gateway import Gateway
from support.store import CHANGE_ROUTES, RecordingStore
from support.wire import WireError


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
                    for _ in range(4):
                        next(self.reads)
                        answer = client.request("GET", path, user=user)
                        if answer.status == 200 and answer.body != self.acknowledged.get(path, answer.body):
                            self.failures.append(f"{path} read back wrong from {answer.backend}, {answer.why}")
            except (OSError, WireError) as error:
                self.failures.append(f"{user}: {error!r}")

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
    end, memory = time.monotonic() + options.minutes * 60, []
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
        percent = gateway.status()["rollout"]["percent"]
        print(f"{len(traffic.acknowledged)} documents, {memory[-1] >> 20} MiB, {percent} %", flush=True)
    traffic.finish()
    gateway.settle(120)
    missing = [path for path, body in traffic.acknowledged.items()
               for store in (legacy, new) if store.documents.get(path) != body]
    grown = memory[-1] - memory[len(memory) // 4]
    gateway.stop()
    shutil.rmtree(directory, ignore_errors=True)
    for failure in traffic.failures[:20]:
        print(failure)
    print(f"{len(missing)} writes missing, {len(traffic.failures)} failures, memory grew by {grown >> 20} MiB")
    return 1 if missing or traffic.failures or grown > 64 << 20 else 0


if __name__ == "__main__":
    sys.exit(main())
