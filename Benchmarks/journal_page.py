"""What journal.py has measured, as the section "The journal" of docs/performance.md."""

import os
import statistics

import growth
from page import JOURNAL

# As many users as no two requests under way share: a user's next write waits for the second leg of the one before.
USERS = 1_000
BACKEND, MIRROR = "one backend, directly", "nginx `mirror`, no journal"
MEMORY, SQLITE, POSTGRESQL = "cutover, SQLite in memory", "cutover, SQLite", "cutover, PostgreSQL"


def full(name):
    """Where a round keeps the load without pauses."""
    return name


def calm(name):
    """Where a round keeps the load with pauses."""
    return name, "calm"


def typical(rounds, value):
    return statistics.median(value(one) for one in rounds)


def judged(is_met):
    return "**met**" if is_met else "**not met**"


def loads_table(rounds, key):
    lines = ["| | writes/s | median | p95 | p95, rounds from – to | leg (mean) | writes/commit |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name in (BACKEND, MIRROR, MEMORY, SQLITE, POSTGRESQL):
        loads = [one[key(name)] for one in rounds]
        p95 = [one.p95 for one in loads]
        legs, group = (statistics.median(getattr(one, field) for one in loads) for field in ("legs", "group"))
        lines.append(
            f"| {name} | {statistics.median(one.rate for one in loads):,.0f}"
            f" | {statistics.median(one.median for one in loads):.1f} ms | {statistics.median(p95):.1f} ms"
            f" | {min(p95):.1f} – {max(p95):.1f} ms | {f'{legs:.1f} ms' if legs else '–'}"
            f" | {f'{group:.1f}' if group else '–'} |")
    return lines


def disk_line(rounds):
    alone, beside = ([typical(rounds, lambda one: one[when][part]) for part in (0, 1)] for when in ("alone", "beside"))
    return (f"One fsync of that disk (4 KiB, `fdatasync`), in the same rounds: {alone[0]:.2f} ms median,"
            f" {alone[1]:.2f} ms p95 alone; {beside[0]:.2f} ms and {beside[1]:.2f} ms while the gateway with SQLite is"
            " under full load.")


def wait_aim(rounds, name, key, words):
    """How far p95 is above the backend's own, against one fsync + 1 ms."""
    def over(base):
        return typical(rounds, lambda one: one[key(name)].p95 - one[key(base)].p95)

    fsync = [typical(rounds, lambda one: one["alone"][part]) for part in (0, 1)]
    return (f"- {name}, {words}: p95 at most one fsync + 1 ms over the backend's own:"
            f" {judged(over(BACKEND) <= fsync[1] + 1)}. It is {over(BACKEND):.1f} ms over it; allowed are"
            f" {fsync[1] + 1:.1f} ms ({fsync[0] + 1:.1f} ms by the median fsync). Over nginx's `mirror`:"
            f" {over(MIRROR):+.1f} ms; over the same gateway with its journal in memory: {over(MEMORY):+.1f} ms.")


def sync_aims(rounds, counted):
    return [sqlite_sync_aim(typical(rounds, lambda one: one[full(SQLITE)].group), *counted),
            postgresql_sync_aim(typical(rounds, lambda one: one["log syncs"]))]


def sqlite_sync_aim(group, requests, commits, calls):
    each = calls / commits
    return (f"- {SQLITE}, full load: at least 10 writes per fsync: {judged(group >= 10 * each)}: {group / each:.1f}."
            f" {group:.1f} writes a commit in the rounds, by `cutover_journal_groups_total`, and {each:.2f} fsyncs a"
            f" commit ({calls:,} `fsync` and `fdatasync` for {commits:,} commits of a process from start to end,"
            f" counted by strace, checkpoints among them). Under strace, which slows it down, {requests / calls:.1f}"
            " writes per fsync.")


def postgresql_sync_aim(synced):
    return (f"- {POSTGRESQL}, full load: at least 10 writes per fsync: {judged(synced >= 10)}: {synced:.1f} per sync of"
            " the server's log (`pg_stat_wal`).")


def growth_aims(options, results):
    few, many = results["memory"].values()
    ratios = [many[part] / few[part] for part in (0, 1)]
    warm, cold = results["restart"]["warm"], results["restart"]["cold"]
    return [
        f"- memory flat with {options.rows:,} rows (at most a tenth more than with {growth.FEW:,}):"
        f" {judged(max(ratios) <= 1.1)}: {ratios[0]:.2f} × idle, {ratios[1]:.2f} × at most under load.",
        f"- restart with {options.rows:,} rows and {options.outstanding:,} outstanding in less than 5 s:"
        f" {judged(statistics.median(cold) < 5)}: {statistics.median(warm):.2f} s with the file in the page cache,"
        f" {statistics.median(cold):.2f} s without ({len(cold)} runs each, at most {max(warm + cold):.2f} s; kill -9"
        f" before each, new away, file of {results['restart']['bytes'] >> 20} MiB).",
    ]


def bounds(rounds):
    """What the waits consist of, from the rows that differ in one thing."""
    def share(key):
        return typical(rounds, lambda one: (one[key(MEMORY)].p95 - one[key(BACKEND)].p95)
                       / (one[key(SQLITE)].p95 - one[key(BACKEND)].p95)) * 100

    return [
        "What bounds it: a write waits for the commit that is under way and then for its own, so up to two fsyncs, and"
        " after each of them for the journal's thread to get a processor again, which is what makes the p95 of one"
        " fsync so much longer than its median on a busy machine. Of what p95 is over the backend's own,"
        f" {share(calm):.0f} % under calm load and {share(full):.0f} % under full load are there with the journal in"
        " memory, too: that part is the processor. PostgreSQL adds a server that shares these cores and a round trip.",
    ]


def growth_table(results):
    lines = ["| rows in the journal | resident, idle | at most under full load | writes/s |",
             "| ---: | ---: | ---: | ---: |"]
    for rows, (idle, peak, rate) in results["memory"].items():
        lines.append(f"| {rows:,} | {idle / 2**20:.1f} MiB | {peak / 2**20:.1f} MiB | {rate:,.0f} |")
    return lines


def introduction(options, results):
    return (
        f"Written by `make bench-journal`. POST of 0.9 KB by {options.connections} clients, {USERS:,} users in turn,"
        f" both backends nginx, {options.rounds} alternating rounds of {options.seconds} s, medians. wrk, backends and"
        f" gateway (one worker) share {len(os.sched_getaffinity(0))} cores. There is no switch that turns the journal"
        " off: nginx's `mirror` writes to both and keeps nothing; a data directory on tmpfs is the journal without a"
        f" disk. PostgreSQL {results['postgresql']} runs on the same disk and cores with `fsync = on`. The backend's"
        " own time is one backend under the same load with nothing in between; what the gateway measured on its"
        " authoritative legs is a column.")


def section(options, results):
    rounds = results["rounds"]
    share = typical(rounds, lambda one: one[full(SQLITE)].rate / one[full(MIRROR)].rate)
    aims = [wait_aim(rounds, name, key, words) for name in (SQLITE, POSTGRESQL)
            for key, words in ((calm, "calm load"), (full, "full load"))]
    aims += sync_aims(rounds, results["strace"]) + growth_aims(options, results)
    return "\n".join([
        JOURNAL, "", introduction(options, results), "", disk_line(rounds), "",
        f"**Calm load**: each client pauses {options.pause} ms on average before each write, so that what is measured"
        " is the way of a write and not the line for the processor.", "", *loads_table(rounds, calm), "",
        "**Full load**: each client sends the next write when it has its answer. What it waits is then the number of"
        " clients divided by writes per second, whoever makes it wait.", "", *loads_table(rounds, full), "",
        f"With the journal on the disk the gateway takes {share:.2f} × the writes that nginx's `mirror` takes without"
        " any.", "", *bounds(rounds), "", "Aims:", "", *aims, "", *growth_table(results), ""])
