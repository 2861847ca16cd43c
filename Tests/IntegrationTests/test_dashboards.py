"""What operators load into Prometheus and Grafana is valid, and asks only for series that exist (contract §10)."""

import json
import re
import subprocess

import pytest

from support.gateway import ROOT

DASHBOARDS = ROOT / "dashboards"


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, cwd=DASHBOARDS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_valid():
    promtool("check", "rules", "prometheus-rules.yaml")


def test_the_rules_act_as_their_tests_say():
    tests = sorted((DASHBOARDS / "tests").glob("*.yaml"))
    assert tests
    promtool("test", "rules", *tests)


def test_the_scrape_example_is_valid():
    promtool("check", "config", "--syntax-only", "prometheus.yaml")


@pytest.mark.parametrize("name", ["cutover-grafana.json", "prometheus-rules.yaml"])
def test_every_series_that_is_asked_for_exists(gateway, name):
    text = (DASHBOARDS / name).read_text()
    if name.endswith(".json"):
        assert json.loads(text)["panels"]
    text = "\n".join(line for line in text.splitlines() if not line.strip().startswith("#"))
    asked = set(re.findall(r"\bcutover_[a-z0-9_]+\b", text))
    recorded = set(re.findall(r"\brecord: (\S+)", text))
    there = gateway.metrics().names()
    assert asked and asked - there - recorded == set()
