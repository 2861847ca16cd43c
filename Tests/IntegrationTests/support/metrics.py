"""Reads the Prometheus text format."""

import math
import re

_SERIES = re.compile(r"^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)",?')


class Metrics:
    """One scrape."""

    def __init__(self, text):
        self.series = {}
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            match = _SERIES.match(line)
            assert match, f"not a line of the text format: {line!r}"
            name, labels, value = match.groups()
            key = (name, frozenset(_LABEL.findall(labels or "")))
            assert key not in self.series, f"series twice: {line!r}"
            self.series[key] = float(value)

    def names(self):
        return {name for name, _ in self.series}

    def matching(self, name, **labels):
        wanted = set(labels.items())
        return [value for (found, has), value in self.series.items() if found == name and wanted <= has]

    def __call__(self, name, **labels):
        """The sum of the series that have these labels; a series that is absent is an error."""
        values = self.matching(name, **labels)
        assert values, f"no series {name} {labels}"
        return math.fsum(values)
