"""What the operators' page says and draws, in states that a real gateway reaches only after hours.

The document is the real gateway's; what it is told is played (`support/played_admin.py`).
"""

import re
import time

import pytest

from support.browser import plain
from support.played_admin import history_row, instant, ordinary_rows
from support.played_page import (
    browser, charted, document, fails, in_state, make_ordinary, open_page, played, ready, thin,
    without_plan)


# The judgement

HOLDS = '#ladder [data-step="next"] .blocks li'
THIN = "Too early to say: there has been no traffic in this stage"
JUDGEMENTS = {
    "ready": (ready, "good", "Safe to go on to early (10 %)"),
    "automatic": (lambda s: ready(s, "automatic"), "good", "Going on to early (10 %) by itself"),
    "held": (lambda s: None, "unsure", "Not yet: stage canary is held for 47 min more"),
    "fails": (fails, "bad", "Do not go on: gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %"),
    "insufficient": (thin, "unsure", THIN),
    "warming": (lambda s: (thin(s, "warming_up"), s["next"]["blocked_by"].pop(0)), "unsure",
                "Too early to say: 0 of the 200 samples that it takes"),
    "too few": (lambda s: (thin(s), s["next"]["blocked_by"].pop(0)), "unsure",
                "Too early to say: gate read_error_rate: 0 of the 200 samples that it takes"),
    # Ready or not: what does not answer is not safe to go on to.
    "sick": (lambda s: (ready(s), s["backends"]["new"].update(healthy=False)), "bad",
             "Do not go on: new does not answer; its breaker is open"),
    "paused": (lambda s: in_state(s, "paused", since=instant(1_700_000_000), state_reason="by hand"), "paused",
               "Paused at 2023-11-14 22:13: by hand"),
    "rolled back": (lambda s: in_state(s, "rolled_back", since=instant(1_700_000_000), stage="dual-write", percent=0,
                                       state_reason="gate write_p95 fails"), "bad",
                    "Rolled back at 2023-11-14 22:13: gate write_p95 fails"),
    "complete": (lambda s: (in_state(s, "complete", stage="full", percent=100), s.update(next=None)), "good",
                 "Complete: everybody is on new"),
    "complete, failing": (lambda s: (fails(s), in_state(s, "complete", stage="full", percent=100)), "bad",
                          "Complete, but look: gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %"),
    "last stage": (lambda s: (in_state(s, "running", stage="full", percent=100), s.update(next=None)), "good",
                   "In the last stage, full (100 %): every gate passes"),
    "no plan": (without_plan, "unsure", "No plan: the percent is set by hand, now 12.5 %"),
}


@pytest.mark.parametrize("name", JUDGEMENTS)
def test_one_sentence_says_whether_it_is_safe_to_go_on(played, open_page, name):
    change, tone, headline = JUDGEMENTS[name]
    change(played.status)
    tab = open_page()
    assert tab.text("#headline") == headline
    assert tab.page.locator("#judgement").get_attribute("data-tone") == tone
    # Not by colour alone: the sign's shape differs, too.
    shape = tab.page.locator("#headline-sign").get_attribute("href")
    assert shape != "#sign-good" or tone == "good"
    assert tab.page.title().find(headline[:20]) > 0 or "\xa0" in headline
    # The eye is led to promote only while it is safe.
    assert ("solid" in (tab.action("promote").get_attribute("class") or "")) == (tone == "good")


def test_gates_that_cannot_say_yet_are_one_sentence(played, open_page):
    thin(played.status)
    tab = open_page()
    names = ", ".join(one["name"] for one in played.status["gates"])
    assert tab.text("#points li") == f"6 gates cannot say yet: {names}"
    assert tab.page.locator("#points li").count() == 1
    tab.wait_for(HOLDS, "traffic")
    assert tab.texts(HOLDS) == ["There has been no traffic in this stage", f"6 gates cannot say yet: {names}"]


def test_the_value_is_named_by_the_side_that_it_is_of(played, open_page):
    # Right after a rollback the gate looks at legacy, while the window still holds what new did.
    played.status["metrics"]["read_error_rate"]["backend"] = "legacy"
    tab = open_page()
    assert "1,412 reads of new" in tab.text('[data-metric="read_error_rate"] .basis')


def test_a_gate_that_cannot_apply_holds_nothing(played, open_page):
    played.status["gates"][3].update(verdict="insufficient", reason="nobody is on new in this stage", applies=False)
    tab = open_page()
    assert tab.text("#headline") == "Not yet: stage canary is held for 47 min more"


def test_every_reason_is_told_once(played, open_page):
    fails(played.status)
    played.status["journal"]["parked"] = 2
    tab = open_page()
    assert tab.texts("#points li") == ["Stage canary is held for 47 min more", "2 parked legs wait for an operator"]
    tab.wait_for(HOLDS, "held")
    assert tab.texts(HOLDS) == [
        "Stage canary is held for 47 min more", "Gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %"]


def test_the_ladder_counts_time_under_load_apart(played, open_page):
    tab = open_page()
    here = tab.text('#ladder [data-step="here"]')
    assert "canary" in here and "1 h 13 min of 2 h under load" in here and "2 min idle, not counted" in here
    assert [rung.get_attribute("data-step") for rung in tab.page.locator(".rung").all()] == [
        "done", "done", "here", "next", "later", "later"]


# The figures


def test_a_figure_has_value_samples_limit_and_verdict_in_words_and_both_sides(played, open_page):
    tab = open_page()
    errors = tab.text('[data-metric="read_error_rate"]')
    for words in ("0.07 %", "1,412 reads of new", "limit 0.5 %", "legacy + 0.2 %", "pass", "0.02 % of 52,210",
                  "< 0.01 % of 53,622"):
        assert words in errors, words
    writes = tab.text('[data-metric="write_p95_seconds"]')
    assert "18 ms" in writes and "limit 300 ms" in writes and "1.5 × legacy" in writes and "21 ms of 8,743" in writes
    fails(played.status)
    played.push()
    tab.wait_for('[data-metric="read_error_rate"] .verdict', "fail")
    assert tab.page.locator('[data-metric="read_error_rate"] .verdict use').get_attribute("href") == "#sign-bad"
    assert "limit 0.5" in tab.text('[data-metric="read_error_rate"] .reason')


def test_no_samples_are_never_a_zero(played, open_page):
    thin(played.status)
    played.status["metrics"]["read_error_rate"]["by_backend"]["new"] = {"value": None, "samples": 0}
    tab = open_page()
    for value in tab.page.locator(".figure .value").all():
        assert value.inner_text() == "no samples"
    assert tab.text('[data-metric="read_error_rate"] [data-side="new"] dd') == "no samples"


def test_gaps_are_gaps_and_stage_changes_are_marked(charted, open_page):
    tab = open_page()
    chart = tab.page.locator('[data-chart="read_error_rate"]')
    tab.until(lambda: chart.locator(".line.legacy").count() == 2, "legacy's line is broken by the gap")
    assert chart.locator("path.line.new").count() == 1, "new's begins where new was read first"
    assert chart.locator(".gap").count() == 1
    assert chart.locator(".limit").count() == 1 and "limit 0.5" in chart.inner_text()
    assert [plain(mark.text_content()) for mark in chart.locator(".mark-label").all()] == ["canary 1 %"]
    lengths = [chart.locator(f".line.{side}").last.evaluate("node => node.getBBox().width")
               for side in ("legacy", "new")]
    assert lengths[1] < lengths[0] < chart.locator("svg").bounding_box()["width"]


def test_a_chart_is_read_off_with_the_keyboard_and_as_a_table(charted, open_page):
    tab = open_page()
    slider = tab.page.locator('[data-chart="read_error_rate"] [role="slider"]')
    tab.until(lambda: "of" in (slider.get_attribute("aria-valuetext") or ""), "the history is there")
    slider.focus()
    tab.page.keyboard.press("ArrowLeft")
    tab.page.keyboard.press("ArrowLeft")
    words = plain(slider.get_attribute("aria-valuetext"))
    assert "legacy 1 % of 600" in words and "new 4 % of 300" in words, words
    readout = tab.page.locator('[data-chart="read_error_rate"] .readout')
    assert plain(readout.inner_text()) == words
    tab.page.keyboard.press("Home")
    assert "new no samples" in slider.get_attribute("aria-valuetext")
    for _ in range(22):
        tab.page.keyboard.press("ArrowRight")
    assert "nothing recorded" in slider.get_attribute("aria-valuetext")
    tab.page.get_by_text("Read errors as a table").click()
    table = tab.page.get_by_role("table", name=re.compile("Read errors, the last 15 minutes"))
    # 89 spans without the 12 of the gap, and without those that have left the picture meanwhile.
    assert 60 < table.locator("tbody tr").count() <= 77
    assert [cell.inner_text() for cell in table.locator("thead th").all()] == ["from", "legacy", "new", "clients saw"]


def test_the_mouse_reads_all_charts_at_one_moment(charted, open_page):
    tab = open_page()
    tab.until(lambda: tab.page.locator("path.line.new").count() > 1, "the history is there")
    tab.page.locator('[data-chart="read_error_rate"] svg').hover(position={"x": 300, "y": 60})
    read = [tab.text(f'[data-chart="{name}"] .readout').split(" · ")[0] for name in
            ("read_error_rate", "write_p95_seconds", "conflict_rate", "fallback_rate")]
    assert len(set(read)) == 1 and re.fullmatch(r"\d\d:\d\d:\d\d", read[0])


@pytest.mark.parametrize("key, words, resolution", [
    ("2", "2 hours", "60"), ("3", "24 hours", "600"), ("4", "7 days", "600")])
def test_other_spans_ask_for_coarser_rows(charted, open_page, key, words, resolution):
    tab = open_page()
    tab.page.keyboard.press(key)
    tab.wait_for('[data-chart="read_error_rate"] .readout', words)
    # What it asked for at first may be asked for once more.
    tab.until(
        lambda: any(f"resolution={resolution}" in one["query"] for one in charted.requests
                    if one["path"].endswith("/history")), "it asks")


def test_a_finished_row_grows_the_charts_at_once(charted, open_page):
    tab = open_page()
    slider = tab.page.locator('[data-chart="conflict_rate"] [role="slider"]')
    tab.until(lambda: "of" in (slider.get_attribute("aria-valuetext") or ""), "the history is there")
    at = int(time.time()) // 10 * 10
    charted.send("history", history_row(at, writes_received=1000, conflicts=77))
    tab.page.locator('[data-chart="conflict_rate"] summary').click()
    tab.wait_for('[data-chart="conflict_rate"] tbody tr:first-child', r"[3-9]\.\d+.%")


# Pictures


@pytest.mark.parametrize("name", ["ready", "fails", "insufficient", "rolled back"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_and_is_drawn_in_every_width_and_theme(played, open_page, name, theme):
    """Leaves pictures in build/screenshots/ for whoever changes the page; docs/operators-page.png is ready-dark-top."""
    make_ordinary(played)
    played.rows = ordinary_rows(int(time.time()) // 10 * 10)
    JUDGEMENTS[name][0](played.status)
    for width in (1320, 360):
        tab = open_page(theme=theme, size=(width, 1010))
        tab.until(lambda: tab.page.locator(".line").count() >= 6, "the charts are drawn")
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        label = name.replace(" ", "-")
        tab.shot(f"{label}-{theme}-{width}", full=True)
        if width > 1000:
            tab.shot(f"{label}-{theme}-top")
