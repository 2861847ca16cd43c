"""What the numbers were measured on and with."""

import os
import pathlib
import platform
import re
import time

import proxies  # noqa: F401 (it knows where `support` is)
from page import version
from support import gateway


def lines(options):
    """The machine, its system, the programs, and the method in a line each."""
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) >> 10
    return [
        f"{cpu[1] if cpu else platform.machine()}, {len(os.sched_getaffinity(0))} processors, {memory:,} MiB,"
        f" Linux {platform.release()}",
        f"{version(gateway.BINARY, 'version')}; {version('swift', '--version')}; release build, exclusivity checked in"
        " debug builds only",
        f"{version('/usr/sbin/nginx', '-v')}; {version('/usr/sbin/haproxy', '-v').split(' - ')[0]};"
        f" {version('wrk', '-v').split(' Copyright')[0]}; {version('gcc', '--version')}",
        "One worker each, alternating rounds, medians; load, backends and the proxy under measurement share the"
        " processors",
    ] + (["A smoke run: every part was run, and no number here means anything"] if options.quick else [])


def occasion(options):
    """When a part is measured, and how; taken before it begins."""
    rounds = f"{options.rounds} round{'s' if options.rounds > 1 else ''} of {options.seconds} s"
    load = os.getloadavg()[0]
    return (f"Measured on {time.strftime('%Y-%m-%d')}, {rounds} where it says nothing else; load average before it"
            f" {load:.1f}.")
