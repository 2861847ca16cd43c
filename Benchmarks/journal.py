"""The price of the journal: writes per second and what clients wait, with and without it, against one fsync.

Alternating rounds, so that a machine that is busy with other work disturbs all alike; medians of the rounds. Also how
many writes share a sync, memory with few and with a million rows, and how long a restart takes. Rewrites the section
"The journal" of docs/performance.md.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from typing import NamedTuple

import growth
import journal_page
import proxies
from disk import Disk
from journal_page import BACKEND, MEMORY, MIRROR, POSTGRESQL, SQLITE, USERS
from page import JOURNAL, write_page
from support.postgres import PostgresServer

HERE = pathlib.Path(__file__).resolve().parent


class Load(NamedTuple):
    """What wrk saw in one round; times in milliseconds."""
    requests: int
    rate: float
    median: float
    p95: float
    legs: float  # mean time of the authoritative leg, by the gateway's own histogram; 0 where there is none
    group: float  # writes per group of the journal; 0 where there is none


def load(port, options, gateway=None, pause=0):
    """One round of POSTs; a client pauses so many milliseconds before each, on average."""
    before = gateway.metrics() if gateway else None
    done = subprocess.run(
        ["wrk", "--threads", "1", "--connections", str(options.connections), "--duration", f"{options.seconds}s",
         "--script", HERE / "requests.lua", f"http://127.0.0.1:{port}/", "--", "POST", str(USERS),
         str(pause)],
        capture_output=True, text=True, check=True).stdout
    if wrong := re.search(r"Non-2xx.*|Socket errors.*", done):
        print(f"  port {port}: {wrong[0]}", flush=True)
    median, p95 = map(int, re.search(r"Waited: (\d+) us median, (\d+) us p95", done).groups())
    legs = group = 0.0
    if gateway:
        gateway.settle(60)
        after = gateway.metrics()

        def grown(name, **labels):
            return after(name, **labels) - before(name, **labels)

        legs = (grown("cutover_write_duration_seconds_sum", leg="authoritative")
                / max(1, grown("cutover_write_duration_seconds_count", leg="authoritative")) * 1000)
        if "cutover_journal_groups_total" in after.names():
            group = grown("cutover_journal_group_writes_total") / max(1, grown("cutover_journal_groups_total"))
    return Load(int(re.search(r"(\d+) requests in", done)[1]), float(re.search(r"Requests/sec:\s*([\d.]+)", done)[1]),
                median / 1000, p95 / 1000, legs, group)


class Bench:
    """The subjects, running side by side, one of them under load at a time."""

    def __init__(self, directory, stack, options):
        self.options, self.directory = options, directory
        self.legacy, self.new = (proxies.backend(directory / name) for name in ("legacy", "new"))
        for server in (self.legacy, self.new):
            stack.callback(server.stop)
        memory = pathlib.Path(tempfile.mkdtemp(prefix="cutover-bench-", dir="/dev/shm"))
        stack.callback(shutil.rmtree, memory, ignore_errors=True)
        # Its user has to get there, and temporary directories are their owner's alone.
        directory.chmod(0o755)
        self.database = PostgresServer(syncs=True, parent=directory, settings=["max_wal_size=4GB"])
        stack.callback(self.database.close)
        self.disk = Disk(directory)
        stack.callback(self.disk.close)
        mirror = proxies.start_nginx("write", directory / "mirror", self.legacy, self.new)
        stack.callback(mirror.stop)
        self.gateways = {
            MEMORY: self.gateway(stack, "memory", data=str(memory / "data")),
            SQLITE: self.gateway(stack, "sqlite"),
            POSTGRESQL: self.gateway(stack, "shared", store=self.database.url("postgres", by_socket=True)),
        }
        self.ports = {BACKEND: self.legacy.port, MIRROR: mirror.port}
        self.ports.update((name, gateway.port) for name, gateway in self.gateways.items())

    def log_syncs(self):
        """How often the database has synced its write-ahead log; it adds up its figures once a second."""
        return int(self.database.query("postgres", "SELECT wal_sync FROM pg_stat_wal")[0][0])

    def gateway(self, stack, name, prefix=(), **settings):
        proxy = proxies.start_gateway(
            "write", self.directory / name, self.legacy, self.new, settings=settings, prefix=prefix)
        if stack:
            stack.callback(proxy.stop)
        return proxy.gateway

    def round(self):
        """Two loads on every subject, and the disk alone and beside a load; by name."""
        result = {"alone": self.disk.syncs(1)}
        for name, port in self.ports.items():
            syncs = self.log_syncs() if name == POSTGRESQL else 0
            result[name] = load(port, self.options, self.gateways.get(name))
            if name == POSTGRESQL:
                time.sleep(1.5)  # the server adds its figures up once a second
                result["log syncs"] = result[name].requests / max(1, self.log_syncs() - syncs)
            result[name, "calm"] = load(port, self.options, self.gateways.get(name), self.options.pause)
        gateway = self.gateways[SQLITE]
        result["beside"], _ = self.disk.syncs_during(
            lambda: load(gateway.port, self.options, gateway), self.options.seconds)
        return result

    def writes_per_sync(self, number):
        """Writes, commits and fsyncs of a gateway of its own; strace counts the fsyncs, from its start to its end."""
        report = self.directory / f"syncs-{number}"
        gateway = self.gateway(None, f"counted-{number}", prefix=[
            "strace", "-D", "-f", "--seccomp-bpf", "-c", "-U", "calls,name", "-e", "trace=fsync,fdatasync",
            "-o", report])
        seen = load(gateway.port, self.options, gateway)
        commits = int(gateway.metrics()("cutover_journal_groups_total"))
        gateway.stop()
        deadline = time.monotonic() + 10
        while not (report.exists() and "total" in report.read_text()) and time.monotonic() < deadline:
            time.sleep(0.1)
        calls = sum(int(number) for number in re.findall(r"^\s*(\d+) f\w*sync$", report.read_text(), re.M))
        return seen.requests, commits, calls


def measure(options):
    """All figures by name."""
    results = {}
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(tempfile.mkdtemp(prefix="cutover-bench-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        bench = Bench(directory, stack, options)
        results["postgresql"] = bench.database.query("postgres", "SHOW server_version")[0][0].split()[0]
        for port in bench.ports.values():
            load(port, options)
        results["rounds"] = []
        for number in range(options.rounds):
            results["rounds"].append(bench.round())
            print(f"round {number + 1}: " + "; ".join(
                f"{name} {value.rate:,.0f}/s p95 {value.p95:.1f} ms"
                for name, value in results["rounds"][-1].items() if isinstance(value, Load)), flush=True)
        counted = [bench.writes_per_sync(number) for number in range(options.rounds)]
        results["strace"] = [sum(column) for column in zip(*counted)]
    longer = argparse.Namespace(**{**vars(options), "seconds": 10})
    for part in (growth.memory, growth.restart):
        with tempfile.TemporaryDirectory(prefix="cutover-bench-") as directory:
            results[part.__name__] = part(pathlib.Path(directory), options, lambda port: load(port, longer))
    return results


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=int, default=4)
    arguments.add_argument("--connections", type=int, default=64)
    arguments.add_argument("--pause", type=int, default=80)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--outstanding", type=int, default=100_000)
    arguments.add_argument("--restarts", type=int, default=5)
    arguments.add_argument("--output", type=pathlib.Path, default=HERE.parent / "docs" / "performance.md")
    options = arguments.parse_args()
    text = journal_page.section(options, measure(options))
    print(text)
    write_page(options.output, JOURNAL, text)
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
