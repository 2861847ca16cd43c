"""docs/performance.md, which two programs write: bench.py its head and first sections, journal.py the last one."""

import subprocess

JOURNAL = "## The journal"


def write_page(path, title, text):
    """Replaces the part that begins with this title, and keeps the other."""
    old = path.read_text() if path.exists() else ""
    head, found, tail = old.partition(JOURNAL)
    if title == JOURNAL:
        head, found, tail = head, "", text
    else:
        head = text
    path.write_text("\n\n".join(part.strip() for part in (head, found + tail) if part.strip()) + "\n")


def version(*command):
    """The first line of what a program says about itself."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "absent"
    return (done.stdout + done.stderr).strip().splitlines()[0]
