"""A PostgreSQL server of the benchmark's own, on the disk that is measured, with fsync on."""

import os
import pathlib
import shutil
import signal
import subprocess

import proxies  # noqa: F401  (makes the tests' support importable)
from support.waiting import eventually

BIN = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))


class PostgreSQL:
    """Listens on a Unix socket in its directory. Does not run as root: Debian has a user for it."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir()
        # The server's user has to get there, and temporary directories are their owner's alone.
        for above in [self.directory, self.directory.parent]:
            above.chmod(0o755)
        self.user = []
        if os.getuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.process = None

    @property
    def url(self):
        return f"postgresql://postgres@/postgres?host={self.directory}"

    def start(self):
        data, log = self.directory / "data", self.directory / "log"
        subprocess.run([*self.user, BIN / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                        "--locale=C", "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=self.directory)
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [*self.user, BIN / "postgres", "-D", data, "-c", "listen_addresses=", "-c", "max_wal_size=4GB",
                 "-c", f"unix_socket_directories={self.directory}"],
                stdout=output, stderr=output, cwd=self.directory)
        eventually(lambda: self._run("SELECT 1").returncode == 0, "PostgreSQL answers", 60)
        return self

    def _run(self, query):
        return subprocess.run(["psql", "-h", self.directory, "-U", "postgres", "-Atc", query],
                              capture_output=True, text=True)

    def log_syncs(self):
        """How often the server has synced its write-ahead log; it adds up its figures once a second."""
        return int(self._run("SELECT wal_sync FROM pg_stat_wal").stdout)

    def version(self):
        return self._run("SHOW server_version").stdout.split()[0]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
