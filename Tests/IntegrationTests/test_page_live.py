"""How the operators' page keeps up with the gateway, and how it changes something there.

Both are played (`support/played_admin.py`).
"""

import time

import pytest

from support.played_admin import OPERATOR, instant, problem
from support.played_page import browser, document, fails, open_page, played, ready


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
    tab.until(lambda: [one for one in played.requests if one["headers"].get("Last-Event-ID") == "41"], "it resumes")
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


def test_a_tab_that_nobody_looks_at_gives_its_connection_back(played, open_page):
    tab = open_page()
    tab.wait_for("#link-text", "^Live$")
    look = """(hidden) => { Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
        document.dispatchEvent(new Event("visibilitychange")); }"""
    tab.page.evaluate(look, True)
    tab.until(lambda: not played.streams, "the stream is let go")
    asked = len([one for one in played.requests if one["path"] == "/api/v1/status"])
    tab.page.evaluate(look, False)
    tab.until(lambda: played.streams, "it is back")
    tab.wait_for("#link-text", "^Live$")
    assert asked >= 1, "meanwhile it asks now and then"


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


def test_all_events_are_saved_as_a_file(played, open_page):
    played.answers["/api/v1/events"] = lambda seen: (200, {"items": [], "next": None, "asked": seen["query"]})
    tab = open_page()
    with tab.page.expect_download() as saved:
        tab.page.click("#events-export")
    assert saved.value.suggested_filename == "cutover-events.ndjson"
    assert "format=ndjson" in saved.value.path().read_text()
    asked = [one for one in played.requests if "ndjson" in one["query"]]
    assert [one["headers"]["Authorization"] for one in asked] == [f"Bearer {OPERATOR}"]
