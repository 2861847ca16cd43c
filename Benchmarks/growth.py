"""What a large journal costs: memory and writes per second with few rows and with many, and the time of a restart."""

import statistics
import time

import processes
import proxies
from disk import forget_pages
from support.gateway import Gateway, free_port
from support.journal_fill import fill

FEW = 1_000
ROUNDS = 2


def filled(directory, legacy, new, rows, outstanding=0):
    """A gateway's directory with a journal of so many rows; the gateway does not run."""
    proxy = proxies.start_gateway("write", directory, legacy, new)
    proxy.stop()
    fill(proxy.gateway.data / "journal.sqlite", rows, outstanding, users=20_000)


def memory(directory, options, load):
    """By number of rows: resident bytes without load, the peak under load, and writes per second; medians."""
    legacy, new = proxies.backend(directory / "legacy"), proxies.backend(directory / "new")
    seen = {FEW: [], options.rows: []}
    try:
        for rows in seen:
            filled(directory / str(rows), legacy, new, rows)
        for _ in range(min(ROUNDS, options.rounds)):
            for rows, values in seen.items():
                proxy = proxies.start_gateway("write", directory / str(rows), legacy, new)
                pid = proxy.process.pid
                proxy.settle()
                idle = processes.resident_bytes(pid)
                processes.forget_peak(pid)
                rate = load(proxy.port).rate
                values.append((idle, processes.peak_bytes(pid), rate))
                proxy.gateway.settle(60)
                proxy.stop()
                print(f"{rows:,} rows: {idle >> 20} MiB idle, {values[-1][1] >> 20} MiB at most, {rate:,.0f}/s",
                      flush=True)
    finally:
        legacy.stop()
        new.stop()
    return {rows: [statistics.median(column) for column in zip(*values)] for rows, values in seen.items()}


def restart(directory, options, _):
    """Seconds from the start of the process to `cutover: ready`, after kill -9 each time.

    By whether the file is in the page cache (`warm`) or was dropped from it (`cold`); and its size in `bytes`.
    """
    legacy, new = proxies.backend(directory / "legacy"), proxies.backend(directory / "new")
    place = directory / "gateway"
    seconds = {"warm": [], "cold": []}
    # New is away, so that every start finds as many outstanding.
    gateway = Gateway(place, legacy.url, f"http://127.0.0.1:{free_port()}", config={"workers": 1})
    try:
        filled(place, legacy, new, options.rows, options.outstanding)
        journal = gateway.data / "journal.sqlite"
        size = journal.stat().st_size
        for _ in range(options.restarts):
            for how, values in seconds.items():
                if how == "cold":
                    forget_pages(journal)
                begin = time.monotonic()
                gateway.start(wait=False)
                gateway._ready.wait(120)
                values.append(time.monotonic() - begin)
                gateway.wait_until_ready()
                gateway.kill()
                print(f"ready after {values[-1]:.2f} s ({how})", flush=True)
    finally:
        gateway.kill()
        legacy.stop()
        new.stop()
    return {"warm": seconds["warm"], "cold": seconds["cold"], "bytes": size}
