"""Another process that holds the journal's write lock, as a backup or an operator's shell may do."""

import subprocess
import sys

_HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
connection.execute("BEGIN " + sys.argv[2])
print("locked", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
connection.close()
"""


class HeldLock:
    """The lock, from entering the block to leaving it. `how` is IMMEDIATE or EXCLUSIVE."""

    def __init__(self, gateway, how="IMMEDIATE"):
        self.path, self.how = str(gateway.data / "journal.sqlite"), how

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, self.path, self.how], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"locked\n", "the journal cannot be locked"
        return self

    def __exit__(self, *_):
        self.process.communicate(b"\n", timeout=20)
