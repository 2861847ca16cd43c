"""A real PostgreSQL of the tests' own: its data, a Unix socket and a TCP port, and every way to lose it.

A small shell looks after the server. It reads commands from its standard input, and when that ends, because the test's
process has ended in whatever way, it stops the server and removes the directory: nothing is left behind.
"""

import contextlib
import itertools
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

from .torture import own_host
from .waiting import eventually

_KEEPER = """
directory=$1; shift
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
server=
# PostgreSQL does not run as root; Debian has a user for it.
if [ "$(id -u)" = 0 ]; then
    chown postgres "$directory"
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
else
    as=
fi
cd "$directory"
end() { [ -n "$server" ] && kill -CONT "$server" 2>/dev/null; [ -n "$server" ] && kill -QUIT "$server" 2>/dev/null; }
$as "$bin/initdb" -D "$directory/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1
while read -r word; do
    case $word in
        start) $as "$bin/postgres" -D "$directory/data" "$@" >>log 2>&1 </dev/null & server=$!; echo "$server" ;;
        reap) wait "$server"; server=; echo gone ;;
    esac
done
end
[ -n "$server" ] && wait "$server"
cd /
rm -rf "$directory"
"""

_ports = itertools.count(5432)


class PostgresServer:
    """One server. Its address stays the same over restarts. `syncs` is for tests that kill it and count on its disk;
    its user must be allowed to get to `parent`."""

    def __init__(self, syncs=False, parent="/tmp", settings=()):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="cutover-postgres-", dir=parent))
        self.host, self.port = own_host(), next(_ports)
        settings = [
            *settings, f"listen_addresses={self.host}", f"port={self.port}",
            f"unix_socket_directories={self.directory}",
            "max_connections=200", f"fsync={'on' if syncs else 'off'}",
        ]
        arguments = itertools.chain.from_iterable(("-c", setting) for setting in settings)
        # A session of its own: an interrupt at the terminal must not end the keeper before it has cleaned up.
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "keeper", str(self.directory), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._numbers, self.pid = itertools.count(1), None
        self.start()

    def _tell(self, word):
        self._keeper.stdin.write(word.encode() + b"\n")
        self._keeper.stdin.flush()
        return self._keeper.stdout.readline().decode().strip()

    # Life

    def start(self, wait=True):
        """Starts it (again), and waits until it answers: after a kill it first goes through its log."""
        if self.pid is None:
            self.pid = int(self._tell("start"))
        if wait:
            eventually(lambda: self.answers() or self._again(), f"PostgreSQL answers\n{self.log()[-2000:]}", 90)
        return self

    def _again(self):
        """A start right after a kill may find the shared memory of processes that are still ending."""
        if not pathlib.Path(f"/proc/{self.pid}/exe").exists():
            self._reap()
            self.pid = int(self._tell("start"))

    def answers(self):
        return subprocess.run(self._psql("postgres", "SELECT 1", timeout=2), capture_output=True).returncode == 0

    def processes(self):
        """The postmaster and its backends."""
        found = [self.pid]
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                # The name may hold spaces, so that fields count from its closing parenthesis.
                if entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == self.pid:
                    found.append(int(entry.name))
        return found

    def _signal_all(self, number):
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def _reap(self):
        assert self._tell("reap") == "gone"
        self.pid = None

    def stop(self):
        """Ends it in order, without waiting for its clients."""
        os.kill(self.pid, signal.SIGINT)
        self._reap()

    def kill(self):
        """kill -9 of all of it."""
        self._signal_all(signal.SIGKILL)
        self._reap()

    @contextlib.contextmanager
    def frozen(self):
        """All of it is stopped (SIGSTOP) within the block: connections stand, new ones are taken by the kernel, and
        nobody answers."""
        self._signal_all(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal_all(signal.SIGCONT)

    def close(self):
        """Ends it and removes its directory."""
        self._keeper.stdin.close()
        try:
            self._keeper.wait(30)
        except subprocess.TimeoutExpired:
            self._signal_all(signal.SIGKILL)
            self._keeper.wait()
        self._keeper.stdout.close()

    def log(self):
        file = self.directory / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    # Databases

    def url(self, database, by_socket=False):
        if by_socket:
            return f"postgresql://postgres@/{database}?host={self.directory}&port={self.port}"
        return f"postgresql://postgres@{self.host}:{self.port}/{database}"

    def make_database(self):
        """A database for one test; its name."""
        name = f"test{next(self._numbers)}"
        self.query("postgres", f"CREATE DATABASE {name}")
        return name

    def _psql(self, database, text, timeout=30):
        address = f"host={self.directory} port={self.port} user=postgres dbname={database} connect_timeout={timeout}"
        return ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", text]

    def query(self, database, text):
        """Rows as lists of texts."""
        done = subprocess.run(self._psql(database, text), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (text, done.stderr)
        return [line.split("|") for line in done.stdout.splitlines()]

    def cut_connections(self, database):
        """Ends every connection of the database; how many there were."""
        text = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        return len(self.query("postgres", text))

    @contextlib.contextmanager
    def cutting_connections(self, database, every=0.2):
        """Ends every connection of the database all the time within the block. Yields a list of how many each time."""
        stopping, cut = threading.Event(), []

        def run():
            while not stopping.wait(every):
                cut.append(self.cut_connections(database))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield cut
        finally:
            stopping.set()
            thread.join(60)


def timed(call):
    """The call's result, and how many seconds it took."""
    began = time.monotonic()
    result = call()
    return result, time.monotonic() - began
