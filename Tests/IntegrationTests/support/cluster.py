"""Several gateways on one PostgreSQL, each with a data directory and addresses of its own."""

import itertools
import random
import time

from .gateway import Gateway, merged
from .torture import own_host
from .waiting import eventually

# How long a dead gateway is missed at most (contract of the shared store), and what a loaded machine may add.
TAKEOVER_SECONDS = 10
SLACK_SECONDS = 15

_ports = itertools.count(20_000)


class Cluster:
    """Gateways that share a store. Their addresses stay the same over restarts."""

    def __init__(self, directory, legacy, new, server, count=2, config=None, plan=None, by_socket=False):
        self.server, self.database = server, server.make_database()
        self.url = server.url(self.database, by_socket)
        self.gateways = []
        for number in range(count):
            own = directory / f"gateway-{number + 1}"
            own.mkdir()
            # Addresses that only this process uses: a client that repeats its write while the gateway is dead must not
            # reach somebody else's, and one that begins anew in place must find its ports free.
            base = {
                "listen": f"{own_host()}:{next(_ports)}", "admin": {"listen": f"{own_host()}:{next(_ports)}"},
                "store": self.url, "workers": 1,
            }
            self.gateways.append(Gateway(own, legacy, new, config=merged(base, config or {}), plan=plan))

    def __getitem__(self, index):
        return self.gateways[index]

    def __iter__(self):
        return iter(self.gateways)

    def start(self):
        """All at once, as an orchestrator does it."""
        for gateway in self.gateways:
            gateway.start(wait=False)
        for gateway in self.gateways:
            gateway.wait_until_ready(60)
        return self

    def kill(self):
        for gateway in self.gateways:
            gateway.kill()

    def settle(self, seconds=60):
        """Waits until no gateway has legs outstanding."""
        for gateway in self.gateways:
            gateway.settle(seconds)

    def set_percent(self, percent):
        """Sets it on the first gateway and waits for all."""
        self.gateways[0].set_percent(percent)
        self.everywhere(lambda gateway: gateway.read("rollout")["percent"] == percent, f"the percent is {percent}")

    def everywhere(self, check, what, seconds=30):
        for number, gateway in enumerate(self.gateways):
            eventually(lambda gateway=gateway: check(gateway), f"{what}, at gateway {number + 1}", seconds)


class Chaos:
    """kill -9 of random gateways of a cluster, each started again after 0 to 8 s, some of them killed as they start."""

    def __init__(self, cluster, seed, longest=8.0):
        self.cluster, self.dice, self.longest = cluster, random.Random(seed), longest
        self.kills = self.in_start = self.all_down = 0

    def run(self, count, seconds):
        """Kills `count` times, then waits until all serve again; the moment of the last start."""
        deadline = time.monotonic() + seconds
        starts = {}  # gateway → when to start it
        while self.kills < count or starts:
            assert time.monotonic() < deadline, f"{self.kills} of {count} kills within {seconds} s"
            now = time.monotonic()
            for gateway in [gateway for gateway, at in starts.items() if at <= now]:
                del starts[gateway]
                gateway.start(wait=False)
                if self.kills < count and self.dice.random() < 0.2:
                    time.sleep(self.dice.uniform(0, 0.3))
                    self._kill(gateway, starts)
                    self.in_start += 1
            if self.kills < count and self.dice.random() < 0.08:
                ready = [gateway for gateway in self.cluster if gateway.process is not None and gateway.is_ready]
                if ready:
                    self._kill(self.dice.choice(ready), starts)
            self.all_down += len(starts) == len(self.cluster.gateways)
            time.sleep(0.05)
        for gateway in self.cluster:
            gateway.wait_until_ready(60)
        return time.monotonic()

    def _kill(self, gateway, starts):
        gateway.kill()
        self.kills += 1
        starts[gateway] = time.monotonic() + self.dice.uniform(0, self.dice.choice([0, 1, 3, self.longest]))
