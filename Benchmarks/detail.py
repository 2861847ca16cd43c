"""System calls per request (strace -c) and user instructions per request (callgrind) of the gateway, one worker."""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import proxies
from support import gateway as gateway_module
from support.wire import request_bytes

CASES = {"get": ("GET", None), "shadow": ("GET", None), "write": ("POST", b'{"text":"' + b"x" * 900 + b'"}')}


def drive(gateway, case, count):
    """Sends requests one after the other on one connection."""
    method, body = CASES[case]
    with gateway.connect(timeout=120) as client:
        for index in range(count):
            client.send(request_bytes(method, f"/records/{index % 64}", body=body, user=f"user-{index % 64}"))
            assert client.response(method).status == 200


def system_calls(case, directory, legacy, new, count):
    proxy = proxies.start_gateway(case, directory, legacy, new)
    drive(proxy.gateway, case, 500)
    report = directory / "strace"
    tracer = subprocess.Popen(
        ["strace", "-c", "-f", "-p", str(proxy.process.pid), "-o", report], stderr=subprocess.DEVNULL)
    time.sleep(1)
    drive(proxy.gateway, case, count)
    proxies.settle_processor(proxy)
    tracer.send_signal(signal.SIGINT)
    tracer.wait(20)
    proxy.stop()
    calls = {}
    for line in report.read_text().splitlines():
        if match := re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line):
            calls[match[2]] = int(match[1]) / count
    calls.pop("total", None)
    return calls


def instructions(case, directory, legacy, new, count):
    """The difference of two runs, so that start and end do not count."""
    # valgrind cannot read Swift's debug information.
    stripped = directory.parent / "cutover-stripped"
    if not stripped.exists():
        subprocess.run(["strip", "--strip-debug", "-o", stripped, gateway_module.BINARY], check=True)
    totals = []
    kept, gateway_module.BINARY = gateway_module.BINARY, str(stripped)
    try:
        for run, requests in enumerate((count, 3 * count)):
            path = directory.parent / f"{directory.name}-{run}"
            log = directory.parent / f"{directory.name}-{run}.log"
            proxy = proxies.start_gateway(case, path, legacy, new, prefix=[
                "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={log}"])
            drive(proxy.gateway, case, requests)
            proxies.settle_processor(proxy)
            proxy.gateway.stop(seconds=60)
            totals.append(int(re.search(r"Collected : (\d+)", log.read_text())[1]))
    finally:
        gateway_module.BINARY = kept
    return (totals[1] - totals[0]) / (2 * count)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--requests", type=int, default=2000)
    arguments.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    options = arguments.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cutover-detail-"))
    legacy, new = proxies.backend(directory / "legacy"), proxies.backend(directory / "new")
    try:
        for case in options.cases:
            calls = system_calls(case, directory / f"strace-{case}", legacy, new, options.requests)
            print(f"{case}: {sum(calls.values()):.1f} system calls per request")
            for name, number in sorted(calls.items(), key=lambda item: -item[1]):
                if number >= 0.01:
                    print(f"  {name:16} {number:6.2f}")
            cost = instructions(case, directory / f"callgrind-{case}", legacy, new, options.requests)
            print(f"{case}: {cost:,.0f} user instructions per request\n", flush=True)
    finally:
        legacy.stop()
        new.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C")
    main()
