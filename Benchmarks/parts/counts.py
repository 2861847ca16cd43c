"""What can be counted and is the same on every machine: system calls, user instructions, allocations per request."""

import detail
import gate
import loads
import proxies
from rounds import backends, scratch
from tables import Section, paragraphs, table
from support import allocations


def run(options):
    count = 100 if options.quick else 500
    cases = ["get"] if options.quick else detail.CASES
    rows = []
    with scratch() as directory, backends(directory) as pair:
        for case in cases:
            bare = loads.bare_calls(1 if case == "get" else 2, 0.1)[0]
            for name, calls in detail.traced(case, count, tuple(proxies.STARTERS)).items():
                cost = heap = "–"
                if name == "cutover":
                    cost = f"{gate.instructed(case, directory, pair, 100 if options.quick else None):,.0f}"
                    heap = f"{gate.allocated(case):.2f}"
                rows.append((f"{case}, {name}", *(f"{sum(each.values()):.2f}" for each in calls), f"{bare:.2f}", cost,
                             heap))
    text = (
        "System calls by strace (which slows all down alike), with one client that sends one request after the other,"
        " and with 64 at a time; the bare calls are those of `Benchmarks/calls.c`. User instructions by callgrind, with"
        " one client, in the event loop and the journal's groups, as `make bench-gate` counts them."
        f" Allocations on the heap, fewest of {allocations.ROUNDS} times {allocations.REQUESTS:,} requests.")
    header = ("", "system calls, one client", "64 clients", "bare calls", "user instructions", "allocations")
    return Section("Counted per request", paragraphs(text, table(header, rows)))
