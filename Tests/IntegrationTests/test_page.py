"""The operators' page before a real gateway, in a real browser (contract §9)."""

import re
import threading

import pytest

from support.backend import reply
from support.browser import browser
from support.gateway import free_port
from support.waiting import eventually

STAGES = [
    {"name": "dual-write", "percent": 0, "shadow": "100%"}, {"name": "canary", "percent": 1, "shadow": "100%"},
    {"name": "half", "percent": 50, "shadow": "100%"}, {"name": "full", "percent": 100, "shadow": "100%"}]
PLAN = {"name": "my-migration", "stages": STAGES, "min_samples": 5, "window": "1m",
        "gates": {"read_error_rate": "50%", "write_p95": "5s", "conflict_rate": "50%", "fallback_rate": "50%"}}
FIGURES = ("read_error_rate", "write_p95_seconds", "conflict_rate", "fallback_rate")


@pytest.fixture
def planned(make_gateway, legacy, new):
    return make_gateway(legacy, new, plan=PLAN, config={"shadow": {"percent": 100, "recheck_after": "50ms"}})


@pytest.fixture
def open_page(browser):
    """Opens the page of a gateway: `open_page(gateway, role=…, theme=…, size=…)`."""
    with browser.watched_tabs() as open_tab:
        yield lambda gateway, role="admin", **options: open_tab(
            gateway.admin_url, token=gateway.token(role) if role else None, **options)


class Load:
    """Reads and writes of many users until it is stopped."""

    def __init__(self, gateway):
        self.gateway, self.stopped = gateway, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        number = 0
        while not self.stopped.is_set():
            number += 1
            try:
                self.gateway.get(f"/notes/{number}", user=f"user-{number % 40}")
                self.gateway.fetch("POST", f"/notes/{number}", body=b"{}", user=f"user-{number % 40}")
            except OSError:
                pass  # A gateway that a test has just killed.

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join(10)


# The document


def test_one_document_with_a_strict_policy_and_nothing_from_elsewhere(planned):
    status, document, headers = planned.admin("GET", "/")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    nonce = policy["script-src"].removeprefix("'nonce-").removesuffix("'")
    assert policy == {
        "default-src": "'none'", "script-src": f"'nonce-{nonce}'", "style-src": f"'nonce-{nonce}'",
        "connect-src": "'self'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'", "trusted-types": "'none'"}
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
    assert document.count(f'nonce="{nonce}"') == document.count("nonce=") == 2
    assert "{{" not in document
    # What is loaded by itself: nothing. Names of XML are no addresses.
    assert re.findall(r"(?:src|@import|url)\s*[=(]", document) == []
    assert set(re.findall(r"https?://[^\s\"'<>)]+", document)) == {"http://www.w3.org/2000/svg"}
    assert planned.admin("GET", "/")[2]["Content-Security-Policy"] != headers["Content-Security-Policy"]


def test_the_document_needs_no_token_and_holds_none(planned):
    _, document, _ = planned.admin("GET", "/")
    assert planned.token() not in document and planned.token("viewer") not in document
    assert planned.admin("HEAD", "/")[0] == 200
    assert planned.admin("POST", "/", {}, token=planned.token())[0] in (404, 405)


# What it shows


def test_it_says_where_the_rollout_is(planned, open_page):
    tab = open_page(planned)
    assert tab.content('[data-field="stage"]') == "dual-write"
    assert tab.content('[data-field="percent"]') == "0 %"
    assert tab.content('[data-field="state"]') == "running"
    assert tab.text("#plan") == "my-migration" and tab.text("#gateway") in planned.admin_url
    rungs = [name.inner_text() for name in tab.page.locator("#ladder .name").all()]
    assert rungs == [stage["name"] for stage in STAGES]
    assert tab.page.locator('#ladder [aria-current="step"] .name').inner_text() == "dual-write"
    tab.wait_for("#link-text", "^Live$")


def test_values_change_under_load_and_none_is_shown_as_zero(planned, open_page):
    tab = open_page(planned, role=None)
    for name in FIGURES:
        assert "no samples" in tab.text(f'[data-metric="{name}"] .value')
    with Load(planned):
        tab.wait_for('[data-metric="read_error_rate"] .value', "^0.%$")
        tab.wait_for('[data-metric="write_p95_seconds"] .value', r"^[\d.]+.m?s$")
        tab.wait_for('[data-metric="conflict_rate"] .value', "^0.%$")
        first = tab.wait_for('[data-metric="write_p95_seconds"]', r"[1-9]\d* writes")
        tab.until(lambda: tab.content('[data-metric="write_p95_seconds"]') != first, "the figure moves on")
        # Nobody is on new yet: that nothing fell back is not known.
        assert "no samples" in tab.text('[data-metric="fallback_rate"] .value')
        # The history's first rows: a dot, then a line.
        drawn = tab.page.locator('[data-chart="read_error_rate"]').locator(".dot.legacy, .line.legacy")
        tab.until(drawn.count, "the chart begins", 40)
        planned.set_percent(100)
        tab.wait_for('[data-field="percent"]', "^100")
        tab.wait_for('[data-metric="fallback_rate"] .value', "^0.%$")
        planned.set_percent(0)


def test_changes_of_others_show_by_themselves(planned, open_page):
    tab = open_page(planned, role=None)
    planned.change("POST", "rollout/promote", {"reason": "from somewhere else"})
    tab.wait_for('[data-field="stage"]', "^canary$")
    tab.wait_for("#events", "from somewhere else")
    assert tab.page.locator('#ladder [aria-current="step"] .name').inner_text() == "canary"


def test_mismatches_come_up_with_their_paths(planned, legacy, new, open_page):
    legacy.answer = lambda request: reply(b'{"title":"Walden","pages":352}')
    new.answer = lambda request: reply(b'{"title":"Walden","pages":353}')
    tab = open_page(planned, role=None)
    tab.wait_for("#mismatches", "None on record")
    planned.get("/books/1?as=<b>json</b>", user="anna")
    summary = tab.page.locator("#mismatches summary").first
    summary.wait_for()
    assert "GET /books/1?as=<b>json</b>" in summary.inner_text() and "/pages" in summary.inner_text()
    summary.click()
    inside = tab.page.locator("#mismatches .inside").first
    assert "/pages" in inside.inner_text() and "answered 200" in inside.inner_text()
    assert len(re.findall(r"\b[0-9a-f]{32}\b", inside.inner_text())) == 2


def test_a_user_is_looked_up_with_the_reason(planned, open_page):
    tab = open_page(planned)
    known = planned.read("users/anna")
    tab.page.fill("#user", "anna")
    tab.page.keyboard.press("Enter")
    says = tab.wait_for("#user-says .answer", "anna")
    assert f"bucket {known['bucket']} of 10000" in says and "served by legacy" in says
    assert "does not admit it" in says and f"{known['percent_needed']:g} %" in says
    tab.page.get_by_role("button", name="Keep on new").click()
    tab.wait_for("#user-says .answer", "pinned to new by an operator")
    assert planned.read("users/anna")["pin"] == "new"
    tab.page.get_by_role("button", name="Let the percent decide").click()
    tab.wait_for("#user-says .answer", "does not admit it")
    assert planned.read("users/anna")["pin"] is None


def test_a_parked_leg_is_shown_and_replayed(planned, new, open_page):
    new.answer = lambda request: reply(b"{}", 422) if request.method == "PUT" else reply()
    tab = open_page(planned)
    planned.fetch("PUT", "/notes/<i>7</i>", body=b"{}", user="anna")
    tab.wait_for("#parked-title", "Parked legs: 1")
    row = tab.wait_for("#parked", "PUT /notes/")
    assert "<i>7</i>" in row and "new answered 422" in row
    new.answer = lambda request: reply()
    tab.page.get_by_role("button", name=re.compile("Replay change")).click()
    tab.wait_for("#parked-title", "Parked legs: 0")
    assert planned.status()["journal"]["parked"] == 0
    tab.wait_for("#parked", "None")


# What it changes


def test_promote_shows_what_it_will_do_and_does_it_when_confirmed(planned, open_page):
    tab = open_page(planned)
    tab.action("promote").click()
    preview = tab.wait_for("#step-body", "canary")
    assert "dual-write" in preview and "0 %" in preview and "1 %" in preview
    assert "Promote to canary" in tab.text("#step-title")
    assert planned.status()["rollout"]["stage"] == "dual-write", "looking changes nothing"
    tab.page.fill("#step-reason", "all <quiet>")
    tab.page.locator('[data-confirm="promote"]').click()
    tab.wait_for('[data-field="stage"]', "^canary$")
    assert planned.status()["rollout"]["stage"] == "canary"
    assert planned.read("events")["items"][0]["reason"] == "all <quiet>"
    tab.wait_for("#events", "all <quiet>")
    assert not tab.page.locator("#step").is_visible()


def test_a_step_that_was_only_looked_at_is_not_taken(planned, open_page):
    tab = open_page(planned)
    tab.page.keyboard.press("p")
    tab.wait_for("#step-body", "canary")
    tab.page.keyboard.press("Escape")
    assert not tab.page.locator("#step").is_visible()
    assert planned.status()["rollout"]["stage"] == "dual-write"


def test_a_step_looked_at_before_somebody_elses_change_is_refused(planned, open_page):
    tab = open_page(planned)
    tab.allow("status of 412")
    tab.action("promote").click()
    tab.wait_for("#step-body", "canary")
    planned.change("POST", "rollout/pause", {"reason": "wait"})
    tab.page.locator('[data-confirm="promote"]').click()
    tab.wait_for("#step-body", "has changed since you looked")
    assert planned.status()["rollout"]["stage"] == "dual-write"


def test_pause_and_resume_at_once(planned, open_page):
    tab = open_page(planned)
    tab.action("pause").click()
    tab.wait_for('[data-field="state"]', "^paused$")
    assert planned.status()["rollout"]["state"] == "paused"
    assert tab.action("pause").is_disabled()
    tab.action("resume").click()
    tab.wait_for('[data-field="state"]', "^running$")
    assert planned.status()["rollout"]["state"] == "running"


def test_rollback_is_one_motion_with_the_mouse(planned, open_page):
    planned.change("POST", "rollout/promote", {"to": "half"})
    tab = open_page(planned)
    tab.wait_for('[data-field="stage"]', "^half$")
    button = tab.action("rollback")
    before = button.bounding_box()
    button.click()
    tab.wait_for('[data-action="rollback"]', "Press again")
    assert button.bounding_box() == before, "the second press is on the same spot"
    assert planned.status()["rollout"]["percent"] == 50, "one press does nothing"
    button.click()
    tab.wait_for('[data-field="state"]', "^rolled_back$")
    rollout = planned.status()["rollout"]
    assert (rollout["state"], rollout["stage"], rollout["percent"]) == ("rolled_back", "dual-write", 0)
    tab.wait_for("#headline", "^Rolled back at ")


def test_rollback_is_one_motion_with_the_keyboard(planned, open_page):
    planned.change("POST", "rollout/promote", {"to": "half"})
    tab = open_page(planned)
    tab.wait_for('[data-field="stage"]', "^half$")
    tab.page.keyboard.press("r")
    tab.wait_for('[data-action="rollback"]', "Press again")
    tab.page.keyboard.press("Escape")
    tab.wait_for('[data-action="rollback"]', "^\\s*Roll back")
    tab.page.keyboard.press("Enter")
    tab.wait_for('[data-action="rollback"]', "Press again")
    assert planned.status()["rollout"]["percent"] == 50
    tab.page.keyboard.press("Enter")
    tab.wait_for('[data-field="state"]', "^rolled_back$")
    assert planned.status()["rollout"]["state"] == "rolled_back"


def test_rollback_works_while_paused_and_again_when_rolled_back(planned, open_page):
    planned.change("POST", "rollout/promote", {"to": "half"})
    planned.change("POST", "rollout/pause", {})
    tab = open_page(planned)
    for _ in range(2):
        generation = planned.status()["rollout"]["generation"]
        tab.action("rollback").click()
        tab.action("rollback").click()
        tab.wait_for('[data-action="rollback"]', "Rolled back")
        eventually(lambda: planned.status()["rollout"]["state"] == "rolled_back", "it is rolled back")
        assert planned.status()["rollout"]["generation"] >= generation


# Who may


@pytest.mark.parametrize("action", ["promote", "pause", "rollback"])
def test_without_a_token_changes_are_refused_and_it_says_how_to_get_one(planned, open_page, action):
    tab = open_page(planned, role=None)
    tab.action(action).click()
    if action == "rollback":
        tab.action(action).click()
    assert "cat DATA/admin.token" in tab.text("#token-panel")
    assert "Nothing was changed" in tab.text("#token-why")
    assert tab.page.evaluate("document.activeElement.id") == "token"
    assert planned.status()["rollout"]["state"] == "running" and planned.status()["rollout"]["stage"] == "dual-write"
    assert [event["action"] for event in planned.read("events")["items"]] == ["start"]


def test_a_token_is_entered_once_and_kept_in_the_tab(planned, open_page):
    tab = open_page(planned, role=None)
    tab.allow("status of 401")
    assert tab.text("#role") == "Read only"
    tab.page.click("#token-open")
    tab.page.fill("#token", "not-the-token-of-this-gateway")
    tab.page.keyboard.press("Enter")
    tab.wait_for("#token-says", "does not know this token")
    tab.page.fill("#token", planned.token())
    tab.page.keyboard.press("Enter")
    tab.wait_for("#role", "^Operator$")
    assert not tab.page.locator("#token-panel").is_visible()
    assert planned.token() not in tab.page.content(), "it is nowhere in the document"
    tab.page.reload()
    tab.wait_for("#role", "^Operator$")
    assert tab.page.evaluate("[localStorage.length, document.cookie]")[1] == ""
    assert planned.token() not in tab.page.evaluate("JSON.stringify({...localStorage})")
    tab.page.click("#token-open")
    tab.page.click("#token-forget")
    tab.wait_for("#role", "^Read only$")
    tab.page.reload()
    tab.wait_for("#role", "^Read only$")


def test_a_viewers_buttons_are_off_and_say_why(planned, open_page):
    tab = open_page(planned, role="viewer")
    tab.allow("status of 403")
    tab.wait_for("#role", "^Viewer$")
    for action in ("promote", "pause", "resume", "rollback"):
        assert tab.action(action).is_disabled()
    assert "may only read" in tab.text("#actions-why")
    tab.page.keyboard.press("r")
    tab.page.keyboard.press("Enter")
    assert planned.status()["rollout"]["state"] == "running"


# When the gateway is away


def test_what_is_old_is_shown_as_old_and_it_comes_back_by_itself(make_gateway, legacy, new, open_page):
    gateway = make_gateway(
        legacy, new, plan=PLAN, config={"admin": {"listen": f"127.0.0.1:{free_port()}"}})
    tab = open_page(gateway)
    tab.allow("ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED")
    tab.wait_for("#link-text", "^Live")
    gateway.kill()
    tab.wait_for("#link-text", r"^Stale since \d\d:\d\d:\d\d$")
    assert "has not answered since" in tab.text("#banner")
    assert tab.text("#headline").startswith("Nobody can say")
    assert tab.page.evaluate("document.body.classList.contains('stale')")
    assert tab.page.title().startswith("stale")
    assert tab.action("promote").is_disabled() and tab.action("pause").is_disabled()
    assert tab.action("rollback").is_enabled()
    tab.shot("stale")
    gateway.start()
    tab.wait_for("#link-text", "^Live")
    assert not tab.page.locator("#banner").is_visible()
    assert not tab.text("#headline").startswith("Nobody can say")
    gateway.change("POST", "rollout/promote", {})
    tab.wait_for('[data-field="stage"]', "^canary$")


def test_the_real_page_is_clean_to_axe(planned, legacy, new, browser):
    new.answer = lambda request: reply(b'{"other":1}')
    for number in range(5):
        planned.get(f"/{number}", user="anna")
    for theme in ("light", "dark"):
        tab = browser.tab(planned.admin_url, token=planned.token(), theme=theme, bypass_csp=True)
        try:
            tab.page.locator("#mismatches summary").first.click()
            assert tab.axe() == []
        finally:
            tab.close()
