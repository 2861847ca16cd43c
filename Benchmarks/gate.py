"""User instructions and heap allocations per request against kept numbers: the hot path must not grow unnoticed.

Callgrind counts what the loops do, and for writes what the journal's thread does for a group; what a process does each
second is left out, so that a busy machine counts the same as an idle one. More than 3 % above the kept number fails.
`--keep` writes the measured instructions down. Allocations are kept in Tests/IntegrationTests/allocations.json, whose
test allows nothing above them.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import detail
from rounds import backends, scratch
from support import allocations
from support.gateway import Gateway
from support.nginx import Nginx

KEPT = pathlib.Path(__file__).resolve().parent / "kept.json"
GROWTH_MAX = 0.03
# A kept number of a handful says nothing by its percents.
ALLOCATIONS_SLACK = 2
REQUESTS = {"get": 400, "shadow": 400, "write": 200}
# Seconds after each request. A write is then two groups of the journal, itself and what became of its legs; without the
# pause it depends on how busy the machine is whether the second one waits for the next write, and the count by 5 %.
PAUSES = {"get": 0, "shadow": 0, "write": 0.02}
# Where counting begins and ends: a loop's whole life, and one group of the journal.
COUNTED = {
    "get": ["EventLoop.run() -> ()"],
    "shadow": ["EventLoop.run() -> ()"],
    "write": ["EventLoop.run() -> ()", "GroupCommit.commit("],
}
ALLOCATING = {"get": "get", "shadow": "get_with_shadow", "write": "post_to_both"}


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


def instructed(case, directory, pair, count=None):
    """User instructions per request of the functions that are counted."""
    toggles = [f"--toggle-collect={name}" for name in counted(case, detail.stripped(directory))]
    return detail.instructions(case, directory, pair, count or REQUESTS[case], toggles, PAUSES[case])


def allocated(case):
    """Allocations per request, as the integration test counts them."""
    name = ALLOCATING[case]
    with scratch() as directory, backends(directory, lambda path: Nginx(path, allocations.SERVER).start()) as pair:
        counter = allocations.Counter(directory)
        gateway = Gateway(directory / "gateway", *(side.url for side in pair), config=allocations.configuration(name),
                          environment=counter.environment)
        gateway.directory.mkdir()
        try:
            return allocations.fewest_per_1000_requests(name, gateway.start(), counter) / allocations.REQUESTS
        finally:
            gateway.kill()


class Verdicts:
    """Prints each comparison, and remembers what has grown."""

    def __init__(self):
        self.grown = []

    def compare(self, what, measured, kept, slack=0):
        growth = f" ({measured / kept - 1:+.1%})" if kept else ""
        print(f"{what}: {measured:,.6g} per request, kept {kept:,.6g}{growth}", flush=True)
        if measured > kept * (1 + GROWTH_MAX) + slack:
            self.grown.append(what)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keep", action="store_true", help="write the measured numbers of instructions down")
    arguments.add_argument("--cases", nargs="+", choices=COUNTED, default=list(COUNTED))
    options = arguments.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    verdicts = Verdicts()
    with scratch() as directory, backends(directory) as pair:
        for case in options.cases:
            measured = instructed(case, directory, pair)
            verdicts.compare(f"{case}: user instructions", measured, kept.get(case, measured))
            if options.keep:
                kept[case] = round(measured)
    for case in options.cases:
        verdicts.compare(f"{case}: allocations", allocated(case),
                         allocations.KEPT[ALLOCATING[case]] / allocations.REQUESTS,
                         ALLOCATIONS_SLACK / allocations.REQUESTS)
    if options.keep:
        KEPT.write_text(json.dumps(kept, indent=2) + "\n")
    elif verdicts.grown:
        sys.exit(f"more than {GROWTH_MAX:.0%} above the kept number: {', '.join(verdicts.grown)}")


if __name__ == "__main__":
    main()
