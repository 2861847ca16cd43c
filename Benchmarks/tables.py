"""Sections of docs/performance.md: titles, tables, and aims that are met or not."""

import math
from typing import NamedTuple, Optional


class Aim(NamedTuple):
    """A row of the table of targets."""
    work: str
    against: str
    target: str
    measured: str
    is_met: Optional[bool]  # None where nothing was measured


class Section(NamedTuple):
    """What one part of the harness has measured."""
    title: str
    text: str
    aims: tuple = ()


def at_most(work, against, target, measured, unit=" ×"):
    return Aim(work, against, f"≤ {target:g}{unit}", f"{measured:.2f}{unit}", measured <= target)


def at_least(work, against, target, measured, unit=" ×"):
    return Aim(work, against, f"≥ {target:g}{unit}", f"{measured:.2f}{unit}", measured >= target)


def judged(is_met):
    return {True: "**met**", False: "**not met**", None: "not measured"}[is_met]


def table(header, rows):
    """A table whose first column is words and whose others are numbers."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (header, rule, *rows))


def aims_table(aims):
    rows = [(aim.work, aim.against, aim.target, aim.measured, judged(aim.is_met)) for aim in aims]
    lines = table(("work", "against", "target", "measured", ""), rows).splitlines()
    return "\n".join([lines[0], "| --- | --- | ---: | ---: | --- |", *lines[2:]])


def paragraphs(*parts):
    return "\n\n".join(part.strip() for part in parts if part.strip())


def slope(points):
    """The exponent of growth by least squares over logarithms: 0 is flat, 1 is linear."""
    logs = [(math.log10(x), math.log10(y)) for x, y in points]
    mean_x, mean_y = (sum(column) / len(logs) for column in zip(*logs))
    below = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / below


def mebibytes(number):
    return f"{number / 2**20:.1f} MiB"
