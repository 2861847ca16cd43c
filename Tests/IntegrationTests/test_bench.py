"""The harness of `make bench` still works, and docs/performance.md is what it has written. No number is judged here."""

import re
import socket
import subprocess
import sys
import threading
import time

import pytest

from support.gateway import ROOT

HARNESS = ROOT / "Benchmarks"
sys.path.insert(0, str(HARNESS))

import loads  # noqa: E402
import page  # noqa: E402
import tables  # noqa: E402

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


def test_what_was_found_out_stands_at_the_end_of_its_section_and_an_unknown_title_is_refused():
    measured = {"machine": ["a machine"], "parts": {
        name: {"title": name, "text": f"text of {name}", "aims": []} for name in page.PARTS}}
    text = page.text(measured, "For who writes.\n\n## idle\nwhat bounds it\n\n### tried\nthis\n\n## tls\nnothing\n")
    assert "text of idle\n\nwhat bounds it\n\n### tried\nthis\n\n## latency\n" in text
    assert "For who writes" not in text
    with pytest.raises(ValueError, match="speling"):
        page.text(measured, "## speling\nlost\n")


@pytest.mark.parametrize("exponent", [-0.5, 0, 1, 2])
def test_the_slope_of_growth_is_its_exponent(exponent):
    assert tables.slope([(size, 7 * size ** exponent) for size in (10, 100, 1_000)]) == pytest.approx(exponent)


def test_an_open_loop_counts_a_stall_for_all_requests_that_were_due_in_it():
    """The backend stands still for half a second, in which 50 of 200 requests are due, on one connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            client, _ = server.accept()
            with client:
                for number in range(200):
                    if not client.recv(65536):
                        return
                    if number == 50:
                        time.sleep(0.5)
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        thread = threading.Thread(target=serve)
        thread.start()
        seen = loads.requests(server.getsockname()[1], connections=1, rate=100, seconds=2)
        thread.join()
    assert (seen.requests, seen.failed) == (200, 0)
    # By closed-loop counting one request in 200 would have waited, and the 99th percentile would be nothing.
    assert seen.p99 > 400_000
    assert seen.max >= 500_000
