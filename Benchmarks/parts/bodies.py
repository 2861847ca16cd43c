"""Long bodies in both directions: processor time per byte, and memory, which must not grow with the body."""

import functools
import statistics

import loads
import processes
import proxies
from rounds import alternate, side_by_side
from tables import Section, at_most, mebibytes, paragraphs, table

TARGET = 1.0
PEAK_GROWTH_MAX = 1.1
SIZES = {"1 MB": 1_000_000, "100 MB": 100_000_000}
DIRECTIONS = {"down": "download", "up": "upload"}
THREADS = 4
BUFFERED = "nginx, its defaults"


def chosen():
    """nginx twice: as streaming as it can be, which is what the gateway does, and as it comes."""
    return {
        "cutover": functools.partial(proxies.start_gateway, "bodies"),
        "nginx": functools.partial(proxies.start_nginx, "bodies"),
        BUFFERED: functools.partial(proxies.start_nginx, "bodies buffered"),
        "relay": functools.partial(proxies.start_relay, "bodies"),
    }


def measure(direction, size, total, options):
    """By proxy, for each round: nanoseconds per byte and the peak of resident memory."""
    count = max(1, total // size // THREADS)
    with side_by_side(chosen(), proxies.body_backend) as (_, running):
        def one(proxy):
            processes.forget_peak(proxy.process.pid)
            (moved, _), spent = proxy.spent(lambda: loads.transfer(proxy.port, direction, size, count, THREADS))
            return spent / moved * 1e9, processes.peak_bytes(proxy.process.pid)

        for proxy in running.values():
            loads.transfer(proxy.port, direction, 100_000, 4, THREADS)
        return alternate(running, options.rounds, one)


def run(options):
    # Enough for a second or so of work on each proxy; bodies are always whole.
    total = 50_000_000 if options.quick else 1_200_000_000
    rows, judged, peaks, buffered = [], [], {}, []
    for direction, word in DIRECTIONS.items():
        for label, size in SIZES.items():
            seen = measure(direction, size, total, options)
            typical = {name: [statistics.median(column) for column in zip(*values)] for name, values in seen.items()}
            for name, (cost, peak) in typical.items():
                rows.append((f"{word}, {label}, {name}", f"{cost * 1000:.0f} µs",
                             f"{cost / typical['nginx'][0]:.2f}", f"{cost / typical['relay'][0]:.2f}", mebibytes(peak)))
            ratio = statistics.median(own[0] / other[0] for own, other in zip(seen["cutover"], seen["nginx"]))
            judged.append(at_most(f"{word} of {label}, CPU per byte", "nginx, not buffering", TARGET, ratio))
            buffered.append(f"{word} of {label} {typical['cutover'][0] / typical[BUFFERED][0]:.2f} ×")
            peaks[direction, size] = typical["cutover"][1]
        small, large = (peaks[direction, size] for size in SIZES.values())
        judged.append(at_most(f"peak memory, {word} of 100 MB", "of 1 MB", PEAK_GROWTH_MAX, large / small))
    text = (
        f"{THREADS} connections, one body after the other on each, by `Benchmarks/transfer.c` before"
        f" `Benchmarks/backend.c`; {options.rounds} alternating rounds, medians. nginx is compared with"
        " `proxy_buffering off` and `proxy_request_buffering off`, because the gateway streams, too; with its defaults"
        " it writes to files what a slow side does not take. An upload goes by a route of `kind: split`, which streams"
        " it to the user's side; a write that goes to both is read whole and its length is limited (`writes.body_max`)."
        " The relay copies with 64 KiB at a time and waits for each socket. Peak: the most that was resident.")
    header = ("body", "CPU per MB", "to nginx", "to the relay", "peak")
    return Section("Long bodies", paragraphs(
        text, table(header, rows), f"Against nginx with its defaults: {', '.join(buffered)}."), tuple(judged))
