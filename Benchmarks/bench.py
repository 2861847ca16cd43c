"""`make bench`: measures every part and writes docs/performance.md.

`--quick` runs all parts in a minute or two to see that they work; its numbers mean nothing and do not go to the page of
the repository. `--parts` measures some again and leaves the others as they were. `--page` only writes the page.
"""

import argparse
import importlib
import pathlib
import time

import machine
import page
import proxies
from parts import requests

MODULES = {**{name: f"parts.{name}" for name in page.PARTS}, "hash": "parts.hashes", "journal": "parts.writes"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true", help="write the page from what was measured, after findings.md")
    parser.add_argument("--parts", nargs="+", choices=page.PARTS, default=list(page.PARTS))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--cases", nargs="+", choices=requests.CASES, default=list(requests.CASES))
    parser.add_argument("--only", nargs="+", choices=proxies.STARTERS, default=tuple(proxies.STARTERS),
                        help="proxies of the part `requests`")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.seconds = options.seconds or (1 if options.quick else 3)
    smoke = page.HERE.parent / "build" / "bench" / "smoke.md"
    options.output = options.output or (smoke if options.quick else page.PAGE)
    return options


def main():
    options = arguments()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    if options.page:
        page.write(options.output)
        return
    described = machine.lines(options)
    for name in options.parts:
        begin = time.monotonic()
        occasion = machine.occasion(options)
        print(f"== {name}", flush=True)
        section = importlib.import_module(MODULES[name]).run(options)
        # After each part, so that what was measured is there when a later one fails.
        page.keep(options.output, name, section, described, occasion)
        for aim in section.aims:
            print(page.verdict(aim))
        print(f"== {name} took {time.monotonic() - begin:.0f} s\n", flush=True)
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
