"""The price of the journal, which journal.py measures."""

import argparse

import journal
import journal_page
from page import JOURNAL
from tables import Section


def run(options):
    more = {"rows": 2_000, "outstanding": 100, "restarts": 1} if options.quick else {
        "rows": 1_000_000, "outstanding": 100_000, "restarts": 5}
    wanted = argparse.Namespace(
        rounds=min(options.rounds, 3), seconds=options.seconds, connections=options.connections, pause=80, **more)
    text = journal_page.section(wanted, journal.measure(wanted))
    print(text, flush=True)
    return Section(JOURNAL.removeprefix("## "), text.removeprefix(JOURNAL))
