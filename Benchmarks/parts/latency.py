"""What a proxy adds to the wait of a request, at half of the highest load, by a fixed schedule (open loop)."""

import statistics

import loads
from rounds import alternate, side_by_side, starters
from tables import Aim, Section, at_most, paragraphs, table

DIRECT = "backend, directly"
TARGET = 1.0


def measure(options):
    """The rate, the highest rates that it is derived from, and by subject (p50, p99, max) of each round."""
    with side_by_side(starters("get")) as ((legacy, _), running):
        ports = {DIRECT: legacy.port, **{name: proxy.port for name, proxy in running.items()}}

        def load(port, **more):
            seen = loads.requests(port, connections=options.connections, seconds=options.seconds, **more)
            if seen.failed:
                print(f"  port {port}: {seen.failed} requests failed", flush=True)
            return seen

        highest = {name: statistics.median(one.rate for one in rates) for name, rates in alternate(
            {name: ports[name] for name in ("cutover", "nginx")}, min(options.rounds, 3), load).items()}
        rate = min(highest.values()) / 2

        def one(port):
            seen = load(port, rate=rate)
            return seen.p50, seen.p99, seen.max

        return rate, highest, alternate(ports, options.rounds, one)


def added(seen, name, column):
    """Over the backend alone in the same round; the median of the rounds."""
    return statistics.median(own[column] - base[column] for own, base in zip(seen[name], seen[DIRECT]))


def run(options):
    rate, highest, seen = measure(options)
    rows = []
    for name, values in seen.items():
        p50, p99, worst = (statistics.median(column) for column in zip(*values))
        more = ["–", "–"] if name == DIRECT else [f"{added(seen, name, column):+.0f} µs" for column in (0, 1)]
        rows.append((name, f"{p50:.0f} µs", f"{p99:.0f} µs", *more, f"{worst / 1000:.1f} ms"))
    text = (
        f"GET, split by user, {options.connections} keep-alive connections, one request in flight on each, {rate:,.0f}"
        f" requests/s: half of the smaller of the highest rates in this run (cutover {highest['cutover']:,.0f}/s, nginx"
        f" {highest['nginx']:,.0f}/s, as fast as {options.connections} connections take it). Every request has its time"
        " in a fixed schedule and its wait counts from that time, so that a stall counts for all requests that it holds"
        f" up (`Benchmarks/load.c`). {options.rounds} alternating rounds of {options.seconds} s, medians; what is added"
        " is the wait less that of the backend asked directly in the same round.")
    judged = []
    for column, name in enumerate(("p50", "p99")):
        own, other = added(seen, "cutover", column), added(seen, "nginx", column)
        work = f"added latency at half load, {name}"
        if min(own, other) > 0:
            judged.append(at_most(work, "nginx", TARGET, own / other))
        else:  # the machine was so busy that the backend alone was slower: no ratio says anything
            judged.append(Aim(work, "nginx", f"≤ {TARGET:g} ×", "lost in noise", None))
    header = ("", "p50", "p99", "added p50", "added p99", "longest")
    return Section("Latency at half load", paragraphs(text, table(header, rows)), tuple(judged))
