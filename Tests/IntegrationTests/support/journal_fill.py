"""Fills the journal of a gateway that is not running, so that a test need not send what it wants to find outstanding.

Also a program: `python3 journal_fill.py DATABASE ROWS OUTSTANDING`.
"""

import sqlite3
import sys
import time

_CHANGE = """
INSERT INTO change (sequence, accepted_at, user, record, payload_hash, record_count, has_revision, outgoing_key,
    holds_key, fingerprint, method, target, side, dual_write, is_answered, answered_status, served_by, legacy_state,
    legacy_attempts, new_state, new_attempts)
VALUES (?, ?, ?, ?, '', 1, 0, ?, 0, '', 'PUT', ?, 0, 1, 1, 200, 0, 'applied', 1, ?, ?)
"""


def fill(database, rows, outstanding, users=500, records=5, name=lambda user: f"user{user}", body_bytes=0):
    """Adds answered changes after those that are there; the legs to new of `outstanding` of them, spread evenly, are
    not settled.

    Change n belongs to user `n % users` and its record `USER-r(n // users % records)`; its body begins with its number.
    :return: the first and the last sequence that were added
    """
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA synchronous = OFF")
    first = (connection.execute("SELECT max(sequence) FROM change").fetchone()[0] or 0) + 1
    at = int(time.time() * 1000) - rows
    every = rows / outstanding if outstanding else 0
    taken = 0

    def changes():
        nonlocal taken
        for n in range(rows):
            is_outstanding = outstanding and n >= taken * every and taken < outstanding
            taken += bool(is_outstanding)
            user = name(n % users)
            record = f"{user}-r{n // users % records}"
            state = ("pending", 0) if is_outstanding else ("applied", 1)
            yield (first + n, at + n, user, record, f"key-{first + n}", f"/notes/{record}", *state)

    with connection:
        connection.executemany(_CHANGE, changes())
        connection.executemany(
            "INSERT INTO change_body VALUES (?, ?, ?, ?)",
            ((first + n, b"Host: a\r\nX-User-Id: %b\r\nContent-Length: %d\r\n" % (
                name(n % users).encode(), max(8, body_bytes)), b"",
              b"%08d" % (first + n) + b"x" * max(0, body_bytes - 8)) for n in range(rows)))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return first, first + rows - 1


if __name__ == "__main__":
    print(*fill(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), users=20_000))
