"""What happens when new cannot answer: legacy does, and it is counted (contract §5)."""

import pytest

from support.backend import CLOSE, HANG, reply
from support.waiting import eventually
from support.wire import Truncated

FAILURES = {
    "connect": lambda new: new.stop(),
    "timeout": lambda new: setattr(new, "answer", lambda request: [HANG]),
    "5xx": lambda new: setattr(new, "answer", lambda request: reply(b"broken", 503)),
    "404": lambda new: setattr(new, "answer", lambda request: reply(b"absent", 404)),
}
BRIEF = {"workers": 1, "backends": {"new": {"timeout": "300ms"}}, "fallback": {"breaker": {"min_requests": 1000}}}


@pytest.fixture
def on_new(make_gateway, legacy, new):
    """Everybody is on new, and the breaker keeps out of the way."""
    legacy.answer = lambda request: reply(b"from legacy")
    new.answer = lambda request: reply(b"from new")
    return make_gateway(legacy, new, percent=100, config=BRIEF)


@pytest.mark.parametrize("failure", FAILURES)
def test_legacy_answers_when_new_fails(on_new, new, failure):
    FAILURES[failure](new)
    answer = on_new.get("/x?y", user="u")
    assert answer.body == b"from legacy"
    assert (answer.status, answer.backend, answer.why) == (200, "legacy", f"fallback-{failure}")
    # A read is booked when its last byte has gone out: a moment after the client may have it.
    eventually(
        lambda: on_new.metrics()("cutover_reads_total", backend="legacy", result="ok") == 1, "the read is booked")
    metrics = on_new.metrics()
    assert metrics("cutover_fallbacks_total", kind="read", reason=failure) == 1
    # A 404 is an answer, not an error of the backend.
    assert metrics("cutover_reads_total", backend="new", result="error") == (failure != "404")
    assert metrics("cutover_fallback_ratio") == 1


def test_head_falls_back_too(on_new, new):
    FAILURES["5xx"](new)
    with on_new.connect() as client:
        answer = client.request("HEAD", "/", user="u")
        assert (answer.status, answer["Content-Length"], answer.why) == (200, "11", "fallback-5xx")


@pytest.mark.parametrize("answer", [b"nonsense\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-"])
def test_legacy_answers_when_new_talks_nonsense(on_new, new, answer):
    new.answer = lambda request: [answer, CLOSE]
    received = on_new.get("/", user="u")
    assert received.body == b"from legacy" and received.why.startswith("fallback-")


def test_nothing_falls_back_after_the_first_byte(on_new, legacy, new):
    new.answer = lambda request: [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart", CLOSE]
    with on_new.connect() as client, pytest.raises(Truncated):
        client.request("GET", "/", user="u")
    assert legacy.begun == []


def test_a_record_that_neither_has_is_404(on_new, legacy, new):
    FAILURES["404"](new)
    legacy.answer = lambda request: reply(b"nowhere", 404)
    answer = on_new.get("/", user="u")
    # Both agree, so new's own answer stands and nothing was a fallback.
    assert (answer.status, answer.body, answer.backend) == (404, b"absent", "new")
    assert answer["Cutover-Reason"] == "in-percent"
    assert on_new.metrics()("cutover_fallbacks_total", kind="read", reason="404") == 0


@pytest.mark.parametrize("trouble", ["down", "500"])
def test_a_404_of_new_stands_when_legacy_cannot_say(on_new, legacy, new, trouble):
    FAILURES["404"](new)
    if trouble == "down":
        legacy.stop()
    else:
        legacy.answer = lambda request: reply(b"broken", 500)
    answer = on_new.get("/", user="u")
    assert (answer.status, answer.body, answer.backend) == (404, b"absent", "new")


@pytest.mark.parametrize("failure", ["connect", "5xx", "404"])
def test_what_is_not_listed_does_not_fall_back(make_gateway, legacy, new, failure):
    gateway = make_gateway(legacy, new, percent=100, config={"fallback": {"on": ["timeout"]}})
    FAILURES[failure](new)
    answer = gateway.get("/", user="u")
    assert answer.status == {"connect": 502, "5xx": 503, "404": 404}[failure]
    assert (answer.backend, answer.why) == ("new", "in-percent")
    assert legacy.begun == []


@pytest.mark.parametrize("failure", FAILURES)
def test_users_on_legacy_never_get_an_answer_of_new(make_gateway, legacy, new, failure):
    gateway = make_gateway(legacy, new, config={"backends": {"legacy": {"timeout": "300ms"}}})
    FAILURES[failure](legacy)
    answer = gateway.get("/", user="u")
    assert answer.status == {"connect": 502, "timeout": 504, "5xx": 503, "404": 404}[failure]
    assert answer.backend == "legacy" and new.begun == []


def test_a_pinned_user_falls_back_too(on_new, new):
    on_new.set_percent(0)
    on_new.pin("u", "new")
    new.stop()
    assert on_new.get("/", user="u").why == "fallback-connect"


def test_a_post_of_a_split_route_never_falls_back(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, percent=100, config={"routes": [{"match": "POST /rpc", "kind": "split"}]})
    FAILURES["5xx"](new)
    assert gateway.fetch("POST", "/rpc", body=b"x", user="u").status == 503
    assert legacy.begun == []


def test_both_down_is_an_error_of_the_gateway(on_new, legacy, new):
    legacy.stop()
    new.stop()
    answer = on_new.get("/", user="u")
    assert answer.status == 502 and answer["Content-Type"] == "application/problem+json"


def test_the_breaker_spares_a_broken_backend_and_lets_it_back(make_gateway, legacy, new):
    breaker = {"errors": "50%", "window": "10s", "min_requests": 5, "open_for": "300ms"}
    gateway = make_gateway(legacy, new, percent=100, config={"workers": 1, "fallback": {"breaker": breaker}})
    FAILURES["5xx"](new)
    reasons = [gateway.get("/", user="u").why for _ in range(5)]
    assert reasons == ["fallback-5xx"] * 5
    answer = gateway.get("/", user="u")
    assert (answer.status, answer.backend, answer.why) == (200, "legacy", "breaker-open")
    assert len(new.requests) == 5
    new.answer = lambda request: reply(b"well")
    eventually(lambda: gateway.get("/", user="u").backend == "new", "the breaker closes")
    assert all(gateway.get("/", user="u").backend == "new" for _ in range(10))


def test_404_does_not_open_the_breaker(make_gateway, legacy, new):
    breaker = {"errors": "50%", "window": "10s", "min_requests": 3, "open_for": "60s"}
    gateway = make_gateway(legacy, new, percent=100, config={"fallback": {"breaker": breaker}})
    FAILURES["404"](new)
    assert {gateway.get("/", user="u").why for _ in range(10)} == {"fallback-404"}
