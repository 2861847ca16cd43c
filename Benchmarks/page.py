"""docs/performance.md: written from what was measured last (measured.json) and what was found out (findings.md).

Nobody edits the page. `bench.py` and `journal.py` put what they have measured into measured.json and write the page
anew; `bench.py --page` does that without measuring, after findings.md was edited.
"""

import json
import pathlib
import re
import subprocess

from tables import Aim, Section, aims_table, judged, paragraphs

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
MEASURED = HERE / "measured.json"
FINDINGS = HERE / "findings.md"
JOURNAL = "## The journal"
# In the order of the page.
PARTS = ("requests", "idle", "latency", "workers", "bodies", "hash", "tls", "counts", "scale", "journal")


def measured_path(page):
    """A page elsewhere, of a smoke run, keeps what it was made of beside itself."""
    return MEASURED if page.resolve() == PAGE.resolve() else page.with_suffix(".json")


def load(page):
    path = measured_path(page)
    return json.loads(path.read_text()) if path.exists() else {"machine": [], "parts": {}}


def keep(page, name, section, machine=None, occasion=""):
    """Notes what a part has measured, in place of what it had measured before, and writes the page."""
    measured = load(page)
    measured["parts"][name] = {
        "title": section.title, "occasion": occasion, "text": section.text.strip(),
        "aims": [list(aim) for aim in section.aims]}
    if machine:
        measured["machine"] = machine
    measured_path(page).write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    write(page)


def write(page):
    page.write_text(text(load(page), FINDINGS.read_text()))


def write_page(page, title, words):
    """Puts in the section of the journal, when it was measured alone."""
    assert title == JOURNAL
    keep(page, "journal", Section(title.removeprefix("## "), words.removeprefix(title)))


def findings_by_title(words):
    """What stands below each title of findings.md; what is above the first one is for who writes it."""
    return {title.strip(): body.strip() for title, body in re.findall(r"^## (.*)\n((?:(?!## ).*\n?)*)", words, re.M)}


def text(measured, findings):
    """The whole page."""
    kept = [measured["parts"][name] for name in PARTS if name in measured["parts"]]
    sections = [Section(part["title"], part["text"], tuple(Aim(*aim) for aim in part["aims"])) for part in kept]
    found = findings_by_title(findings)
    unknown = set(found) - {section.title for section in sections}
    if unknown and len(sections) == len(PARTS):
        raise ValueError(f"findings.md has titles that no section has: {', '.join(sorted(unknown))}")
    parts = [
        "# Performance",
        "Written by `make bench` and never edited by hand: the numbers are of the machine below, each section of the"
        " last run that measured it, and says of when and how that was; what was found out is kept in"
        " `Benchmarks/findings.md`. Ratios are medians of the rounds' ratios, because a round disturbs both of its"
        " sides alike.",
        "\n".join(f"- {line}" for line in measured["machine"]),
        "## Targets",
        aims_table([aim for section in sections for aim in section.aims])]
    for section, part in zip(sections, kept):
        parts += [f"## {section.title}", part.get("occasion", ""), section.text,
                  "\n".join(verdict(aim) for aim in section.aims), found.get(section.title, "")]
    return paragraphs(*parts) + "\n"


def verdict(aim):
    return f"- {aim.work}, against {aim.against}: {aim.measured}, aim {aim.target}: {judged(aim.is_met)}."


def version(*command):
    """The first line of what a program says about itself."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "absent"
    return (done.stdout + done.stderr).strip().splitlines()[0]
