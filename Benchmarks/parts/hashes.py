"""The content hash of JSON, where this tree has its benchmark."""

import importlib.util
import re

from tables import Aim, Section

TARGET = "≥ 1 GB/s pretty-printed, ≥ 0.5 × simdjson minified"


def aim(measured, is_met):
    return Aim("content hash of JSON, one core", "memcpy, simdjson's parse", TARGET, measured, is_met)


def run(options):
    # A module of the library has no such name, so this is hash.py beside bench.py or nothing.
    if importlib.util.find_spec("hash") is None or options.quick:
        text = "Not measured in a smoke run." if options.quick else "Not measured: there is no `Benchmarks/hash.py`."
        return Section("The content hash of JSON", text, (aim("–", None),))
    title, _, text = importlib.import_module("hash").section(rounds=options.rounds).partition("\n")
    verdicts = re.findall(r"\| (met|missed) \|$", text, re.M)
    met = verdicts.count("met")
    return Section(title.removeprefix("## "), text, (
        aim(f"{met} of {len(verdicts)} rows", met == len(verdicts) if verdicts else None),))
