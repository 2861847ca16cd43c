"""System calls per request (strace -c) and user instructions per request (callgrind) of the gateway, one worker."""

import argparse
import os
import re
import signal
import subprocess
import time

import loads
import processes
import proxies
from rounds import backends, scratch, side_by_side, starters
from support import gateway as gateway_module
from support.wire import Connection, request_bytes

CASES = {"get": ("GET", None), "shadow": ("GET", None), "write": ("POST", b'{"text":"' + b"x" * 900 + b'"}')}


def drive(proxy, case, count, pause=0):
    """Sends requests one after the other on one connection, with so many seconds between them."""
    method, body = CASES[case]
    with Connection(("127.0.0.1", proxy.port), timeout=120) as client:
        for index in range(count):
            client.send(request_bytes(method, f"/records/{index % 64}", body=body, user=f"user-{index % 64}"))
            assert client.response(method).status == 200
            time.sleep(pause)


def system_calls(proxy, directory, work):
    """Calls by name per request while `work()` runs, which returns the number of requests."""
    report = directory / f"strace-{proxy.port}"
    processes_of_it = [word for pid in processes.family(proxy.process.pid) for word in ("-p", str(pid))]
    tracer = subprocess.Popen(["strace", "-c", "-f", *processes_of_it, "-o", report], stderr=subprocess.DEVNULL)
    time.sleep(1)
    count = work()
    proxy.settle()
    tracer.send_signal(signal.SIGINT)
    tracer.wait(20)
    calls = {}
    for line in report.read_text().splitlines():
        if match := re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line):
            calls[match[2]] = int(match[1]) / count
    calls.pop("total", None)
    return calls


def traced(case, count, names):
    """By proxy its calls per request: (one client, one request after the other; many clients at a time)."""
    seen = {}
    with scratch() as directory, side_by_side(starters(case, names)) as (_, running):
        for name, proxy in running.items():
            def alone():
                drive(proxy, case, count)
                return count

            def crowded():
                body = len(CASES[case][1] or b"")
                return loads.requests(proxy.port, connections=64, requests=5 * count, body=body).requests

            drive(proxy, case, min(500, count))
            seen[name] = system_calls(proxy, directory, alone), system_calls(proxy, directory, crowded)
    return seen


def stripped(directory):
    """A copy of the gateway that valgrind can read; with Swift's debug information it cannot."""
    path = directory / "cutover-stripped"
    if not path.exists():
        subprocess.run(["strip", "--strip-debug", "-o", path, gateway_module.BINARY], check=True)
    return path


def collected(case, directory, pair, requests, toggles=(), pause=0):
    """What callgrind has counted of a gateway's life with so many requests."""
    binary, log = stripped(directory), directory / f"{case}-{requests}.log"
    kept, gateway_module.BINARY = gateway_module.BINARY, str(binary)
    try:
        proxy = proxies.start_gateway(case, directory / f"{case}-{requests}", *pair, prefix=[
            "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={log}", *toggles])
        drive(proxy, case, requests, pause)
        proxy.settle()
        proxy.gateway.stop(seconds=120)
    finally:
        gateway_module.BINARY = kept
    return int(re.search(r"Collected : (\d+)", log.read_text())[1])


def instructions(case, directory, pair, count, toggles=(), pause=0):
    """Per request, by the difference of two runs, so that start and end do not count."""
    few, many = (collected(case, directory, pair, requests, toggles, pause) for requests in (count, 3 * count))
    return (many - few) / (2 * count)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--requests", type=int, default=2000)
    arguments.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    options = arguments.parse_args()
    with scratch() as directory, backends(directory) as pair:
        for case in options.cases:
            for calls in traced(case, options.requests, ["cutover"])["cutover"]:
                print(f"{case}: {sum(calls.values()):.2f} system calls per request")
                for name, number in sorted(calls.items(), key=lambda item: -item[1]):
                    if number >= 0.01:
                        print(f"  {name:16} {number:6.2f}")
            cost = instructions(case, directory, pair, options.requests)
            print(f"{case}: {cost:,.0f} user instructions per request\n", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C")
    main()
