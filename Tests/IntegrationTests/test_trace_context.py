"""Traces go on through the gateway, each leg as a span of its own (W3C Trace Context)."""

import re

import pytest

from support.backend import reply
from support.waiting import eventually

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
VALID = f"00-{TRACE}-{PARENT}-01"
FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


def parts(request):
    """Trace, span and flags of a request that has exactly one valid `traceparent`."""
    values = request.headers.all("traceparent")
    assert len(values) == 1, values
    match = FORM.fullmatch(values[0])
    assert match and set(match[1]) != {"0"} and set(match[2]) != {"0"}, values
    return match.groups()


def test_a_trace_goes_on_with_a_span_of_the_gateways_own(gateway, legacy):
    for flags in ("00", "01", "03"):
        gateway.get("/", headers=[("Traceparent", f"00-{TRACE}-{PARENT}-{flags}"), ("tracestate", "a=1,b@c=2")])
    spans = set()
    for request, flags in zip(legacy.requests, ("00", "01", "03"), strict=True):
        trace, span, seen = parts(request)
        assert (trace, seen) == (TRACE, flags) and span != PARENT
        assert request.headers.all("tracestate") == ["a=1,b@c=2"]
        spans.add(span)
    assert len(spans) == 3


def test_a_request_without_a_trace_gets_none(gateway, legacy):
    gateway.get("/", headers=[("tracestate", "a=1")])
    assert "traceparent" not in legacy.requests[0].headers
    assert legacy.requests[0].headers.all("tracestate") == ["a=1"]


@pytest.mark.parametrize("values", [
    [""], ["00"], [VALID[:-1]], [VALID + "0"], [VALID + "-what"], [VALID.upper()], ["ff" + VALID[2:]],
    ["0g" + VALID[2:]], [f"00-{'0' * 32}-{PARENT}-01"], [f"00-{TRACE}-{'0' * 16}-01"], [f"00-{TRACE}-{PARENT}-0G"],
    [f"00_{TRACE}_{PARENT}_01"], [f"01-{TRACE}-{PARENT}-01.what"], [VALID, VALID], [VALID + "," + VALID],
])
def test_what_is_no_trace_is_dropped_and_another_begins(gateway, legacy, values):
    gateway.get("/", headers=[("traceparent", value) for value in values] + [("tracestate", "a=1")])
    trace, _, flags = parts(legacy.requests[0])
    assert trace != TRACE and flags in ("00", "01")
    assert "tracestate" not in legacy.requests[0].headers


@pytest.mark.parametrize("value", [f"01-{TRACE}-{PARENT}-01", f"cc-{TRACE}-{PARENT}-ff-what-the-future-brings"])
def test_a_later_version_goes_on_as_the_one_that_is_known(gateway, legacy, value):
    gateway.get("/", headers=[("traceparent", value)])
    trace, _, flags = parts(legacy.requests[0])
    assert trace == TRACE and flags == ("03" if value.endswith("brings") else "01")


@pytest.mark.parametrize("lines, is_kept", [
    (["a=1", "b=2"], True), (["a=1,,b=2", ""], True),
    # Twice the same key: that is whoever wrote it last to mend, and nobody on the way.
    (["a=1,b=2,a=3"], True), (["a=1", "a=1"], True), (["a=1 , \t b=2"], True), (["0a@b=1"], True),
    ([",".join(f"k{i}=v" for i in range(32))], True),
    ([",".join(f"k{i}=v" for i in range(17))] * 2, False), (["A=1"], False), (["a"], False), (["a="], False),
    (["a=1,b=x=y"], False), (["a@b@c=1"], False), (["a=1", "b c=2"], False),
])
def test_a_tracestate_goes_on_where_it_is_one(gateway, legacy, lines, is_kept):
    gateway.get("/", headers=[("traceparent", VALID)] + [("tracestate", line) for line in lines])
    assert parts(legacy.requests[0])[0] == TRACE
    assert legacy.requests[0].headers.all("tracestate") == (lines if is_kept else [])


def test_a_connection_option_cannot_take_the_trace_away(gateway, legacy):
    gateway.get("/", headers=[("Connection", "traceparent, tracestate"), ("traceparent", VALID), ("tracestate", "a=1")])
    assert parts(legacy.requests[0])[0] == TRACE
    assert legacy.requests[0]["tracestate"] == "a=1"


def test_a_shadow_read_is_a_span_of_its_own(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"shadow": {"percent": 100, "recheck_after": "10ms"}})
    gateway.get("/a", user="u", headers=[("traceparent", VALID)])
    eventually(lambda: new.requests, "the shadow read")
    (first, one, _), (second, other, _) = parts(legacy.requests[0]), parts(new.requests[0])
    assert first == second == TRACE and len({one, other, PARENT}) == 3


def test_a_fallback_is_a_span_of_its_own(gateway, legacy, new):
    gateway.set_percent(100)
    new.answer = lambda request: reply(status=503)
    assert gateway.get("/a", user="u", headers=[("traceparent", VALID)])["Cutover-Reason"] == "fallback-5xx"
    (first, one, _), (second, other, _) = parts(new.requests[0]), parts(legacy.requests[0])
    assert first == second == TRACE and one != other


def test_every_leg_of_a_write_and_every_try_is_a_span_of_the_same_trace(gateway, legacy, new):
    answers = iter([503, 503, 200])
    new.answer = lambda request: reply(status=next(answers))
    headers = [("traceparent", VALID), ("tracestate", "a=1"), ("Idempotency-Key", "k"), ("If-Match", '"1"')]
    assert gateway.fetch("PUT", "/notes/1", headers, b"{}", user="u").status == 200
    gateway.settle()
    legs = legacy.requests + new.requests
    assert len(legs) == 4
    assert {parts(leg)[0] for leg in legs} == {TRACE}
    assert len({parts(leg)[1] for leg in legs} | {PARENT}) == 5
    assert all(leg["tracestate"] == "a=1" and leg["Idempotency-Key"] and leg.body == b"{}" for leg in legs)


def test_a_leg_that_is_sent_after_a_restart_belongs_to_the_trace_of_its_write(gateway, legacy, new):
    new.answer = lambda request: reply(status=503)
    gateway.fetch("POST", "/notes", [("traceparent", VALID)], b"{}", user="u")
    eventually(lambda: new.requests, "the first try")
    gateway.kill()
    before = len(new.requests)
    new.answer = lambda request: reply()
    gateway.start()
    gateway.settle()
    assert {parts(leg)[0] for leg in new.requests} == {TRACE} and len(new.requests) > before
    assert len({parts(leg)[1] for leg in new.requests}) == len(new.requests)


def test_tracing_can_begin_here(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"tracing": {"context": "start", "sample": 100}})
    gateway.get("/")
    gateway.get("/", headers=[("tracestate", "a=1")])
    gateway.get("/", headers=[("traceparent", f"00-{TRACE}-{PARENT}-00")])
    begun = [parts(request) for request in legacy.requests]
    assert begun[0][0] != begun[1][0] and [flags for _, _, flags in begun] == ["01", "01", "00"]
    assert begun[0][0] == legacy.requests[0]["X-Request-Id"]
    assert "tracestate" not in legacy.requests[1].headers
    assert begun[2][0] == TRACE


def test_the_share_of_traces_that_are_sampled_can_be_none(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"tracing": {"context": "start", "sample": 0}})
    for _ in range(20):
        gateway.get("/")
    assert {parts(request)[2] for request in legacy.requests} == {"00"}


def test_a_share_of_the_traces_that_begin_here_is_sampled(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"tracing": {"context": "start", "sample": "25%"}})
    with gateway.connect() as client:
        for _ in range(400):
            client.request("GET", "/")
    sampled = [parts(request)[2] for request in legacy.requests].count("01")
    # One in a million runs would fail that has it right: five standard deviations.
    assert 56 <= sampled <= 144


def test_traces_can_pass_untouched(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"tracing": {"context": "pass"}})
    for value in (VALID, "nonsense"):
        gateway.get("/", headers=[("traceparent", value), ("tracestate", "A")])
    gateway.fetch("PUT", "/notes/1", [("traceparent", VALID)], b"{}", user="u")
    assert [request["traceparent"] for request in legacy.requests] == [VALID, "nonsense", VALID]
    assert legacy.requests[0]["tracestate"] == "A"
