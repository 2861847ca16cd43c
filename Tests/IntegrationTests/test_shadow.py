"""The same read on the other side: compared, bounded, and never felt by the client (contract §7)."""

import threading

import pytest

from support.backend import HANG, reply
from support.parallel import in_parallel
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually, quiet, stays

SHADOW = {"shadow": {"percent": 100, "recheck_after": "50ms"}}


@pytest.fixture
def shadowing(make_gateway, legacy, new):
    return make_gateway(legacy, new, config=SHADOW)


def results(gateway):
    return gateway.status()["shadow"]


def compared(gateway, count=1):
    return eventually(
        lambda: next((r for r in [results(gateway)] if r["compared"] >= count), None), f"{count} comparisons")


def test_the_shadow_is_the_same_request(shadowing, legacy, new):
    with shadowing.connect() as client:
        answer = client.request("GET", "/a%2Fb?x=1&y=2", [("Cookie", "c=1"), ("X-Two", "1"), ("X-Two", "2")],
                                host="Notes.Example.test:81", user="u")
    assert (answer.status, answer.backend) == (200, "legacy")
    found = compared(shadowing)
    assert (found["matched"], found["mismatched"], found["transient"], found["dropped"]) == (1, 0, 0, 0)
    ours, theirs = legacy.requests[0], new.requests[0]
    assert (theirs.method, theirs.target, theirs["Host"]) == ("GET", "/a%2Fb?x=1&y=2", "Notes.Example.test:81")
    assert [pair for pair in theirs.headers if pair[0] != "X-Request-Id"] == [
        pair for pair in ours.headers if pair[0] != "X-Request-Id"]
    assert shadowing.metrics()("cutover_shadow_reads_total", result="match") == 1


def test_the_shadow_of_a_user_on_new_goes_to_legacy(shadowing, legacy, new):
    shadowing.set_percent(100)
    assert shadowing.get("/", user="u").backend == "new"
    compared(shadowing)
    assert len(legacy.requests) == len(new.requests) == 1


def test_a_read_with_a_body_is_shadowed_with_its_body(make_gateway, legacy, new):
    routes = [{"match": "PROPFIND /**", "kind": "read"}]
    gateway = make_gateway(legacy, new, config={**SHADOW, "routes": routes})
    assert gateway.fetch("PROPFIND", "/d/", body=b"<propfind/>" * 3000, user="u").status == 200
    compared(gateway)
    assert new.requests[0].body == legacy.requests[0].body == b"<propfind/>" * 3000


def test_every_request_of_a_connection_is_shadowed(shadowing, new):
    with shadowing.connect() as client:
        for index in range(10):
            client.request("GET", f"/{index}", user="u")
    compared(shadowing, 10)
    assert {request.target for request in new.requests} == {f"/{index}" for index in range(10)}


def test_a_lasting_difference_is_listed_with_paths_and_without_values(shadowing, legacy, new):
    legacy.answer = lambda request: reply(b'{"id":1,"name":"secret-one","list":[1,2]}')
    new.answer = lambda request: reply(b'{"id":1,"name":"secret-two","list":[1,3]}')
    shadowing.get("/records/7?full=1", user="u")
    assert compared(shadowing)["mismatched"] == 1
    assert len(legacy.requests) == len(new.requests) == 2, "both are read again before it is called a mismatch"
    item = shadowing.read("mismatches")["items"][0]
    assert (item["method"], item["target"]) == ("GET", "/records/7?full=1")
    assert sorted(item["paths"]) == ["/list/1", "/name"]
    assert item["legacy"]["status"] == item["new"]["status"] == 200
    assert len(item["legacy"]["hash"]) == len(item["new"]["hash"]) == 32
    assert item["legacy"]["hash"] != item["new"]["hash"] and item["kind"] and item["at"]
    assert "secret" not in str(shadowing.read("mismatches")) and "secret" not in shadowing.log()
    assert "secret" not in shadowing.command("mismatches", "--json").stdout


def test_a_difference_that_goes_away_is_transient(shadowing, new):
    new.answer = lambda request: reply(b'{"ok":false}' if len(new.requests) == 1 else b'{"ok":true}')
    shadowing.get("/", user="u")
    found = compared(shadowing)
    assert (found["transient"], found["mismatched"], found["matched"]) == (1, 0, 0)
    assert shadowing.read("mismatches")["items"] == []


def test_a_slow_shadow_delays_neither_the_answer_nor_the_next_request(shadowing, new):
    release = threading.Event()
    new.answer = lambda request: [release, reply()]
    with shadowing.connect() as client:
        for _ in range(10):
            assert client.request("GET", "/", user="u").status == 200
    assert results(shadowing)["compared"] == 0
    release.set()
    compared(shadowing, 10)


def test_a_client_that_has_gone_does_not_end_the_comparison(shadowing, new):
    release = threading.Event()
    new.answer = lambda request: [release, reply()]
    shadowing.get("/", user="u")
    eventually(lambda: new.requests, "the shadow read begins")
    release.set()
    assert compared(shadowing)["matched"] == 1


def test_hanging_shadows_are_bounded_and_the_rest_is_counted(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={
        "workers": 1, "shadow": {"percent": 100, "in_flight_max": 8}, "backends": {"new": {"timeout": "60s"}}})
    legacy.answer = lambda request: reply(b"x" * 65536, kind="text/plain")
    new.answer = lambda request: [HANG]
    with gateway.connect() as client:
        for _ in range(20):
            client.request("GET", "/", user="u")
        before = gateway.resident_bytes()
        for _ in range(600):
            assert client.request("GET", "/", user="u").status == 200
    assert gateway.resident_bytes() - before < 16 << 20
    assert len(new.begun) <= 8
    assert results(gateway)["dropped"] >= 612
    assert gateway.metrics()("cutover_shadow_reads_total", result="dropped") >= 612


def test_no_shadow_is_sent_once_it_is_turned_off(make_gateway, legacy, new):
    stages = [{"name": "loud", "percent": 0, "shadow": "100%"}, {"name": "quiet", "percent": 0, "shadow": "0%"}]
    gateway = make_gateway(legacy, new, config={"shadow": SHADOW["shadow"]}, plan={"name": "p", "stages": stages})
    with gateway.connect() as client:
        client.request("GET", "/", user="u")
        compared(gateway)
        gateway.change("POST", "rollout/promote", {"to": "quiet"})
        eventually(lambda: gateway.status()["rollout"]["shadow_percent"] == 0, "the stage is in force")
        new.forget()
        for _ in range(5):
            client.request("GET", "/", user="u")
        stays(lambda: new.begun == [], "no shadow read")


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_head_and_options_are_not_shadowed(shadowing, new, method):
    with shadowing.connect() as client:
        assert client.request(method, "/", user="u").status == 200
    stays(lambda: new.begun == [], "no shadow read")


def test_writes_are_not_shadowed(shadowing, new):
    shadowing.fetch("POST", "/x", body=b"1", user="u")
    shadowing.settle()
    assert len(new.requests) == 1 and results(shadowing)["compared"] == 0


def test_users_are_sampled_not_requests(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"shadow": {"percent": 50}})
    new.answer = lambda request: reply()
    users = [f"user-{index}" for index in range(80)]
    rounds = []
    for _ in range(2):
        new.forget()
        in_parallel(lambda user: gateway.get("/" + user, user=user), users)
        eventually(lambda: len(new.requests) >= 15, "shadow reads arrive")
        quiet(lambda: len(new.requests))
        rounds.append({request.target for request in new.requests})
    assert rounds[0] == rounds[1] and 15 <= len(rounds[0]) <= 65


def test_a_shadow_that_fails_is_an_error_that_nobody_sees(shadowing, new):
    new.stop()
    assert shadowing.get("/", user="u").status == 200
    eventually(lambda: shadowing.metrics()("cutover_shadow_reads_total", result="error") == 1, "it is counted")
    assert results(shadowing)["compared"] == 0


def test_shadow_reads_are_not_reads(shadowing):
    shadowing.get("/", user="u")
    compared(shadowing)
    metrics = shadowing.metrics()
    assert metrics("cutover_reads_total", backend="new") == 0
    assert metrics("cutover_reads_total", backend="legacy", result="ok") == 1


def test_nothing_is_compared_while_legs_are_outstanding(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={**SHADOW, "routes": CHANGE_ROUTES})
    new_store.refuse = lambda request: reply(b"no writes", 503) if request.method == "POST" else None
    assert gateway.fetch("POST", "/changes", body=change("u", "r", 1)).status == 200
    gateway.get("/records/r", user="u")
    stays(lambda: results(gateway)["compared"] == 0, "nothing is compared")
    new_store.refuse = lambda request: None
    gateway.settle()
    gateway.get("/records/r", user="u")
    assert compared(gateway)["matched"] == 1


def test_what_is_too_large_to_compare_is_never_a_match(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"shadow": {"percent": 100, "body_max": "64KiB"}})
    legacy.answer = new.answer = lambda request: reply(b"x" * 70_000, kind="text/plain")
    assert gateway.get("/", user="u").body == b"x" * 70_000
    eventually(lambda: sum(gateway.metrics()("cutover_shadow_reads_total", result=result)
                           for result in ("dropped", "error")) == 1, "it is counted")
    assert results(gateway)["matched"] == 0
