"""The operators' page in states that a real gateway reaches only after hours, and against what must never happen.

The document is the real gateway's; what it is told is played (`support/played_admin.py`).
"""

import re
import time

import pytest

from support.browser import Browser
from support.gateway import Gateway
from support.played_admin import OPERATOR, PlayedAdmin, history_row, instant, ordinary_rows, problem

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>alert(1)</script>'\"&lt;\u202e\u0000x"
WIDE = "w" * 600


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.close()


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
    tabs = []

    def open_(token=OPERATOR, **options):
        tabs.append(browser.tab(played.url, token=token, **options))
        return tabs[-1]

    yield open_
    try:
        for tab in tabs:
            tab.check()
    finally:
        for tab in tabs:
            tab.close()


def plain(text):
    return text.replace("\xa0", " ")


# The judgement


def ready(status, mode="manual"):
    status["next"].update(ready=True, held_seconds=7200, waiting_seconds=900, blocked_by=[], mode=mode)


def fails(status):
    why = "3.1 % of 412 reads of new, limit 0.5 %"
    status["gates"][0].update(verdict="fail", value=0.031, samples=412, reason=why)
    status["metrics"]["read_error_rate"].update(verdict="fail", value=0.031, samples=412, reason=why)
    status["next"].update(ready=False, blocked_by=["stage canary is held for 47 min more", f"gate read_error_rate fails: {why}"])


def thin(status, verdict="insufficient"):
    for one in status["gates"]:
        one.update(verdict=verdict, value=None, samples=0, reason="0 of the 200 samples that it takes")
    for one in status["metrics"].values():
        one.update(verdict=verdict, value=None, samples=0, reason="0 of the 200 samples that it takes")
    status["next"].update(ready=False, blocked_by=[
        "there has been no traffic in this stage", *(f"gate {one['name']} cannot say yet: {one['reason']}" for one in status["gates"])])


def in_state(status, state, **more):
    status["rollout"].update(state=state, **more)


def without_plan(status):
    status["rollout"].update(plan=None, stage=None, percent=12.5)
    status.update(next=None, gates=[])


THIN = "Too early to say: there has been no traffic in this stage"
JUDGEMENTS = {
    "ready": (ready, "good", "Safe to go on to early (10 %)"),
    "automatic": (lambda s: ready(s, "automatic"), "good", "Going on to early (10 %) by itself"),
    "held": (lambda s: None, "unsure", "Not yet: stage canary is held for 47 min more"),
    "fails": (fails, "bad", "Do not go on: gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %"),
    "insufficient": (thin, "unsure", THIN),
    "warming": (lambda s: thin(s, "warming_up"), "unsure", THIN),
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
    assert plain(tab.text("#headline")) == headline
    assert tab.page.locator("#judgement").get_attribute("data-tone") == tone
    # Not by colour alone: the sign's shape differs, too.
    shape = tab.page.locator("#headline-sign").get_attribute("href")
    assert shape != "#sign-good" or tone == "good"
    assert tab.page.title().find(headline[:20]) > 0 or "\xa0" in headline
    # The eye is led to promote only while it is safe.
    assert ("solid" in (tab.action("promote").get_attribute("class") or "")) == (tone == "good")


def test_a_gate_that_cannot_apply_holds_nothing(played, open_page):
    played.status["gates"][3].update(verdict="insufficient", reason="nobody is on new in this stage", applies=False)
    tab = open_page()
    assert plain(tab.text("#headline")) == "Not yet: stage canary is held for 47 min more"


def test_every_reason_is_told_once(played, open_page):
    fails(played.status)
    played.status["journal"]["parked"] = 2
    tab = open_page()
    points = [plain(point.inner_text()) for point in tab.page.locator("#points li").all()]
    assert points == ["Stage canary is held for 47 min more", "2 parked legs wait for an operator"]
    holds = tab.page.locator('#ladder [data-step="next"] .blocks li').all()
    assert [one.inner_text() for one in holds] == [
        "Stage canary is held for 47 min more", "Gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %"]


def test_the_ladder_counts_time_under_load_apart(played, open_page):
    tab = open_page()
    here = plain(tab.text('#ladder [data-step="here"]'))
    assert "canary" in here and "1 h 13 min of 2 h under load" in here and "2 min idle, not counted" in here
    assert [rung.get_attribute("data-step") for rung in tab.page.locator(".rung").all()] == [
        "done", "done", "here", "next", "later", "later"]


# The figures


def test_a_figure_has_value_samples_limit_and_verdict_in_words_and_both_sides(played, open_page):
    tab = open_page()
    errors = plain(tab.text('[data-metric="read_error_rate"]'))
    for words in ("0.07 %", "1,412 reads of new", "limit 0.5 %", "legacy + 0.2 %", "pass", "0.02 % of 52,210",
                  "< 0.01 % of 53,622"):
        assert words in errors, words
    writes = plain(tab.text('[data-metric="write_p95_seconds"]'))
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


def rows_with_a_gap(now):
    """Fifteen minutes in tens of seconds: legacy always, new only in the second half, and two minutes without a record."""
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


def test_gaps_are_gaps_and_stage_changes_are_marked(charted, open_page):
    tab = open_page()
    chart = tab.page.locator('[data-chart="read_error_rate"]')
    tab.until(lambda: chart.locator(".line.legacy").count() == 2, "legacy's line is broken by the gap")
    assert chart.locator("path.line.new").count() == 1, "new's begins where new was read first"
    assert chart.locator(".gap").count() == 1
    assert chart.locator(".limit").count() == 1 and "limit 0.5" in chart.inner_text()
    assert [plain(mark.text_content()) for mark in chart.locator(".mark-label").all()] == ["canary 1 %"]
    lengths = [chart.locator(f".line.{side}").last.evaluate("node => node.getBBox().width") for side in ("legacy", "new")]
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


@pytest.mark.parametrize("key, words, resolution", [("2", "2 hours", "60"), ("3", "24 hours", "600"), ("4", "7 days", "600")])
def test_other_spans_ask_for_coarser_rows(charted, open_page, key, words, resolution):
    tab = open_page()
    tab.page.keyboard.press(key)
    tab.wait_for('[data-chart="read_error_rate"] .readout', words)
    asked = tab.until(lambda: [one["query"] for one in charted.requests if one["path"].endswith("/history")][1:], "it asks")
    assert f"resolution={resolution}" in asked[-1]


def test_a_finished_row_grows_the_charts_at_once(charted, open_page):
    tab = open_page()
    slider = tab.page.locator('[data-chart="conflict_rate"] [role="slider"]')
    tab.until(lambda: "of" in (slider.get_attribute("aria-valuetext") or ""), "the history is there")
    at = int(time.time()) // 10 * 10
    charted.send("history", history_row(at, writes_received=1000, conflicts=77))
    tab.page.locator('[data-chart="conflict_rate"] summary').click()
    tab.wait_for('[data-chart="conflict_rate"] tbody tr:first-child', r"[3-9]\.\d+.%")


# Live


def test_events_and_mismatches_come_over_the_stream_and_it_is_resumed_where_it_broke_off(played, open_page):
    tab = open_page()
    tab.wait_for("#link-text", "^Live$")
    event = {"seq": 41, "at": instant(time.time()), "actor": "gate", "action": "rollback", "before": {"percent": 1},
             "after": {"percent": 0}, "reason": "gate read_error_rate fails"}
    played.send("change", event, seq=41)
    tab.wait_for("#events", "gate read_error_rate fails")
    played.send("mismatch", {"seq": 7, "at": instant(time.time()), "kind": "content", "method": "GET", "target": "/n/1",
                             "paths": ["/a", "/b"], "legacy": {"status": 200, "hash": "a" * 32},
                             "new": {"status": 404, "hash": "b" * 32}})
    tab.wait_for("#mismatches", "/a and 1 more")
    for stream in list(played.streams):
        stream.put(None)
    tab.until(lambda: [one for one in played.requests if one["headers"].get("Last-Event-ID") == "41"], "it resumes behind 41")
    tab.wait_for("#link-text", "^Live$")
    tab.allow("ERR_INCOMPLETE_CHUNKED_ENCODING")


def test_a_stream_is_understood_however_it_is_cut(played, open_page):
    tab = open_page()
    tab.wait_for("#link-text", "^Live$")
    event = ('id: 9\r\nevent: change\r\ndata: {"seq":9,"at":"2026-11-30T01:02:03Z","actor":"ä€😀",\r\n'
             'data: "action":"pause","before":{},"after":{},"reason":"in pieces"}\r\n\r\n').encode()
    played.streams[0].put(b": alive\n\n")
    for index in range(len(event)):
        played.streams[0].put(event[index:index + 1])
    tab.wait_for("#events", "in pieces")
    assert "ä€😀" in tab.text("#events")


def test_without_a_stream_it_asks_every_two_seconds(played, open_page):
    played.has_stream = False
    tab = open_page()
    tab.allow("status of 404")
    tab.wait_for("#link-text", "Live, every 2 s")
    played.status["rollout"].update(stage="early", percent=10.0, generation=13)
    tab.wait_for('[data-field="stage"]', "^early$")


def test_a_stream_that_falls_silent_is_stale_and_given_up(played, open_page):
    tab = open_page()
    tab.wait_for("#link-text", "^Live$")
    played.is_silent = True
    tab.wait_for("#link-text", "^Stale since")
    played.is_silent = False
    tab.wait_for("#link-text", "^Live$")


def test_where_reading_needs_a_token_it_asks_for_one(played, open_page):
    played.has_stream = False
    honest = played.read

    def read(seen):
        allowed = seen["headers"].get("Authorization") == f"Bearer {OPERATOR}"
        return honest("status", {}) if allowed else problem(401, "this needs an admin token")

    played.answers["/api/v1/status"] = read
    tab = open_page(token=None, wait=False)
    tab.allow("status of 40[14]")
    tab.wait_for("#link-text", "No access")
    assert "nothing without a token" in tab.text("#token-why")
    tab.page.fill("#token", OPERATOR)
    tab.page.keyboard.press("Enter")
    tab.wait_for('[data-field="stage"]', "canary")


def test_screen_readers_hear_a_new_judgement_once_and_no_numbers(played, open_page):
    tab = open_page()
    tab.wait_for("#link-text", "^Live$")
    tab.page.evaluate("""() => {
        window.heard = [];
        const live = document.querySelectorAll("[role=status], [role=alert], [aria-live]");
        for (const node of live) new MutationObserver(() => heard.push(node.id + ": " + node.textContent))
            .observe(node, {childList: true, characterData: true, subtree: true});
    }""")
    for second in range(4):
        played.status["next"]["blocked_by"] = [f"stage canary is held for {46 - second} min more"]
        played.status["metrics"]["read_error_rate"]["samples"] += 50
        played.push()
        tab.wait_for("#headline", f"{46 - second} min")
    assert tab.page.evaluate("heard") == []
    ready(played.status)
    played.push()
    tab.wait_for("#announcer", "Safe to go on to early")
    assert len(tab.page.evaluate("heard")) == 1


# Changes


def test_promote_stands_on_the_generation_that_was_seen_and_rollback_on_none(played, open_page):
    tab = open_page()
    tab.action("promote").click()
    tab.wait_for("#step-body", "Go on to early")
    tab.page.locator('[data-confirm="promote"]').click()
    tab.wait_for('[data-field="stage"]', "^early$")
    promote = played.changes("POST")[-1]
    assert promote["headers"]["If-Match"] == '"12"' and promote["path"] == "/api/v1/rollout/promote"
    assert promote["headers"]["Origin"] == played.url, "what the gateway's check against forged requests needs"
    tab.action("rollback").click()
    tab.action("rollback").click()
    tab.wait_for('[data-field="state"]', "^rolled_back$")
    assert "If-Match" not in played.changes("POST")[-1]["headers"]


def test_a_refused_step_says_why_and_is_forced_only_with_a_reason(played, open_page):
    fails(played.status)
    tab = open_page()
    tab.allow("status of 409")
    tab.action("promote").click()
    tab.wait_for("#step-body", "Gate read_error_rate fails: 3.1 % of 412 reads of new")
    assert tab.page.locator('[data-confirm="promote"]').count() == 0
    tab.page.get_by_role("button", name="Look at forcing it").click()
    tab.wait_for("#step-body", "Force early")
    tab.page.locator('[data-confirm="promote"]').click()
    assert played.changes() == [], "nothing without a reason"
    tab.page.fill("#step-reason", "known and harmless")
    tab.page.keyboard.press("Enter")
    tab.wait_for('[data-field="stage"]', "^early$")
    assert played.changes()[-1]["body"] == {"force": True, "reason": "known and harmless"}


def test_warnings_are_shown_before_a_step(played, open_page):
    played.status["gates"][0].update(verdict="insufficient")
    tab = open_page()
    tab.action("promote").click()
    tab.wait_for("#step-body", "Gate read_error_rate: insufficient")


def test_rollback_gets_through_while_everything_else_hangs(played, open_page):
    tab = open_page()
    tab.wait_for("#link-text", "^Live$")
    tab.allow("ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION")
    played.hangs |= {f"/api/v1/{path}" for path in (
        "status", "rollout", "events", "mismatches", "journal", "metrics/history", "users/1", "stream")}
    for key in "1234":
        tab.page.keyboard.press(key)
    for number in range(8):
        tab.page.fill("#user", "1")
        tab.page.locator("#user-form button").click()
    tab.until(lambda: len([one for one in played.requests if one["path"] in played.hangs]) >= 2, "requests hang")
    begun = time.monotonic()
    tab.action("rollback").click()
    tab.action("rollback").click()
    tab.until(lambda: [one for one in played.changes() if one["path"].endswith("/rollback")], "it arrives")
    tab.wait_for('[data-field="state"]', "^rolled_back$")
    assert time.monotonic() - begun < 8


def test_rollback_without_an_answer_is_sent_again(played, open_page):
    tab = open_page()
    tab.allow("ERR_")
    path = "/api/v1/rollout/rollback"
    played.hangs.add(path)
    tab.action("rollback").click()
    tab.action("rollback").click()
    tab.wait_for("#rollback-says", r"No answer yet; sent again \(2 of 6\)")
    played.hangs.remove(path)
    tab.wait_for('[data-field="state"]', "^rolled_back$")
    tab.wait_for("#rollback-says", "Rolled back to dual-write")


def test_a_rollback_that_is_let_be_does_nothing(played, open_page):
    tab = open_page()
    tab.action("rollback").click()
    tab.wait_for('[data-action="rollback"]', "Press again")
    tab.page.locator("#user").focus()
    tab.wait_for('[data-action="rollback"]', r"^\s*Roll back")
    assert played.changes() == []


def test_a_held_key_is_one_press(played, open_page):
    tab = open_page()
    tab.action("rollback").focus()
    tab.page.keyboard.down("Enter")
    for _ in range(5):
        tab.page.keyboard.down("Enter")  # Without an up between them they are repeats.
    tab.wait_for('[data-action="rollback"]', "Press again")
    assert played.changes() == []
    tab.page.keyboard.up("Enter")


def test_single_keys_can_be_switched_off_and_do_not_disturb_typing(played, open_page):
    tab = open_page()
    tab.page.locator("#user").focus()
    tab.page.keyboard.type("rpht?1")
    assert tab.page.input_value("#user") == "rpht?1"
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("?")
    tab.page.locator("#keys-on").uncheck()
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("r")
    tab.page.keyboard.press("p")
    assert "Press again" not in tab.text('[data-action="rollback"]') and not tab.page.locator("#step").is_visible()
    assert played.changes() == []


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
        events=[{"seq": 1, "at": now, "actor": HOSTILE, "action": HOSTILE, "before": {HOSTILE: HOSTILE}, "after": HOSTILE,
                 "reason": HOSTILE + WIDE}],
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
            return node === document.body ? null : node.id || node.dataset.action || node.name || node.closest("[data-chart]")?.dataset.chart || node.tagName; }""")
        if name is None:
            break
        seen.append(name)
    assert seen[0] == "A", "the way past the header comes first"
    for name in ("token-open", "theme", "help-open", "rollback", "promote", "pause", "user", "events-export",
                 "read_error_rate", "fallback_rate"):
        assert name in seen, name
    assert len(seen) < 60, "Tab comes to an end"


def make_ordinary(played):
    now = time.time()
    played.lists["events"] = [
        {"seq": 3, "at": instant(now - 4500), "actor": "admin@127.0.0.1", "action": "promote",
         "before": {"stage": "shadow", "percent": 0}, "after": {"stage": "canary", "percent": 1},
         "reason": "an hour of shadow reads, nothing differed"},
        {"seq": 2, "at": instant(now - 8200), "actor": "admin@127.0.0.1", "action": "promote",
         "before": {"stage": "dual-write", "shadow_percent": 0}, "after": {"stage": "shadow", "shadow_percent": 100},
         "reason": "by the operators' page"}]
    played.lists["mismatches"] = [
        {"seq": number, "at": instant(now - 700 * (4 - number)), "kind": "content", "method": "GET",
         "target": f"/notes/{number * 31}", "paths": ["/title"] if number % 2 else ["/items/3/text", "/updatedAt"],
         "legacy": {"status": 200, "hash": "b97713dd4c0fa2317f9d0b6aa0431e58"},
         "new": {"status": 200, "hash": "c112d52f0e71b3a8d24495c06b8f2a17"}} for number in (3, 2, 1)]
    played.users["42"] = {"user": "42", "bucket": 617, "percent_needed": 6.18, "side": "legacy",
                          "reason": "outside-percent", "pin": None, "since": instant(now - 4500)}


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
