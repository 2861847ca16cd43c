"""Sums JUnit reports into the closing line `N passed, N failed`; exits 1 on a failure, a skip or a broken step."""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    """Returns the numbers of passed, failed and skipped tests of one report."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("reports", type=pathlib.Path)
    arguments.add_argument("--broken", help="name of a step that ended before it could report")
    arguments.add_argument("--failed", action="store_true", help="a runner ended with an error")
    options = arguments.parse_args()

    passed = failed = skipped = 0
    for path in sorted(options.reports.glob("*.xml")):
        counts = count(path)
        passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
    if skipped:
        print(f"{skipped} tests were skipped: that counts as a failure", file=sys.stderr)
    if options.broken:
        print(f"the step {options.broken} broke before it could report", file=sys.stderr)
        failed += 1
    if options.failed and failed + skipped == 0:
        print("a test runner ended with an error of its own", file=sys.stderr)
        failed += 1
    failed += skipped
    sys.stdout.flush()
    line = f"{passed} passed, {failed} failed"
    (options.reports / "summary").write_text(line + "\n")
    print(line, flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
