"""Spans of sampled traces go to a collector, in OTLP (`tracing.otlp`), and nobody waits for it."""

import json
import time

import pytest

from support.backend import HANG, reply
from support.collector import Collector
from support.waiting import eventually, stays

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = [("traceparent", f"00-{TRACE}-{PARENT}-01")]


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.stop()
    assert made.violations == []


@pytest.fixture
def make_traced(make_gateway, legacy, new, collector):
    def make(config=None, **tracing):
        config = {"tracing": {"otlp": collector.endpoint, **tracing}, **(config or {})}
        return make_gateway(legacy, new, config=config)
    return make


def collected(collector, count):
    """So many spans and no more, the server's first, the others in the order of their beginning."""
    eventually(lambda: len(collector.spans()) >= count, f"{count} spans arrive")
    spans = sorted(collector.spans(), key=lambda span: (span["kind"] != "server", span["start"]))
    assert len(spans) == count, spans
    return spans


def sent_with(request):
    """The id of the span that a backend was told."""
    return request["traceparent"].split("-")[2]


def test_a_read_is_a_span_with_a_leg_below_it(make_traced, legacy, collector):
    gateway = make_traced({"routes": [{"match": "GET /notes/{record}", "kind": "read"}]})
    legacy.answer = lambda request: (time.sleep(0.02), reply())[1]
    gateway.get("/notes/7?secret=1", user="secret-user", headers=SAMPLED)
    server, leg = collected(collector, 2)
    assert {server["trace"], leg["trace"]} == {TRACE} and {server["flags"], leg["flags"]} == {1}
    assert (server["kind"], server["name"], server["parent"]) == ("server", "GET /notes/{record}", PARENT)
    assert server["attributes"] == {
        "http.request.method": "GET", "http.response.status_code": 200, "http.route": "/notes/{record}",
        "cutover.kind": "read", "cutover.backend": "legacy", "cutover.reason": "outside-percent"}
    assert (leg["kind"], leg["name"], leg["parent"]) == ("client", "GET", server["id"])
    assert leg["id"] == sent_with(legacy.requests[0])
    assert leg["attributes"]["cutover.leg"] == "read" and leg["attributes"]["http.response.status_code"] == 200
    assert server["start"] <= leg["start"] and leg["end"] <= server["end"]
    assert leg["end"] - leg["start"] >= 20_000_000 and not server["is_error"] and not leg["is_error"]
    # Nothing that is anybody's.
    assert b"secret" not in b"".join(request.body + repr(request.headers).encode() for request in collector.requests)
    metrics = gateway.metrics()
    assert metrics("cutover_spans_exported_total") == 2 and metrics("cutover_spans_dropped_total") == 0


def test_only_sampled_traces_are_exported(make_traced, collector):
    gateway = make_traced()
    gateway.get("/1", headers=[("traceparent", f"00-{TRACE}-{PARENT}-00")])
    gateway.get("/2")
    gateway.get("/3", headers=SAMPLED)
    assert len(collected(collector, 2)) == 2
    stays(lambda: len(collector.spans()) == 2, "nothing else is exported", 1.5)


def test_a_trace_that_begins_here_has_no_parent(make_traced, legacy, collector):
    gateway = make_traced(context="start", sample=100)
    gateway.get("/")
    server, leg = collected(collector, 2)
    assert server["parent"] == "" and leg["parent"] == server["id"]
    assert legacy.requests[0]["traceparent"] == f"00-{server['trace']}-{leg['id']}-01"


def test_a_fallback_and_a_shadow_are_legs_of_their_own(make_traced, legacy, new, collector):
    gateway = make_traced({"shadow": {"percent": 100}})
    gateway.get("/a", user="u", headers=SAMPLED)
    server, *legs = collected(collector, 3)
    roles = {leg["attributes"]["cutover.leg"]: leg for leg in legs}
    assert set(roles) == {"read", "shadow"} and {leg["parent"] for leg in legs} == {server["id"]}
    assert roles["shadow"]["id"] == sent_with(new.requests[0])
    assert roles["shadow"]["attributes"]["cutover.backend"] == "new"
    assert roles["shadow"]["attributes"]["http.response.status_code"] == 200
    gateway.config["shadow"] = {"percent": 0}
    gateway.config_file.write_text(json.dumps(gateway.config))
    gateway.change("POST", "reload")
    gateway.set_percent(100)
    new.answer = lambda request: reply(status=503)
    gateway.get("/a", user="u", headers=SAMPLED)
    eventually(lambda: len(collector.spans()) == 6, "the spans of the fallback")
    server, first, second = sorted(collector.spans()[3:], key=lambda span: (span["kind"] != "server", span["start"]))
    assert server["attributes"]["cutover.reason"] == "fallback-5xx" and not server["is_error"]
    assert first["is_error"] and first["attributes"]["error.type"] == "503"
    assert first["attributes"]["cutover.backend"] == "new" and first["attributes"]["cutover.leg"] == "read"
    assert second["attributes"]["cutover.leg"] == "fallback" and not second["is_error"]


def test_every_try_of_both_legs_of_a_write_is_a_span(make_traced, legacy, new, collector):
    gateway = make_traced()
    answers = iter([503, 200])
    new.answer = lambda request: reply(status=next(answers))
    gateway.fetch("PUT", "/notes/1", SAMPLED, b"{}", user="u")
    server, *legs = collected(collector, 4)
    assert [leg["attributes"]["cutover.leg"] for leg in legs] == ["authoritative", "secondary", "secondary"]
    assert [leg["id"] for leg in legs] == [sent_with(request) for request in legacy.requests + new.requests]
    assert {leg["parent"] for leg in legs} == {server["id"]} and server["attributes"]["cutover.kind"] == "write"
    assert [leg["is_error"] for leg in legs] == [False, True, False]


def test_what_failed_says_how(make_traced, legacy, collector):
    gateway = make_traced({"fallback": {"on": []}})
    legacy.stop()
    gateway.get("/a", headers=SAMPLED)
    server, leg = collected(collector, 2)
    assert leg["is_error"] and leg["attributes"]["error.type"] == "connect"
    assert server["is_error"] and server["attributes"]["http.response.status_code"] == 502


def test_a_busy_collector_is_asked_again_and_loses_nothing(make_traced, collector):
    answers = [reply(status=503, headers=[("Retry-After", "1")]), reply(status=429), reply(status=200)]
    collector.answer = lambda request: answers.pop(0) if answers else reply(b"{}")
    gateway = make_traced()
    gateway.get("/a", headers=SAMPLED)
    eventually(lambda: gateway.metrics()("cutover_spans_exported_total") == 2, "the spans are taken")
    assert len({request.body for request in collector.requests}) == 1 and len(collector.requests) == 3
    assert gateway.metrics()("cutover_spans_dropped_total") == 0


def test_what_a_collector_refuses_is_dropped_and_counted(make_traced, collector):
    collector.answer = lambda request: reply(status=400)
    gateway = make_traced()
    gateway.get("/a", headers=SAMPLED)
    eventually(lambda: gateway.metrics()("cutover_spans_dropped_total") == 2, "the spans are dropped")
    assert len(collector.requests) == 1 and "takes no spans" in gateway.log()


def test_a_collector_that_hangs_holds_up_nothing(make_traced, collector):
    collector.answer = lambda request: [HANG]
    gateway = make_traced({"limits": {"connections": 50}})
    gateway.get("/first", headers=SAMPLED)
    eventually(lambda: collector.begun, "the collector is asked")
    with gateway.connect() as client:
        for _ in range(1_100):
            assert client.request("GET", "/", headers=SAMPLED).status == 200
    # 2,048 wait, and what more there is is dropped at once.
    assert gateway.metrics()("cutover_spans_dropped_total") == 2_200 - 2_048
    started = time.monotonic()
    assert gateway.stop() == 0
    assert time.monotonic() - started < 6


def test_what_waits_is_sent_before_the_end(make_traced, collector):
    gateway = make_traced()
    gateway.get("/a", headers=SAMPLED)
    assert gateway.stop() == 0
    assert len(collector.spans()) == 2


def test_a_reload_turns_the_export_on_and_off(make_gateway, legacy, new, collector):
    gateway = make_gateway(legacy, new)
    gateway.get("/1", headers=SAMPLED)
    for otlp in (collector.endpoint, None):
        gateway.config["tracing"] = {"otlp": otlp} if otlp else {}
        gateway.config_file.write_text(json.dumps(gateway.config))
        gateway.change("POST", "reload")
        gateway.get("/2", headers=SAMPLED)
        collected(collector, 2)
    stays(lambda: len(collector.spans()) == 2, "nothing is exported any more", 1.5)
