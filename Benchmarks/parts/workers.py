"""Two workers over one: what a request costs with each, and how the work is shared."""

import functools
import os
import statistics

import loads
import processes
import proxies
from rounds import alternate, side_by_side
from tables import Section, at_least, paragraphs, table

TARGET = 1.8
ENOUGH = 4  # processors, so that load and backends have two for themselves


def busiest(before, after):
    """Seconds of processor time of each thread, the most first."""
    return sorted((after[thread] - before.get(thread, 0) for thread in after), reverse=True)


def measure(options):
    """By number of workers, for each round: requests/s, microseconds per request, and the busier worker's share."""
    chosen = {
        count: functools.partial(proxies.start_gateway, "get", settings={"workers": count}) for count in (1, 2)}
    with side_by_side(chosen) as (_, running):
        def one(item):
            count, proxy = item
            before = processes.thread_seconds(proxy.process.pid)
            seen, spent = proxy.spent(
                lambda: loads.requests(proxy.port, connections=options.connections, seconds=options.seconds))
            threads = busiest(before, processes.thread_seconds(proxy.process.pid))[:count]
            return seen.rate, spent / seen.requests * 1e6, threads[0] / max(sum(threads), 1e-9)

        for proxy in running.values():
            loads.requests(proxy.port, seconds=1)
        return alternate({count: (count, proxy) for count, proxy in running.items()}, options.rounds, one)


def run(options):
    seen = measure(options)
    typical = {count: [statistics.median(column) for column in zip(*rounds)] for count, rounds in seen.items()}
    processors = len(os.sched_getaffinity(0))
    by_clock = typical[2][0] / typical[1][0]
    # A second of the busier worker serves so many requests, and the other one its part beside it.
    by_cost = typical[1][1] / typical[2][1] / typical[2][2]
    rows = [(count, f"{cost:.1f} µs", f"{share:.0%}", f"{rate:,.0f}")
            for count, (rate, cost, share) in typical.items()]
    text = (
        f"GET, split by user, {options.connections} connections. This machine has {processors} processors, which the"
        " load and two backends share with the gateway." + (
            " So what two workers could take, each with a processor of its own, cannot be seen on the clock here: the"
            f" second worker finds no free processor (measured: {by_clock:.2f} × requests/s). What can be seen is"
            " whether anything stands in the way: what a request costs with two workers (locks and shared cache lines"
            " would make it dearer), and whether both take their part. The busier of two workers is full first, so two"
            " of them take (cost with one ÷ cost with two) ÷ (share of the busier one) times the requests of one; that"
            " is the figure that is judged." if processors < ENOUGH else
            f" That is enough for two workers beside them: judged by requests/s ({by_cost:.2f} × by cost and share)."))
    header = ("workers", "CPU per request", "share of the busier one", "requests/s")
    ratio = by_cost if processors < ENOUGH else by_clock
    way = "by cost and share" if processors < ENOUGH else "requests/s"
    return Section("Two workers over one", paragraphs(text, table(header, rows)), (
        at_least(f"2 workers, {way}", "1 worker", TARGET, ratio),))
