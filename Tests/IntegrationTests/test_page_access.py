"""Everybody can use the operators' page, and nobody can write into it, played (`support/played_admin.py`)."""

import time

import pytest

from support.played_admin import OPERATOR, history_row, instant
from support.played_page import (
    browser, charted, document, fails, in_state, make_ordinary, open_page, played, ready)

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>alert(1)</script>'\"&lt;\u202e\u0000x"
WIDE = "w" * 600


# What users wrote


def make_hostile(played):
    status = played.status
    status["rollout"].update(plan=HOSTILE, stage=HOSTILE, state_reason=HOSTILE)
    for one in [*status["gates"], *status["metrics"].values()]:
        one["reason"] = HOSTILE
    status["next"].update(stage=HOSTILE, blocked_by=[HOSTILE, WIDE])
    status["journal"]["parked"] = 1
    played.stages[2]["name"] = HOSTILE
    played.stages[3]["name"] = HOSTILE + WIDE
    now = instant(time.time())
    played.lists.update(
        events=[{"seq": 1, "at": now, "actor": HOSTILE, "action": HOSTILE, "before": {HOSTILE: HOSTILE},
                 "after": HOSTILE, "reason": HOSTILE + WIDE}],
        mismatches=[{"seq": 1, "at": now, "kind": HOSTILE, "method": HOSTILE, "target": HOSTILE + WIDE,
                     "paths": [HOSTILE, WIDE], "values": [{"legacy": HOSTILE, "new": WIDE}] * 2,
                     "legacy": {"status": 200, "hash": HOSTILE}, "new": {"status": 200, "hash": HOSTILE}}],
        journal=[{"seq": 1, "at": now, "user": HOSTILE + WIDE, "record": HOSTILE, "revision": 1, "method": HOSTILE,
                  "target": HOSTILE + WIDE,
                  "legs": {"legacy": {"state": "applied", "attempts": 1, "last_status": 200, "next_attempt_at": None},
                           "new": {"state": "parked", "attempts": 4, "last_status": 422, "next_attempt_at": None}}}])
    played.rows = [history_row(time.time() // 10 * 10 - 20), history_row(time.time() // 10 * 10 - 10, stage=HOSTILE)]
    played.users[HOSTILE] = {"user": HOSTILE, "bucket": 1, "percent_needed": 0.02, "side": "new", "reason": HOSTILE,
                             "pin": None, "since": now}


@pytest.mark.parametrize("width", [1320, 360])
def test_what_users_wrote_stays_text_and_breaks_nothing(played, open_page, width):
    make_hostile(played)
    tab = open_page(size=(width, 900))
    tab.page.locator("#mismatches summary").first.click()
    tab.page.evaluate("(id) => { document.querySelector('#user').value = id; }", HOSTILE)
    tab.page.locator("#user-form button").click()
    tab.wait_for("#user-says .answer", "served by new")
    tab.action("promote").click()
    tab.wait_for("#step-body", "Go on to")
    for place in ("#headline", "#ladder", "#events", "#mismatches", "#parked", "#user-says", "#plan", "#step-body",
                  '[data-metric="conflict_rate"]'):
        assert "<script>alert(1)</script>" in tab.content(place) or place == '[data-metric="conflict_rate"]', place
    assert tab.page.locator("img, main script, [onerror]").count() == 0
    assert "owned" not in tab.page.title() or "<img" in tab.page.title()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out at the side"


# Looks


def test_theme_and_zone_are_chosen_and_kept(played, open_page):
    tab = open_page(theme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = tab.page.evaluate(ground)
    tab.page.keyboard.press("t")
    tab.page.keyboard.press("t")
    assert tab.text("#theme") == "Theme: dark"
    dark = tab.page.evaluate(ground)
    assert dark != light
    tab.page.click("#times")
    assert tab.text("#times") == "Europe/Berlin"
    tab.page.reload()
    tab.wait_for("#theme", "dark")
    assert tab.page.evaluate(ground) == dark and tab.text("#times") == "Europe/Berlin"


# Everybody can use it


def with_everything_open(tab):
    tab.page.locator("#mismatches summary").first.click()
    tab.page.locator('[data-chart="read_error_rate"] summary').click()
    tab.action("promote").click()
    tab.wait_for("#step-body", "Go on to early")
    tab.page.click("#help-open")
    tab.page.click("#token-open")
    tab.action("rollback").click()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1320, 360])
def test_axe_finds_nothing(charted, browser, theme, width):
    make_ordinary(charted)
    tab = browser.tab(charted.url, token=OPERATOR, theme=theme, size=(width, 800), bypass_csp=True)
    try:
        tab.wait_for("#mismatches", "/notes/31")
        assert tab.axe() == []
        with_everything_open(tab)
        assert tab.axe() == []
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        for change in (fails, ready, lambda s: in_state(s, "paused"), lambda s: in_state(s, "rolled_back")):
            change(charted.status)
            charted.push()
            tab.page.wait_for_timeout(200)
            assert tab.axe() == []
    finally:
        tab.close()


def test_all_of_it_is_reached_with_the_tab_key_and_nothing_holds_it(played, open_page):
    tab = open_page()
    seen = []
    for _ in range(60):
        tab.page.keyboard.press("Tab")
        name = tab.page.evaluate("""() => { const node = document.activeElement;
            return node === document.body ? null : node.id || node.dataset.action || node.name
                || node.closest("[data-chart]")?.dataset.chart || node.tagName; }""")
        if name is None:
            break
        seen.append(name)
    assert seen[0] == "A", "the way past the header comes first"
    for name in ("token-open", "theme", "help-open", "rollback", "promote", "pause", "user", "events-export",
                 "read_error_rate", "fallback_rate"):
        assert name in seen, name
    assert len(seen) < 60, "Tab comes to an end"
