"""The page of a real gateway before a played admin listener: fixtures, and the states that tests bring it into."""

import time

import pytest

from .browser import browser
from .gateway import Gateway
from .played_admin import OPERATOR, PlayedAdmin, history_row, instant


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """The page as the real gateway gives it: (bytes, headers)."""
    gateway = Gateway(tmp_path_factory.mktemp("page"), "http://127.0.0.1:1", "http://127.0.0.1:2").start()
    try:
        _, text, headers = gateway.admin("GET", "/")
    finally:
        gateway.kill()
    kept = {name: value for name, value in headers.items() if name.lower() not in ("content-length", "connection")}
    return text.encode(), kept


@pytest.fixture
def played(document):
    made = PlayedAdmin(*document)
    yield made
    made.stop()


@pytest.fixture
def open_page(browser, played):
    """Opens the played page: `open_page(token=…, theme=…, size=…)`."""
    with browser.watched_tabs() as open_tab:
        yield lambda token=OPERATOR, **options: open_tab(played.url, token=token, **options)


# States


def ready(status, mode="manual"):
    status["next"].update(ready=True, held_seconds=7200, waiting_seconds=900, blocked_by=[], mode=mode)


def fails(status):
    why = "3.1 % of 412 reads of new, limit 0.5 %"
    status["gates"][0].update(verdict="fail", value=0.031, samples=412, reason=why)
    status["metrics"]["read_error_rate"].update(verdict="fail", value=0.031, samples=412, reason=why)
    status["next"].update(
        ready=False, blocked_by=["stage canary is held for 47 min more", f"gate read_error_rate fails: {why}"])


def thin(status, verdict="insufficient"):
    for one in status["gates"]:
        one.update(verdict=verdict, value=None, samples=0, reason="0 of the 200 samples that it takes")
    for one in status["metrics"].values():
        one.update(verdict=verdict, value=None, samples=0, reason="0 of the 200 samples that it takes")
    status["next"].update(ready=False, blocked_by=[
        "there has been no traffic in this stage",
        *(f"gate {one['name']} cannot say yet: {one['reason']}" for one in status["gates"])])


def in_state(status, state, **more):
    status["rollout"].update(state=state, **more)


def without_plan(status):
    status["rollout"].update(plan=None, stage=None, percent=12.5)
    status.update(next=None, gates=[])


def rows_with_a_gap(now):
    """Fifteen minutes in tens of seconds: legacy always, new in the second half, and two minutes without a record."""
    rows = []
    for age in range(89, 0, -1):
        if 60 <= age < 72:
            continue
        late = age < 45
        rows.append(history_row(
            now - age * 10, stage="canary" if late else "shadow", percent=1.0 if late else 0.0,
            reads={"legacy": 100, "new": 50 if late else 0}, read_errors={"legacy": 1, "new": 2 if late else 0},
            write_p95_seconds={"legacy": 0.02, "new": 0.04 if late else None}))
    return rows


@pytest.fixture
def charted(played):
    played.rows = rows_with_a_gap(int(time.time()) // 10 * 10)
    played.status["window_seconds"] = played.status["covered_seconds"] = 60
    return played


def make_ordinary(played):
    now = time.time()
    played.lists["events"] = [
        {"seq": 3, "at": instant(now - 4500), "actor": "admin@127.0.0.1", "action": "promote",
         "before": {"stage": "shadow", "percent": 0}, "after": {"stage": "canary", "percent": 1},
         "reason": "an hour of shadow reads, nothing differed"},
        {"seq": 2, "at": instant(now - 8200), "actor": "admin@127.0.0.1", "action": "promote",
         "before": {"stage": "dual-write", "shadow_percent": 0}, "after": {"stage": "shadow", "shadow_percent": 100},
         "reason": "from the operators' page"}]
    played.lists["mismatches"] = [
        {"seq": number, "at": instant(now - 700 * (4 - number)), "kind": "content", "method": "GET",
         "target": f"/notes/{number * 31}", "paths": ["/title"] if number % 2 else ["/items/3/text", "/updatedAt"],
         "legacy": {"status": 200, "hash": "b97713dd4c0fa2317f9d0b6aa0431e58"},
         "new": {"status": 200, "hash": "c112d52f0e71b3a8d24495c06b8f2a17"}} for number in (3, 2, 1)]
    played.users["42"] = {"user": "42", "bucket": 617, "percent_needed": 6.18, "side": "legacy",
                          "reason": "outside-percent", "pin": None, "since": instant(now - 4500)}
