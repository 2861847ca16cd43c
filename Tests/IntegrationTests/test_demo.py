"""`cutover demo` walks the whole story and says so."""

import re
import subprocess

from support.gateway import BINARY


def test_the_demo_runs_to_its_end_without_an_error(scratch):
    done = subprocess.run([BINARY, "demo"], capture_output=True, text=True, timeout=300, cwd=scratch)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    text = done.stdout
    for figure in ("read error", "write p95", "conflict", "fallback"):
        assert figure in text.lower(), figure
    for percent in (1, 10, 50, 100):
        assert re.search(rf"\b{percent}\s?%", text), percent
    assert "409" in text, "the second device is told to refresh"
    assert "http://" in text, "it says where to look next"
    assert "\x1b" not in text, "plain lines where there is no terminal"
