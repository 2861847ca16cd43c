"""CPU per request of the gateway beside nginx and haproxy: same backends, same load, alternating rounds.

The figure is user + system time of all processes of a proxy ÷ requests that wrk saw answered, so that a machine that is
busy with other work disturbs it little. Rewrites docs/performance.md.
"""

import argparse
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import tempfile

import proxies
from page import version, write_page

HERE = pathlib.Path(__file__).resolve().parent
CASES = {
    "get": ("GET, split by user", "GET", 0.85),
    "shadow": ("GET, and the same read on the other side", "GET", 0.45),
    "write": ("POST to both", "POST", None),
}
EXPLANATIONS = {
    "get": "nginx: `split_clients`, upstream keep-alive; haproxy: `http-reuse always`; relay: moves bytes, parses"
    " nothing.",
    "shadow": "nginx: `split_clients` and `mirror`, which compares nothing; the gateway hashes and compares both"
    " answers; relay: moves the bytes to both.",
    "write": "nginx: `mirror` with the body, nothing durable; the gateway writes its journal with fsync before the"
    " first leg; relay: moves the bytes to both.",
}


def load(port, method, seconds, connections):
    """Runs wrk; the number of requests, requests per second, and how many were no 2xx or failed."""
    done = subprocess.run(
        ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s", "--script",
         HERE / "requests.lua", f"http://127.0.0.1:{port}/", "--", method], capture_output=True, text=True, check=True)
    total = int(re.search(r"(\d+) requests in", done.stdout)[1])
    rate = float(re.search(r"Requests/sec:\s*([\d.]+)", done.stdout)[1])
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", done.stdout)
    return total, rate, int(wrong[1]) if wrong else 0, sum(map(int, sockets.groups())) if sockets else 0


def measure(case, options, directory):
    """Rounds of one case: for each proxy its microseconds per request and its requests per second."""
    legacy, new = proxies.backend(directory / "legacy"), proxies.backend(directory / "new")
    running, rounds = {}, {}
    try:
        for name in options.only:
            proxy = proxies.STARTERS[name](case, directory / name, legacy, new)
            if proxy is not None:
                proxies.wait_for_port(proxy.port)
                running[name], rounds[name] = proxy, []
                load(proxy.port, CASES[case][1], 1, options.connections)
                proxies.settle_processor(proxy)
        for _ in range(options.rounds):
            for name, proxy in running.items():
                before = proxy.processor_seconds()
                total, rate, wrong, broken = load(proxy.port, CASES[case][1], options.seconds, options.connections)
                proxies.settle_processor(proxy)
                spent = proxy.processor_seconds() - before
                rounds[name].append((spent / max(total, 1) * 1e6, rate))
                if wrong or broken:
                    print(f"  {name}: {wrong} answers were no success, {broken} sockets failed")
        if case == "shadow" and "cutover" in running:
            shadow = running["cutover"].gateway.status()["shadow"]
            print(f"  cutover compared {shadow['compared']}, dropped {shadow['dropped']}")
    finally:
        for proxy in running.values():
            proxy.stop()
        legacy.stop()
        new.stop()
    return rounds


def table(case, rounds):
    lines = ["| proxy | CPU per request | relative to nginx | rounds from – to | requests/s |",
             "| --- | ---: | ---: | ---: | ---: |"]
    base = statistics.median(cost for cost, _ in rounds["nginx"]) if "nginx" in rounds else None
    for name, values in rounds.items():
        costs = [cost for cost, _ in values]
        median = statistics.median(costs)
        ratio = f"{median / base:.2f}" if base else "–"
        rate = statistics.median(rate for _, rate in values)
        lines.append(f"| {name} | {median:.1f} µs | {ratio} | {min(costs):.1f} – {max(costs):.1f} µs | {rate:,.0f} |")
    aim = CASES[case][2]
    if aim and base and "cutover" in rounds:
        ratio = statistics.median(cost for cost, _ in rounds["cutover"]) / base
        lines += ["", f"Aim: at most {aim:.2f} × nginx; measured {ratio:.2f}: {'met' if ratio <= aim else 'not met'}."]
    return "\n".join(lines)


def document(options, results):
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    parts = [
        "# Performance", "",
        "Written by `make bench`; the numbers are of the machine below. CPU per request is user + system time of all"
        " processes of a proxy ÷ requests answered: one worker each, the same two nginx backends, wrk with"
        f" {options.connections} connections, a 1 KB JSON answer, {options.rounds} alternating rounds of"
        f" {options.seconds} s, medians.", "",
        f"- {cpu[1] if cpu else platform.machine()}, Linux {platform.release()}",
        f"- {version('/usr/sbin/nginx', '-v')}; {version('/usr/sbin/haproxy', '-v').split(' - ')[0]}", ""]
    for case, rounds in results.items():
        parts += [f"## {CASES[case][0]}", "", EXPLANATIONS[case], "", table(case, rounds), ""]
    parts += ["`make bench-detail` prints system calls and user instructions per request.", ""]
    return "\n".join(parts)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=int, default=3)
    arguments.add_argument("--connections", type=int, default=64)
    arguments.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    arguments.add_argument("--only", nargs="+", choices=proxies.STARTERS, default=list(proxies.STARTERS))
    arguments.add_argument("--output", type=pathlib.Path, default=HERE.parent / "docs" / "performance.md")
    options = arguments.parse_args()

    results = {}
    for case in options.cases:
        print(f"{CASES[case][0]}", flush=True)
        directory = pathlib.Path(tempfile.mkdtemp(prefix="cutover-bench-"))
        try:
            results[case] = measure(case, options, directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        print(table(case, results[case]) + "\n", flush=True)
    options.output.parent.mkdir(exist_ok=True)
    write_page(options.output, "# Performance", document(options, results))
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
