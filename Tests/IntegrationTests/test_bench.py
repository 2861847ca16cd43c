"""The harness of `make bench` still works, and docs/performance.md is what it has written. No number is judged here."""

import re
import subprocess
import sys

from support.gateway import ROOT

HARNESS = ROOT / "Benchmarks"
sys.path.insert(0, str(HARNESS))

import page  # noqa: E402

TARGETS = [
    r"GET, split by user.*\| nginx", r"GET, split by user.*\| haproxy", r"the same read on the other side.*\| nginx",
    r"POST to both.*\| nginx", r"idle keep-alive clients.*\| nginx", r"latency at half load, p50", r"half load, p99",
    r"2 workers", r"download of 1 MB", r"download of 100 MB", r"upload of 1 MB", r"upload of 100 MB", "content hash",
    "TLS",
]


def test_a_quick_run_of_the_harness_has_every_part_and_every_target(scratch):
    output = scratch / "page.md"
    done = subprocess.run(
        ["/usr/bin/python3", HARNESS / "bench.py", "--quick", "--output", output], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    text = output.read_text()
    measured = page.load(output)["parts"]
    assert list(measured) == list(page.PARTS)
    for part in measured.values():
        assert f"\n## {part['title']}\n" in text
    targets = text.partition("## Targets")[2].partition("\n## ")[0]
    assert [target for target in TARGETS if not re.search(target, targets)] == []
    assert not re.search(r"\b(nan|inf)\b", text)


def test_the_page_of_the_repository_is_what_the_harness_has_written():
    assert page.PAGE.read_text() == page.text(page.load(page.PAGE), page.FINDINGS.read_text())
