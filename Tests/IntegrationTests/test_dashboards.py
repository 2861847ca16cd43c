"""What operators load into Prometheus and Grafana is valid, and asks only for series that exist (contract §10)."""

import json
import re
import subprocess
import threading

import pytest

from support.backend import reply
from support.prometheus import DASHBOARDS, Prometheus
from support.waiting import eventually

RULES = (DASHBOARDS / "prometheus-rules.yaml").read_text()
ALERTS = re.findall(r"(?m)^ +- alert: (\w+)$", RULES)
DASHBOARD = json.loads((DASHBOARDS / "cutover-grafana.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
PLAN = {
    "name": "my-migration", "stages": [{"name": "dual-write", "percent": 0}, {"name": "half", "percent": 50}],
    "gates": {"read_error_rate": "0.5%", "write_p95": "300ms", "conflict_rate": "1%", "fallback_rate": "0.5%",
              "mismatch_rate": "0.1%", "journal_lag": "30s"},
}


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, cwd=DASHBOARDS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def make_prometheus(scratch):
    made = []

    def make(*gateways):
        made.append(Prometheus(scratch / f"prometheus-{len(made) + 1}", *gateways))
        return made[-1]

    yield make
    for prometheus in made:
        prometheus.stop()


# Rules

def test_the_rules_are_valid():
    promtool("check", "rules", "prometheus-rules.yaml")


def test_the_rules_act_as_their_tests_say():
    tests = sorted((DASHBOARDS / "tests").glob("*.yaml"))
    assert tests
    promtool("test", "rules", *tests)


def test_each_alert_is_played_both_ways():
    played = (DASHBOARDS / "tests" / "alerts.test.yaml").read_text()
    assert len(ALERTS) > 20
    for alert in ALERTS:
        name = f'{{alertname="{alert}",alertstate="firing"}}'
        assert re.search(re.escape(name) + r"', eval_time: \w+, exp_samples: \[\]\}", played), f"{alert} never rests"
        fires = re.escape(name) + r"\)'\n +eval_time: \w+\n +exp_samples:\n +- "
        assert re.search(fires, played), f"{alert} never fires"


def test_each_alert_says_what_it_means_and_where_to_read_on():
    for text in re.split(r"(?m)^ +- (?:alert|record): ", RULES)[1:]:
        name = text.split("\n")[0]
        if name in ALERTS:
            assert {"severity", "summary", "description", "runbook"} <= set(re.findall(r"(\w+):", text)), name


def test_the_scrape_example_is_valid():
    promtool("check", "config", "--syntax-only", "prometheus.yaml")


@pytest.mark.parametrize("name", ["cutover-grafana.json", "prometheus-rules.yaml"])
def test_every_series_that_is_asked_for_exists(gateway, name):
    text = (DASHBOARDS / name).read_text()
    text = "\n".join(line for line in text.splitlines() if not line.strip().startswith("#"))
    asked = set(re.findall(r"\b(?:cutover|process)_[a-z0-9_]+\b", text))
    recorded = set(re.findall(r"\brecord: (\S+)", text))
    there = gateway.metrics().names()
    assert asked and asked - there - recorded == set()


def test_every_family_is_on_the_dashboard(gateway):
    """A metric that nobody can see is one that nobody looks at."""
    shown = set(re.findall(r"\b(?:cutover|process)_[a-z0-9_]+\b", json.dumps(DASHBOARD)))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in gateway.metrics().names()}
    shown = {re.sub(r"_bucket$", "", name) for name in shown}
    assert families - shown == {"process_virtual_memory_bytes"}


# The dashboard

def test_the_dashboard_can_be_provisioned():
    assert "id" not in DASHBOARD and "__inputs" not in DASHBOARD and DASHBOARD["uid"] == "cutover"
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    assert {"instance", "backend"} <= variables
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in PANELS:
        for target in panel["targets"]:
            used = set(re.findall(r"\$\{?(\w+)", target["expr"])) - {"__rate_interval"}
            assert "instance" in used and used <= variables, panel["title"]
            if "{{backend}}" in target["legendFormat"]:
                assert "backend" in used, panel["title"]


def test_the_panels_of_a_row_lie_side_by_side():
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        right, bottom = place["x"] + place["w"], place["y"] + place["h"]
        cells = {(x, y) for x in range(place["x"], right) for y in range(place["y"], bottom)}
        assert right <= 24 and not cells & taken, panel["title"]
        taken |= cells


# On a real Prometheus

def expressions(panel):
    return [target["expr"] for target in panel["targets"]]


def filled(expression, instance):
    """An expression as Grafana asks for it when everything is selected, at a scrape each second."""
    escaped = re.escape(instance).replace("\\", "\\\\")
    expression = expression.replace("$instance", escaped).replace("$backend", "(legacy|new)")
    return expression.replace("$__rate_interval", "10s")


def load(gateway, done):
    """Reads and writes of many users, until the event is set."""
    number = 0
    with gateway.connect() as client:
        while not done.is_set():
            number += 1
            user = f"user{number % 50}"
            client.request("GET", f"/{number}", user=user)
            client.request("PUT", f"/{number % 100}", body=b"x", user=user)


def test_every_panel_and_every_rule_has_series_of_a_gateway_under_load(make_gateway, make_prometheus, legacy, new):
    gateway = make_gateway(legacy, new, plan=PLAN, percent=50)
    prometheus = make_prometheus(gateway)
    done = threading.Event()
    clients = [threading.Thread(target=load, args=(gateway, done), daemon=True) for _ in range(2)]
    for client in clients:
        client.start()
    try:
        eventually(lambda: prometheus.scrapes() >= 8, "eight scrapes", 120)
        empty = [(panel["title"], expression) for panel in PANELS for expression in expressions(panel)
                 if not prometheus.query(filled(expression, prometheus.targets[0]))]
        assert empty == []
        # What traffic there is has to be numbers: a panel of nothing but NaN shows nothing.
        for title in ("Read error ratio", "Write p95", "Reads by backend", "Client errors", "Groups",
                      "Where writes spend their time, p95", "What clients waited", "What the gates say"):
            [panel] = [panel for panel in PANELS if panel["title"] == title]
            for expression in expressions(panel):
                found = prometheus.query(filled(expression, prometheus.targets[0]))
                assert any(value == value for _, value in found), (title, expression)
    finally:
        done.set()
        for client in clients:
            client.join(30)
    for annotation in DASHBOARD["annotations"]["list"]:
        prometheus.query(filled(annotation["expr"], prometheus.targets[0]))
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]).groups()
            assert prometheus.ask(f"label/{label}/values", **{"match[]": metric}), variable["name"]
    rules = prometheus.rules()
    assert {rule["name"] for rule in rules if rule["type"] == "alerting"} == set(ALERTS)
    assert [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"] == []
    for rule in rules:
        if rule["type"] == "recording":
            assert prometheus.query(rule["name"]), rule["name"]


def test_an_idle_gateway_alarms_nobody_and_one_that_is_down_does(make_gateway, make_prometheus, legacy, new):
    """Also after a few errors: absent traffic and far too few samples are neither health nor failure."""
    gateway = make_gateway(legacy, new)
    prometheus = make_prometheus(gateway)
    eventually(lambda: prometheus.scrapes() >= 2, "it is scraped", 60)
    legacy.answer = lambda request: reply(b"broken", 500)
    for _ in range(5):
        assert gateway.get("/", user="u").status == 500
    eventually(lambda: any(value == 1 for _, value in prometheus.query("cutover:read_errors:ratio_rate5m")),
               "the errors are seen", 60)
    assert prometheus.alerts() == set()
    gateway.kill()
    eventually(lambda: prometheus.alerts() == {"CutoverDown"}, "it is seen to be down", 60)


def test_errors_of_a_real_gateway_fire_their_alerts(make_gateway, make_prometheus, legacy, new):
    gateway = make_gateway(legacy, new, config={"fallback": {"breaker": {"min_requests": 1_000_000}}})
    prometheus = make_prometheus(gateway)
    eventually(lambda: prometheus.scrapes() >= 2, "it is scraped", 60)
    legacy.answer = lambda request: reply(b"broken", 500)
    with gateway.connect() as client:
        for _ in range(400):
            client.request("GET", "/", user="u")
    eventually(lambda: {"CutoverReadErrorsHigh", "CutoverClientErrors"} <= prometheus.alerts(), "the alerts fire", 60)
