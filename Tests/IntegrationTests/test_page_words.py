"""What the operators' page says where a wrong word would mislead: who makes the next step, of when a figure is, and
since when something is so. The document is the real gateway's; what it is told is played (`support/played_admin.py`).
"""

import re
import time

import pytest

from support.played_admin import history_row, instant
from support.played_page import (
    browser, document, fails, in_state, make_ordinary, open_page, played, ready, thin, without_plan)

NEXT = '#ladder [data-step="next"]'
ERRORS = '[data-metric="read_error_rate"]'


def rolled_back(status, age=5, **more):
    since = instant(time.time() - age)
    in_state(status, "rolled_back", stage="dual-write", percent=0.0, since=since, state_since=since, **more)
    status["next"].update(stage="shadow", percent=0.0, blocked_by=[
        "the rollout is rolled back: promote it to start again"])
    status["metrics"]["read_error_rate"].update(backend="legacy", verdict="warming_up", reason="so far 0 % of legacy")


# Who makes the next step


def automatic(status):
    status["next"].update(mode="automatic")


COMING = {
    "held": (automatic, "next, by itself",
             "It goes on to early (10 %) by itself after 47 min more under load, if every gate passes then."),
    "early": (lambda s: (thin(s), automatic(s), s["next"].update(held_seconds=7200)), "next, by itself",
              "It goes on to early (10 %) by itself as soon as every gate passes."),
    "failing": (lambda s: (fails(s), automatic(s)), "next, by itself",
                "It goes on to early (10 %) by itself after 47 min more under load, if every gate passes then."),
    "by hand": (lambda s: None, "next, by a person", None),
    "ready by hand": (ready, "next, by a person", "It waits for a person, and has been ready for 15 min."),
    "paused": (lambda s: (automatic(s), in_state(s, "paused")), "next, not while paused",
               "Nothing advances by itself until somebody resumes. The gates still act."),
    "rolled back": (lambda s: (automatic(s), rolled_back(s)), "next, by a person",
                    "Nothing advances by itself any more; promote starts a new attempt, with fresh windows."),
}


@pytest.mark.parametrize("name", COMING)
def test_whether_the_step_comes_by_itself_is_said(played, open_page, name):
    change, step, point = COMING[name]
    change(played.status)
    tab = open_page()
    tab.wait_for(f"{NEXT} .step", f"^{step}$")
    points = tab.texts("#points li")
    if point:
        assert point in points
    else:
        assert not any("by itself" in line for line in points)


def test_a_breaker_that_is_open_is_the_first_thing_that_the_next_step_waits_for(played, open_page):
    played.status["backends"]["new"].update(healthy=False)
    tab = open_page()
    tab.wait_for(f"{NEXT} .blocks li", "breaker")
    assert tab.texts(f"{NEXT} .blocks li") == [
        "New does not answer; its breaker is open", "Stage canary is held for 47 min more"]


def test_in_the_last_stage_there_is_nothing_to_go_on_to(played, open_page):
    fails(played.status)
    in_state(played.status, "paused", stage="full", percent=100.0)
    played.status["next"] = None
    tab = open_page()
    assert tab.text("#headline").startswith("Roll back, or mend it: gate read_error_rate fails")
    assert tab.action("promote").is_disabled()


def test_a_gate_that_is_above_its_limit_and_not_proven_is_said_to_be_so(played, open_page):
    played.status["gates"][4].update(verdict="insufficient", value=0.0025, reason="may still be chance")
    tab = open_page()
    assert "One gate cannot say yet: mismatch_rate (above its limit, not proven)" in tab.texts("#points li")


# Without a plan


def test_without_a_plan_nothing_speaks_of_promoting_or_of_gates(played, open_page):
    without_plan(played.status)
    in_state(played.status, "rolled_back", percent=0.0)
    for figure in played.status["metrics"].values():
        figure.update(threshold=None, over_legacy=None, verdict="warming_up", reason="0 of the 200 samples")
    tab = open_page()
    assert "cutover set-percent N starts a new attempt." in tab.text("#points")
    assert tab.page.locator("[data-metric] .verdict").count() == 4
    assert not tab.page.locator("[data-metric] .verdict").filter(visible=True).count()
    assert tab.action("promote").is_disabled()
    seen = " ".join(tab.texts("#judgement .says-it, #ladder, #no-ladder, #figures, #window")).lower()
    for word in ("promote", "gate ", "gates", "200 samples", "warming", "insufficient"):
        assert word not in seen, word


# Of when a figure is


def test_after_a_rollback_the_figures_of_new_are_marked_as_from_before_it(played, open_page):
    rolled_back(played.status)
    tab = open_page()
    assert "former" in tab.page.locator(ERRORS).get_attribute("class").split()
    words = "What is left of new is from before the rollback at "
    assert tab.text(f"{ERRORS} .reason").startswith(words)
    assert "former" in tab.page.locator(f'{ERRORS} [data-side="new"]').get_attribute("class").split()
    # The p95 of both sides together is no figure of new alone.
    assert tab.text('[data-metric="conflict_rate"] .reason').startswith("Writes refused")
    # Once the window has passed, what is seen is of users who are pinned.
    rolled_back(played.status, age=400)
    played.push()
    tab.until(lambda: "former" not in tab.page.locator(ERRORS).get_attribute("class").split(), "it is of now")


def test_the_line_of_new_ends_at_the_rollback(played, open_page):
    now = int(time.time()) // 10 * 10
    played.rows = [history_row(
        now - age * 10, percent=1.0 if age > 20 else 0.0, stage="canary" if age > 20 else "dual-write",
        state="running" if age > 20 else "rolled_back", reads={"legacy": 100, "new": 50 if age > 20 else 0},
        new_requests=60 if age > 20 else 0) for age in range(89, 0, -1)]
    tab = open_page()
    chart = tab.page.locator('[data-chart="read_error_rate"]')
    tab.until(lambda: chart.locator("path.line.new").count() == 1, "the history is drawn")
    ends = [chart.locator(f"path.line.{side}").evaluate("node => node.getBBox().x + node.getBBox().width")
            for side in ("new", "legacy")]
    mark = chart.locator(".mark").last.evaluate("node => node.getBBox().x")
    assert abs(ends[0] - mark) < 20 < ends[1] - ends[0]
    assert tab.page.locator('[data-chart="fallback_rate"] path.line.new').evaluate(
        "node => node.getBBox().x + node.getBBox().width") == pytest.approx(ends[0], abs=1)


def test_while_the_gate_looks_at_legacy_the_sentence_speaks_of_new(played, open_page):
    errors = played.status["metrics"]["read_error_rate"]
    errors.update(value=0.0, samples=416, backend="legacy", verdict="warming_up",
                  reason="the window of 15 s is not full yet; so far 0 % of 416 reads of legacy, limit 0.5 %",
                  by_backend={"legacy": {"value": 0.0, "samples": 416}, "new": {"value": 0.5, "samples": 10}})
    tab = open_page()
    assert tab.text(f"{ERRORS} .reason").startswith(
        "New so far: 50 % of 10 reads, too few to judge by; the figure above is legacy's. The window of 15 s")


def test_a_pause_is_told_with_its_own_time(played, open_page):
    in_state(played.status, "paused", since=instant(1_700_000_000), state_since=instant(1_700_018_000),
             state_reason="by hand")
    tab = open_page()
    assert tab.text("#headline") == "Paused at 2023-11-15 03:13: by hand"
    assert tab.text("#since").strip() == "since 2023-11-14 22:13"
    assert tab.text("#state-since").strip() == "since 2023-11-15 03:13"


def test_a_resume_says_what_the_gateway_warns_of(played, open_page):
    in_state(played.status, "paused")
    played.status["gates"][0].update(verdict="insufficient")
    tab = open_page()
    tab.action("resume").click()
    tab.wait_for("#change-says", r"^Resumed\. Gate read_error_rate: insufficient\.$")


def test_shadow_reads_that_new_failed_are_counted(played, open_page):
    assert "failed on new" not in open_page().text("#shadow")
    played.status["shadow"]["errors"] = 2100
    tab = open_page()
    tab.wait_for("#shadow", "2,100failed on new|failed on new2,100")


# Stages


def step_words(tab, name):
    rung = tab.page.locator(".rung").filter(has=tab.page.locator(".name", has_text=name))
    return rung.locator(".step").inner_text(), rung.locator(".hold").inner_text().replace("\xa0", " ")


def test_a_hold_that_is_to_come_is_no_report_and_what_was_skipped_is_not_passed(played, open_page):
    make_ordinary(played)
    played.lists["events"][0]["before"] = {"stage": "dual-write", "percent": 0, "state": "running"}
    played.lists["events"] = [
        {**played.lists["events"][0], "seq": 9},
        {"seq": 8, "at": instant(time.time() - 5000), "actor": "gate", "action": "rollback", "reason": "a gate fails",
         "before": {"stage": "canary", "state": "running"}, "after": {"stage": "dual-write", "state": "rolled_back"}},
        *played.lists["events"][1:]]
    tab = open_page()
    tab.until(lambda: step_words(tab, "shadow")[0] == "skipped", "what this attempt skipped")
    assert step_words(tab, "dual-write")[0] == "passed"
    assert step_words(tab, "shadow") == ("skipped", "hold 1 h")
    assert step_words(tab, "dual-write")[1] == "no hold · no shadow reads"
    assert step_words(tab, "half") == ("later", "hold 12 h")


# Texts of others


def test_nobody_turns_the_direction_of_writing(played, open_page):
    make_ordinary(played)
    played.lists["events"][0]["reason"] = "a\u202e1=denwp.wodniw\u2066 b\u200b"
    in_state(played.status, "paused", state_reason="x\u202ey")
    tab = open_page()
    tab.wait_for("#events .why", r"a\\u\{202e\}1=denwp\.wodniw\\u\{2066\} b\\u\{200b\}")
    assert tab.text("#headline").endswith(r": x\u{202e}y")
    assert "\u202e" not in tab.page.title() and "\u202e" not in tab.page.content()


def test_a_blank_user_leaves_no_answer_of_another_one(played, open_page):
    make_ordinary(played)
    tab = open_page()
    tab.page.fill("#user", "42")
    tab.page.keyboard.press("Enter")
    tab.wait_for("#user-says", "User 42")
    tab.page.fill("#user", "  ")
    tab.page.keyboard.press("Enter")
    tab.until(lambda: tab.content("#user-says") == "", "nothing is said of nobody")


def test_on_a_narrow_screen_an_event_is_read_without_moving_sideways(played, open_page):
    make_ordinary(played)
    tab = open_page(size=(360, 740))
    tab.wait_for("#events tbody", "an hour of shadow reads")
    scroll = tab.page.locator("#events .scroll")
    assert scroll.evaluate("node => node.scrollWidth <= node.clientWidth")
    for row in tab.page.locator("#events tbody tr").all():
        # One line more where the event was yesterday, as it is in the hour after midnight: then its day is named.
        names_its_day = re.search(r"\d{4}-\d\d-\d\d", row.inner_text())
        assert row.bounding_box()["height"] < (130 if names_its_day else 110)
        why = row.locator(".why").bounding_box()
        assert why["x"] >= 0 and why["x"] + why["width"] <= 360
    assert tab.page.get_by_role("table").filter(has_text="an hour of shadow").get_by_role("row").count() == 2


def test_a_history_that_could_not_be_read_is_asked_for_again(played, open_page):
    played.answers["/api/v1/metrics/history"] = lambda seen: (503, {"status": 503, "detail": "it starts"})
    tab = open_page()
    tab.allow("503")
    tab.wait_for("#history-says", "could not be read")
    del played.answers["/api/v1/metrics/history"]
    tab.until(lambda: tab.content("#history-says") == "", "it is read")
