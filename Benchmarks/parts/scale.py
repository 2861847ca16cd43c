"""Cost as work grows: connections, users, pins, headers, bodies, rows of the journal."""

import argparse
import contextlib
import sqlite3
import statistics
import time
from typing import NamedTuple

import growth
import loads
import proxies
from parts.idle import descriptors_for
from rounds import alternate, backends, scratch, side_by_side
from tables import Section, judged, paragraphs, slope, table

FLAT_MAX = 0.03  # 1.07 times the cost for ten times the work: what rounds differ by
LINEAR_MAX = 1.05
POST_BYTES = 900


class Curve(NamedTuple):
    """What a request costs, in microseconds of processor time, by how much there is of something."""
    what: str
    points: list
    slope_max: float
    unit: str = "request"


def cost(proxy, seconds, rate, **more):
    """Microseconds of processor time per request at this rate, which is the same for all sizes."""
    seen, spent = proxy.spent(lambda: loads.requests(proxy.port, seconds=seconds, rate=rate, **more))
    if seen.failed:
        print(f"  {more}: {seen.failed} requests failed", flush=True)
    return spent / max(1, seen.requests) * 1e6


def points(rounds):
    return [(size, statistics.median(costs)) for size, costs in rounds.items()]


def one_gateway(sizes, options, name):
    """The cost with an option of load.c that grows, on one gateway."""
    start = {"it": lambda *where: proxies.start_gateway("get", *where)}
    with side_by_side(start) as (_, running):
        loads.requests(running["it"].port, seconds=1)
        return points(alternate({size: size for size in sizes}, options.rounds, lambda size: cost(
            running["it"], options.seconds, options.rate, sources=8, **{name: size})))


def connections(options):
    sizes = [descriptors_for(size) for size in (10, 100, 1_000, 10_000)[:options.decades]]
    return Curve("connections, all in use in turn", one_gateway(sizes, options, "connections"), LINEAR_MAX)


def headers(options):
    return Curve("header lines beyond four", one_gateway((5, 10, 20, 50, 100), options, "headers"), LINEAR_MAX)


def gateways_by_size(sizes, options, prepare, load):
    """The cost on a gateway for each size; `prepare(directory, pair, size)` makes what it finds at its start."""
    with scratch() as directory, backends(directory) as pair, contextlib.ExitStack() as stack:
        running = {}
        for size in sizes:
            place = directory / str(size)
            prepare(place, pair, size)
            running[size] = proxies.start_gateway("get", place, *pair)
            stack.callback(running[size].stop)
        return points(alternate({size: (size, proxy) for size, proxy in running.items()}, options.rounds,
                                lambda item: load(*item)))


def users(options):
    """Each user has been seen before anything is counted."""
    seen = set()

    def load(size, proxy):
        if size not in seen:
            loads.requests(proxy.port, requests=size, users=size)
            seen.add(size)
        return cost(proxy, options.seconds, options.rate, users=size)

    sizes = (100, 1_000, 10_000, 100_000, 1_000_000)[:options.decades]
    return Curve("users", gateways_by_size(sizes, options, lambda *_: None, load), FLAT_MAX)


def pins(options):
    def prepare(place, pair, size):
        proxy = proxies.start_gateway("get", place, *pair)
        proxy.stop()
        with contextlib.closing(sqlite3.connect(proxy.gateway.data / "journal.sqlite")) as database, database:
            database.executemany("INSERT INTO pin VALUES (?, ?, ?)", (
                (f"user-{number:07d}", number % 2, int(time.time() * 1000)) for number in range(size)))

    sizes = (100, 1_000, 10_000, 100_000, 1_000_000)[:options.decades]
    return Curve("pinned users", gateways_by_size(sizes, options, prepare, lambda size, proxy: cost(
        proxy, options.seconds, options.rate, users=size)), FLAT_MAX)


def journal_rows(options):
    """Few writes are measured, because each of them is a row more."""
    rate = min(options.rate, 1_000)
    written = {}

    def load(size, proxy):
        written[size] = written.get(size, 0) + int(rate * options.seconds)
        return cost(proxy, options.seconds, rate, users=1_000, body=POST_BYTES)

    sizes = (1_000, 10_000, 100_000, 1_000_000)[:options.decades]
    measured = gateways_by_size(sizes, options, lambda place, pair, size: growth.filled(place, *pair, size), load)
    return Curve("journal rows, half of those written meanwhile included",
                 [(size + written[size] // 2, value) for size, value in measured], FLAT_MAX, "write")


def bodies(direction, options):
    sizes = [10 ** exponent for exponent in range(2, 4 + options.decades)]
    start = {"it": lambda *where: proxies.start_gateway("bodies", *where)}
    with side_by_side(start, proxies.body_backend) as (_, running):
        def one(size):
            count = max(1, min(options.transfers, options.bytes // size) // 4)
            _, spent = running["it"].spent(lambda: loads.transfer(running["it"].port, direction, size, count, 4))
            return spent / (4 * count) * 1e6

        one(100)
        return points(alternate({size: size for size in sizes}, options.rounds, one))


def downloads(options):
    return Curve("bytes of a download", bodies("down", options), LINEAR_MAX, "body")


def uploads(options):
    return Curve("bytes of an upload", bodies("up", options), LINEAR_MAX, "body")


CURVES = (connections, users, pins, headers, downloads, uploads, journal_rows)


def shown(curve):
    found = slope(curve.points)
    header = [curve.what, *(f"{size:,}" for size, _ in curve.points)]
    row = [f"CPU per {curve.unit}", *(f"{value:,.1f} µs" for _, value in curve.points)]
    return paragraphs(table(header, [row]), (
        f"Slope {found:+.3f}, at most {curve.slope_max:g}: {judged(found <= curve.slope_max)}. From first to last:"
        f" {curve.points[-1][1] / curve.points[0][1]:.2f} × the cost for"
        f" {curve.points[-1][0] / curve.points[0][0]:,.0f} × the size."))


def growing(options):
    """How much is measured: a smoke run ends after the second size of each."""
    return argparse.Namespace(
        rounds=min(options.rounds, 3), seconds=min(options.seconds, 2), rate=500 if options.quick else 5_000,
        decades=2 if options.quick else 5, transfers=400 if options.quick else 20_000,
        bytes=10_000_000 if options.quick else 400_000_000)


def run(options):
    texts = [(
        "The gateway alone, one worker, medians of alternating rounds. The slope is the exponent of growth, by least"
        " squares over the logarithms of size and cost: 0 is flat, 1 is linear; ten times the size costs 10^slope times"
        f" as much. What a request costs may not depend on users, pins and rows of the journal (at most {FLAT_MAX:g},"
        f" which is noise), and nothing may be worse than linear (at most {LINEAR_MAX:g}). All sizes of a row are"
        " loaded at the same rate by a fixed schedule, for the cost of a request depends on how many come at a time.")]
    for curve in CURVES:
        texts.append(shown(curve(growing(options))))
        print(texts[-1] + "\n", flush=True)
    return Section("Cost as work grows", paragraphs(*texts))
