"""User instructions per request against kept numbers: the hot path must not grow slow unnoticed.

Callgrind counts what the loops do, and for writes what the journal's thread does for a group; what a process does each
second is left out, so that a busy machine counts the same as an idle one. More than 3 % above the kept number fails.
`--keep` writes the measured numbers down.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import detail
import proxies
from support import gateway as gateway_module

KEPT = pathlib.Path(__file__).resolve().parent / "kept.json"
GROWTH_MAX = 0.03
REQUESTS = 400
# Where counting begins and ends: a loop's whole life, and one group of the journal.
COUNTED = {
    "get": ["EventLoop.run() -> ()"],
    "shadow": ["EventLoop.run() -> ()"],
    "write": ["EventLoop.run() -> ()", "GroupCommit.commit("],
}


def symbols(binary):
    """The mangled names of the functions that are counted, by what they are called in the sources."""
    names = subprocess.run(["nm", binary], check=True, capture_output=True, text=True).stdout
    mangled = re.findall(r" [tT] (\$s\S*(?:EventLoopC3run|GroupCommitV6commit)\S*)", names)
    plain = subprocess.run(["swift", "demangle", "--compact", *mangled], check=True, capture_output=True, text=True)
    return dict(zip(mangled, plain.stdout.splitlines()))


def counted(case, binary):
    """One function each: entering a second one inside the first would end the counting."""
    names = symbols(binary)
    chosen = []
    for function in COUNTED[case]:
        found = [name for name, plain in names.items() if function in plain]
        assert found, f"{binary} has no {function}: was it renamed?"
        # Where there is a specialised copy, that is what is called.
        chosen.append(max(found, key=lambda name: "specialization" in names[name]))
    return chosen


def instructions(case, directory, legacy, new, binary):
    """The difference of two runs, so that start and end do not count."""
    toggles = [f"--toggle-collect={name}" for name in counted(case, binary)]
    totals = []
    for requests in (REQUESTS, 3 * REQUESTS):
        path = directory / f"{case}-{requests}"
        log = directory / f"{case}-{requests}.log"
        proxy = proxies.start_gateway(case, path, legacy, new, prefix=[
            "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={log}", *toggles])
        detail.drive(proxy.gateway, case, requests)
        proxies.settle_processor(proxy)
        proxy.gateway.stop(seconds=120)
        totals.append(int(re.search(r"Collected : (\d+)", log.read_text())[1]))
    return (totals[1] - totals[0]) / (2 * REQUESTS)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keep", action="store_true", help="write the measured numbers down")
    arguments.add_argument("--cases", nargs="+", choices=COUNTED, default=list(COUNTED))
    options = arguments.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cutover-gate-"))
    binary = directory / "cutover"
    # valgrind cannot read Swift's debug information.
    subprocess.run(["strip", "--strip-debug", "-o", binary, gateway_module.BINARY], check=True)
    gateway_module.BINARY = str(binary)
    legacy, new = proxies.backend(directory / "legacy"), proxies.backend(directory / "new")
    grown = []
    try:
        for case in options.cases:
            measured = instructions(case, directory, legacy, new, binary)
            before = kept.get(case, measured)
            print(
                f"{case}: {measured:,.0f} user instructions per request, kept {before:,.0f} "
                f"({measured / before - 1:+.1%})", flush=True)
            if measured > before * (1 + GROWTH_MAX):
                grown.append(case)
            if options.keep:
                kept[case] = round(measured)
    finally:
        legacy.stop()
        new.stop()
        shutil.rmtree(directory, ignore_errors=True)
    if options.keep:
        KEPT.write_text(json.dumps(kept, indent=2) + "\n")
    elif grown:
        sys.exit(f"more than {GROWTH_MAX:.0%} above the kept number: {', '.join(grown)}")


if __name__ == "__main__":
    main()
