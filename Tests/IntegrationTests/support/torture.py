"""Load that never gives up on a write, and the proof that nothing of it was lost.

Clients repeat every write with the same key until they know what became of it, whatever happens to the gateway
meanwhile. `prove` then holds what they were told against what two recorders applied.
"""

import collections
import itertools
import json
import os
import random
import threading
import time

from .waiting import eventually
from .wire import Connection, Truncated, WireError

# All writes to a record share its lane, whatever the method: the lane is the record within its user.
RECORD_ROUTES = [
    {"match": "POST /changes", "kind": "write", "record": "/recordId", "revision": "/revision",
     "idempotency_key": "/idempotencyKey"},
    *({"match": f"{method} /notes/{{record}}", "kind": "write"} for method in ("PUT", "POST", "DELETE")),
]

# How long a read waits for legacy to have what new has acknowledged, as a client measures it.
CATCH_UP_SECONDS = 4.9
REPEATED = {409, 502, 503, 504}


def seed():
    """The seed of this run: CUTOVER_SEED, or a new one. A test prints it, so that a failure can be run again."""
    return int(os.environ.get("CUTOVER_SEED") or random.SystemRandom().randrange(1 << 32))


def own_host():
    """A loopback address that only this process uses: a client that repeats its write while the gateway is dead must
    not reach somebody else's gateway on a port that has been given away."""
    number = os.getpid() & 0x3FFFFF
    return f"127.{64 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def own_address():
    return f"{own_host()}:8080"


def torture_config(**extra):
    return {"listen": own_address(), "routes": RECORD_ROUTES, "workers": 3, **extra}


def several(gateways):
    """A list of gateways, where one or many were given."""
    return [gateways] if hasattr(gateways, "process") else list(gateways)


def address_of(gateway):
    """Where it listens, also while it is dead."""
    host, port = gateway.config["listen"].split(":")
    return host, int(port)


class Write:
    """One write: the same bytes under the same key, however often it is sent."""

    numbers = itertools.count(1)

    def __init__(self, method, target, body, user):
        self.name = f"w{next(Write.numbers)}"
        self.method, self.target, self.user = method, target, user
        self.record = target
        lines = [f"{method} {target} HTTP/1.1", "Host: example.test", f"X-User-Id: {user}", f"X-Write: {self.name}"]
        if target == "/changes":
            self.record = "/records/" + body["recordId"]
            body = json.dumps({**body, "idempotencyKey": self.name}).encode()
        else:
            lines.append(f"Idempotency-Key: {self.name}")
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.body = body
        self.bytes = "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")

    def __repr__(self):
        return f"{self.name} ({self.method} {self.record} of {self.user})"


class Client(threading.Thread):
    """One client of one user: writes to records that it shares with the user's other clients and to records of its own,
    which it also reads back."""

    def __init__(self, load, index, user):
        super().__init__(daemon=True)
        self.load, self.index, self.user = load, index, user
        self.dice = random.Random(load.seed * 1000 + index)
        self.connection, self.address = None, load.addresses[index % len(load.addresses)]
        self.own, self.own_body, self.revision = f"/notes/own-{index}", None, 0
        self.start()

    def run(self):
        try:
            for number in itertools.count():
                if self.load.stopping.is_set():
                    return
                self._step(number)
                if self.load.pause:
                    time.sleep(self.load.pause)
        except Exception as error:  # pylint: disable=broad-except
            # A client that dies would prove nothing any more.
            self.load.surprises.append(f"client {self.index}: {error!r}")
        finally:
            self._disconnect()

    def _step(self, number):
        dice, user = self.dice, self.user
        if dice.random() < self.load.wander:
            self._go_elsewhere()
        shared = f"/notes/{user}-{dice.randrange(self.load.records)}"
        text = f"{user} {self.index} {number} ".encode() * dice.choice([1, 5, 50])
        kind = dice.choices(["PUT", "POST", "DELETE", "own", "change"], [4, 3, 2, 2, 1])[0]
        if kind == "DELETE":
            self._write(Write("DELETE", shared, None, user))
        elif kind == "own":
            if self._write(Write("PUT", self.own, text, user)):
                self.own_body = text
            self._read_back()
        elif kind == "change":
            self.revision += 1
            change = {"recordId": f"change-{self.index}", "revision": self.revision, "text": number}
            self._write(Write("POST", "/changes", change, user))
        else:
            self._write(Write(kind, shared, text, user))

    def _write(self, write):
        """Sends it until its fate is known; true when it was acknowledged."""
        load = self.load
        load.asked.append(write)
        while True:
            answer = self._exchange(write.bytes, write.method)
            if answer is None or answer.status in REPEATED:
                if answer is not None:
                    load.statuses[answer.status] += 1
                    if b"answer-not-kept" in answer.body:
                        load.not_kept.append(write)
                        if 200 <= answer.json()["first_status"] < 300:
                            load.acknowledged.append(write)
                            return True
                        load.refused.append(write)
                        return False
                    if answer.status in (409, 503) and not answer["Retry-After"]:
                        load.surprises.append(f"{write}: {answer.status} without Retry-After: {answer.body[:300]}")
                        return False
                if load.abandoned.is_set():
                    load.unknown.append(write)
                    return False
                time.sleep(0.01 if answer is None else 0.03)
                continue
            load.statuses[answer.status] += 1
            if 200 <= answer.status < 300:
                load.acknowledged.append(write)
                return True
            if answer.status == 404 and write.method == "DELETE":
                load.refused.append(write)
            else:
                load.surprises.append(f"{write.name} {write.method} {write.target}: {answer}")
            return False

    def _read_back(self):
        request = f"GET {self.own} HTTP/1.1\r\nHost: example.test\r\nX-User-Id: {self.user}\r\n\r\n"
        begun = time.monotonic()
        answer = self._exchange(request.encode(), "GET")
        took = time.monotonic() - begun
        if answer is None or answer.status >= 500 or self.own_body is None:
            return
        self.load.reads += 1
        if answer.body != self.own_body:
            if answer.backend == "legacy" and took >= CATCH_UP_SECONDS:
                # Legacy was waited for in vain: what it has is given, and counted (contract 5).
                self.load.stale_reads += 1
                return
            self.load.surprises.append(
                f"{self.own} read back as {answer.status} {answer.body[:40]!r} from {answer.backend}, {answer.why}, "
                f"acknowledged was {self.own_body[:40]!r}")

    def _exchange(self, request, method):
        """The answer, or nothing when the connection broke."""
        try:
            if self.connection is None:
                self.connection = Connection(self.address, timeout=self.load.patience)
            self.connection.send(request)
            answer = self.connection.response(method)
            if (answer["Connection"] or "").lower() == "close":
                self._disconnect()
            return answer
        except (OSError, WireError) as error:
            self.load.broken[type(error).__name__] += 1
            # A connection may end at any moment; what comes on it is HTTP until then.
            if isinstance(error, WireError) and not isinstance(error, Truncated):
                self.load.surprises.append(f"client {self.index}: {error} to {request[:60]!r}")
            self._go_elsewhere()
            return None

    def _go_elsewhere(self):
        """As a load balancer would: the next connection is to another gateway, where there is one."""
        self._disconnect()
        others = [address for address in self.load.addresses if address != self.address]
        if others:
            self.address = self.dice.choice(others)

    def _disconnect(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Load:
    """Clients under way. `patience` is how long a client waits for an answer before it repeats; `wander` is how often
    it goes to another gateway though nothing is wrong with the one that it has."""

    def __init__(self, gateways, seed, users=4, clients_per_user=3, records=4, patience=20.0, pause=0.0, wander=0.0):
        self.addresses = [address_of(gateway) for gateway in several(gateways)]
        self.seed, self.records, self.wander = seed, records, wander
        self.patience, self.pause = patience, pause
        self.asked, self.acknowledged, self.refused, self.unknown, self.surprises = [], [], [], [], []
        # Repeats that were told how it went, and not with the first answer itself.
        self.not_kept = []
        self.statuses, self.broken, self.reads = collections.Counter(), collections.Counter(), 0
        # Reads that legacy answered after it was waited for in vain.
        self.stale_reads = 0
        self.stopping, self.abandoned = threading.Event(), threading.Event()
        self.clients = [
            Client(self, user * clients_per_user + index, f"user-{user}")
            for user in range(users) for index in range(clients_per_user)]

    def finish(self, seconds=60.0):
        """Lets every client learn what became of its last write, then ends them."""
        self.stopping.set()
        deadline = time.monotonic() + seconds
        for client in self.clients:
            client.join(max(0.1, deadline - time.monotonic()))
        self.abandoned.set()
        for client in self.clients:
            client.join(self.patience + 5)
            assert not client.is_alive(), f"client {client.index} waits for ever"

    def go_on(self, count=50, seconds=30.0, what="writes go on"):
        """Waits until `count` more writes were acknowledged."""
        enough = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= enough or self.surprises, what, seconds)

    def __str__(self):
        return (f"seed {self.seed}: {len(self.acknowledged)} acknowledged, {len(self.refused)} refused, {self.reads} "
                f"read back ({self.stale_reads} stale after {CATCH_UP_SECONDS} s), {len(self.not_kept)} answers not "
                f"kept, statuses {dict(self.statuses)}, broken {dict(self.broken)}")


class Mover(threading.Thread):
    """An operator who moves the percent all the time, and now and then rolls back."""

    def __init__(self, gateways, seed):
        super().__init__(daemon=True)
        self.gateways, self.dice, self.moves = several(gateways), random.Random(seed), 0
        self.stopping = threading.Event()
        self.start()

    def run(self):
        while not self.stopping.wait(self.dice.uniform(0.02, 0.12)):
            name, body = "percent", {"percent": self.dice.choice([0, 10, 50, 50, 90, 100, 100])}
            if self.dice.random() < 0.1:
                name, body = "rollback", {}
            gateway = self.dice.choice(self.gateways)
            try:
                status, _, _ = gateway.admin("POST", f"/api/v1/rollout/{name}", body, gateway.token())
                self.moves += status == 200
            except (OSError, ValueError, AttributeError):
                pass  # the gateway is dead or not there yet

    def finish(self):
        self.stopping.set()
        self.join(60)
        assert self.moves > 0, "the percent never moved"


def prove(gateways, load, legacy, new, seconds=60.0, excused=lambda row: False):
    """Fails unless everything that was acknowledged is on both recorders, once, in one order, and the journal is at
    rest: nothing pending, and nothing parked but the rows that are `excused`. It names all that is wrong."""
    print(load)
    for gateway in several(gateways):
        gateway.settle(seconds)
    ledgers = {"legacy": legacy.ledger(), "new": new.ledger()}
    problems = load.surprises + [f"the fate of {write} never became known" for write in load.unknown]
    if not os.environ.get("CUTOVER_TOLERATE"):
        problems += [f"the first answer to {write} was not kept for its repeat" for write in load.not_kept]
    for side, ledger in ledgers.items():
        problems += wrongs_of(side, ledger, load)
    orders = [ledger["order"] for ledger in ledgers.values()]
    for record in sorted(set(orders[0]) | set(orders[1])):
        if orders[0].get(record) != orders[1].get(record):
            problems.append(difference_of(record, orders[0].get(record, []), orders[1].get(record, [])))
    if not problems and ledgers["legacy"]["documents"] != ledgers["new"]["documents"]:
        problems.append("the same writes in the same order have made different documents")
    listing = "\n".join(f"- {problem}" for problem in problems[:20])
    assert problems == [], f"seed {load.seed}: {len(problems)} problems\n{listing}"
    for gateway in several(gateways):
        check_at_rest(gateway, excused)
    return ledgers


def wrongs_of(side, ledger, load):
    """What is wrong on one side, in words."""
    applied = collections.Counter(itertools.chain.from_iterable(ledger["order"].values()))
    wrongs = [f"{side}: {violation}" for violation in ledger["violations"]]
    wrongs += [f"{name} was applied {count} times on {side}" for name, count in applied.items() if count > 1]
    wrongs += [
        f"{write} was acknowledged and is not on {side}" for write in load.acknowledged if write.name not in applied]
    wrongs += [
        f"{write} was refused and applied on {side} all the same: {around(write.name, ledger['order'][write.record])}"
        for write in load.refused if write.name in applied]
    strangers = set(applied) - {write.name for write in load.asked}
    return wrongs + [f"{name} on {side} was asked for by nobody" for name in sorted(strangers)]


def around(name, order):
    at = order.index(name)
    return order[max(0, at - 3):at + 4]


def difference_of(record, on_legacy, on_new):
    at = next((i for i, (a, b) in enumerate(zip(on_legacy, on_new)) if a != b), min(len(on_legacy), len(on_new)))
    part = slice(max(0, at - 2), at + 4)
    return (f"{record} differs from write {at} on: legacy {on_legacy[part]} of {len(on_legacy)}, new {on_new[part]} of "
            f"{len(on_new)}")


def absent_on_both(row):
    """An excuse for tests in which new goes away in the middle of writes: a DELETE that it may have taken and that
    legacy found absent is parked, because only an operator can tell (ARCHITECTURE.md 7)."""
    return row["method"] == "DELETE" and row["legs"]["legacy"]["state"] == "refused"


def is_healthy(gateway, side):
    if gateway.status()["backends"][side]["healthy"]:
        return True
    gateway.get("/probe")
    return False


def check_at_rest(gateway, excused):
    """Nothing pending, nothing parked without an excuse, ready, and the listing agrees with the figures."""
    # Facts about settled legs are durable a few milliseconds after the figures know them.
    eventually(lambda: "pending" not in leg_states(gateway), "the listing has no pending leg", 10)
    status = gateway.status()
    assert status["journal"]["pending"] == {"legacy": 0, "new": 0}
    parked = gateway.read("journal?parked=true&limit=1000")["items"]
    assert status["journal"]["parked"] == len(parked)
    assert [row for row in parked if not excused(row)] == []
    assert set(status["journal"]["oldest_pending_seconds"].values()) == {0}
    for side in ("legacy", "new"):
        # A breaker that opened during an outage closes with the next request that comes.
        eventually(lambda: is_healthy(gateway, side), f"{side} is healthy", 20)  # pylint: disable=W0640
    assert gateway.admin("GET", "/readyz")[0] == 200


def leg_states(gateway, pages=5):
    """States of the legs of the newest changes, and how many have each."""
    found, cursor = collections.Counter(), ""
    for _ in range(pages):
        page = gateway.read("journal?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
        for item in page["items"]:
            found.update(leg["state"] for leg in item["legs"].values())
        cursor = page["next"]
        if not cursor:
            break
    return found
