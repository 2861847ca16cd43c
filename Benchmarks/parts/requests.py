"""Processor time per request beside nginx and haproxy: the same backends, the same load, alternating rounds."""

import statistics

import loads
from rounds import alternate, side_by_side, starters
from tables import Section, at_most, paragraphs, table

CASES = {
    "get": ("GET, split by user, metrics on", "GET", {"nginx": 0.75, "haproxy": 0.65}),
    "shadow": ("GET, and the same read on the other side", "GET", {"nginx": 0.40}),
    "write": ("POST to both, journal durable", "POST", {"nginx": 0.50}),
}
AGAINST = {
    "get": {"nginx": "nginx, `split_clients`, upstream keep-alive", "haproxy": "haproxy, `http-reuse always`"},
    "shadow": {"nginx": "nginx, `split_clients` and `mirror`, which compares nothing"},
    "write": {"nginx": "nginx, `mirror`, which journals nothing"},
}
EXPLANATIONS = {
    "get": "Relay: moves bytes between two sockets, parses nothing.",
    "shadow": "The gateway hashes and compares both answers, nginx throws the second one away. Relay: moves the bytes"
    " to both. haproxy has no mirror of its own.",
    "write": "The gateway writes its journal with fsync before the first leg. Relay: moves the bytes to both.",
}
INTRODUCTION = (
    "User and system time of all processes of a proxy ÷ requests answered: one worker each, the same two nginx"
    " backends, wrk with {connections} connections, a 1 KB JSON answer (POST: a 0.9 KB body), {rounds} alternating"
    " rounds of {seconds} s, medians. The physical reference has two rows: a relay in C that only moves bytes, and the"
    " bare system calls of the request (`Benchmarks/calls.c`), in whose cost no wake-up is.")
BARE = "bare system calls"


def measure(case, options):
    """Rounds of one case: for each proxy its microseconds per request and its requests per second."""
    method = CASES[case][1]
    with side_by_side(starters(case, options.only)) as (_, running):
        for proxy in running.values():
            loads.wrk(proxy.port, method, 1, options.connections)

        def one(proxy):
            seen, spent = proxy.spent(lambda: loads.wrk(proxy.port, method, options.seconds, options.connections))
            if seen.failed:
                print(f"  port {proxy.port}: {seen.failed} answers were no success or never came", flush=True)
            return spent / max(seen.requests, 1) * 1e6, seen.rate

        seen = alternate(running, options.rounds, one)
        # The bare calls run by themselves, one round after the other, because they are nobody's backend's load.
        sizes = {"request": 1130, "answer": 1180} if method == "POST" else {"request": 180, "answer": 1180}
        legs = 1 if case == "get" else 2
        seen[BARE] = [
            (loads.bare_calls(legs, min(1, options.seconds), **sizes)[1], None) for _ in range(options.rounds)]
        if case == "shadow" and "cutover" in running:
            shadow = running["cutover"].gateway.status()["shadow"]
            print(f"  cutover compared {shadow['compared']}, dropped {shadow['dropped']}")
    return seen


def rows(seen):
    typical = {name: statistics.median(cost for cost, _ in values) for name, values in seen.items()}
    for name, values in seen.items():
        costs = [cost for cost, _ in values]
        ratios = [f"{typical[name] / typical[base]:.2f}" if base in typical else "–" for base in ("nginx", "relay")]
        rate = "–" if values[0][1] is None else f"{statistics.median(rate for _, rate in values):,.0f}"
        yield name, f"{typical[name]:.1f} µs", *ratios, f"{min(costs):.1f} – {max(costs):.1f} µs", rate


def aims(case, seen):
    """Each round's ratio, and their median: what disturbs one round disturbs both sides of it."""
    for base, target in CASES[case][2].items():
        if base in seen and "cutover" in seen:
            ratio = statistics.median(own[0] / other[0] for own, other in zip(seen["cutover"], seen[base]))
            yield at_most(CASES[case][0], AGAINST[case][base], target, ratio)


def run(options):
    texts, judged = [INTRODUCTION.format(**vars(options))], []
    for case in options.cases:
        seen = measure(case, options)
        header = ("proxy", "CPU per request", "to nginx", "to the relay", "rounds from – to", "requests/s")
        texts += [f"### {CASES[case][0]}", EXPLANATIONS[case], table(header, rows(seen))]
        judged += aims(case, seen)
        print(texts[-1] + "\n", flush=True)
    return Section("Processor time per request", paragraphs(*texts), tuple(judged))
