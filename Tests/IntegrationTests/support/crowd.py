"""Clients of a migration: users of every bucket, who read what they have written, and remember all that went wrong."""

import itertools
import json
import threading
import time

from .gateway import cutover
from .wire import WireError


def users_by_stage(salt, limits=(1, 10, 50, 100), each=6):
    """`each` users for every step of the percent: those that it adds."""
    found = {limit: [] for limit in limits}
    names = [f"user-{number}" for number in range(3000)]
    for line in cutover("bucket", *names, "--salt", salt, "--json").stdout.splitlines():
        bucket = json.loads(line)
        limit = next(limit for limit in limits if bucket["percent_needed"] <= limit)
        if len(found[limit]) < each:
            found[limit].append(bucket["user"])
    assert all(len(users) == each for users in found.values())
    return found


class Crowd:
    """Threads that write and read as the given users until `finish`, each at its own pace.

    `errors` holds every answer that a client must not see: 5xx, a broken connection, an older text than was
    acknowledged.
    """

    def __init__(self, gateway, users, threads=4, pause=0.004, writes=0.3, revisions=False):
        self.gateway, self.users, self.pause = gateway, list(users), pause
        self.share, self.revisions = writes, revisions
        self.errors, self.reads, self.writes, self.conflicts = [], 0, 0, 0
        self._numbers = itertools.count(1)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n, threads), daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self, index, threads):
        users = self.users[index::threads]
        acknowledged, connection = {}, None
        for turn in itertools.count():
            if self._stop.is_set():
                break
            user = users[turn % len(users)]
            is_write = user not in acknowledged or (turn * 7919 + index) % 100 < self.share * 100
            try:
                connection = connection or self.gateway.connect(timeout=15)
                if is_write:
                    self._write(connection, user, acknowledged)
                else:
                    self._read(connection, user, acknowledged)
            except (OSError, WireError, TypeError) as error:
                self.errors.append((user, "write" if is_write else "read", repr(error)))
                connection = None
            time.sleep(self.pause)
        if connection is not None:
            connection.close()

    def _write(self, connection, user, acknowledged):
        number = next(self._numbers)
        self.writes += 1
        if self.revisions:
            body = json.dumps({
                "userId": user, "recordId": f"r-{user}", "revision": number, "idempotencyKey": f"k{number}"})
            headers = [("Content-Type", "application/json")]
            answer = connection.request("POST", "/changes", headers, body.encode(), user=user)
            if answer.status == 409:
                self.conflicts += 1
        else:
            body = f"{user} {number}".encode()
            answer = connection.request("PUT", f"/notes/{user}", body=body, user=user)
            if answer.status == 200:
                acknowledged[user] = body
        if answer.status == 200:
            acknowledged.setdefault(user, None)
        elif answer.status >= 500:
            self.errors.append((user, "write", answer.status, answer.why))

    def _read(self, connection, user, acknowledged):
        self.reads += 1
        target = f"/records/r-{user}" if self.revisions else f"/notes/{user}"
        answer = connection.request("GET", target, user=user)
        expected = acknowledged.get(user)
        if answer.status != 200:
            self.errors.append((user, "read", answer.status, answer.why))
        elif expected is not None and answer.body != expected:
            self.errors.append((user, "read", "older than what was acknowledged", answer.body, expected, answer.why))

    def finish(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(30)
        return self
