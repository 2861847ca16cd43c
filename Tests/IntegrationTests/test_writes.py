"""Every change reaches both backends, once, whole and in order (contract §6)."""

import json
import threading

import pytest

from support.backend import CLOSE, HANG, reply
from support.parallel import in_parallel
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually, stays
from support.wire import chunked_bytes, request_bytes


@pytest.fixture
def writing(make_gateway, legacy_store, new_store):
    """A gateway before two stores, with the routes of the contract's example."""
    return make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})


def post(gateway, body, user=None, headers=(), target="/changes"):
    return gateway.fetch("POST", target, [("Content-Type", "application/json"), *headers], body, user=user)


def newest(gateway):
    return gateway.read("journal")["items"][0]


@pytest.mark.parametrize(("percent", "backend"), [(0, "legacy"), (100, "new")])
def test_both_backends_get_the_same_bytes_and_key(writing, legacy_store, new_store, percent, backend):
    writing.set_percent(percent)
    body = b'{"recordId":"r", "userId":"u", "revision":1 ,"x":"\\u00e9"}'
    answer = post(writing, body, headers=[("X-Custom", "1"), ("Idempotency-Key", "key-1")])
    assert (answer.status, answer.backend, answer.json()) == (200, backend, {"applied": 1})
    writing.settle()
    ours, theirs = legacy_store.to("/changes"), new_store.to("/changes")
    assert len(ours) == len(theirs) == 1
    for request in (ours[0], theirs[0]):
        assert request.body == body
        assert request.headers.all("Idempotency-Key") == ["key-1"]
        assert request.headers.all("Content-Length") == [str(len(body))]
        assert request.headers.all("Host") == ["example.test"]
        assert request["X-Custom"] == "1" and request["Content-Type"] == "application/json"
    first = min(ours[0], theirs[0], key=lambda request: request.at)
    assert first in (ours if backend == "legacy" else theirs), "the authoritative side is written first"
    legs = newest(writing)["legs"]
    assert legs["legacy"]["state"] == legs["new"]["state"] == "applied"


def test_a_key_is_made_where_the_client_sends_none(writing, legacy_store, new_store):
    for record in ("a", "b"):
        assert writing.fetch("PUT", f"/notes/{record}", body=b"text", user="u").status == 200
    writing.settle()
    keys = [request["Idempotency-Key"] for request in legacy_store.requests]
    assert all(keys) and len(set(keys)) == 2
    assert keys == [request["Idempotency-Key"] for request in new_store.requests]


def test_a_key_in_the_body_goes_out_as_header(writing, legacy_store, new_store):
    assert post(writing, change("u", "r", 1, key="from-body")).status == 200
    writing.settle()
    for store in (legacy_store, new_store):
        assert store.requests[0]["Idempotency-Key"] == "from-body"


FORMS = {
    "small": lambda body: request_bytes("PUT", "/notes/1", body=body, user="u"),
    "chunked": lambda body: request_bytes("PUT", "/notes/1", [("Transfer-Encoding", "chunked")], user="u")
    + chunked_bytes(body[:3], body[3:17000], body[17000:]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [0, 5, 16384, 16385, 3 << 20])
def test_bodies_of_every_size_and_framing_reach_both(writing, legacy_store, new_store, form, size):
    body = (b"0123456789abcde\n" * (size // 16 + 1))[:size]
    with writing.connect() as client:
        client.send(FORMS[form](body))
        assert client.response("PUT").status == 200
    writing.settle()
    for store in (legacy_store, new_store):
        assert [request.body for request in store.requests] == [body]
        assert store.requests[0].chunked is False, "a body that was read whole goes out with its length"


def test_a_body_after_expect_reaches_both(writing, legacy_store, new_store, curl, scratch):
    (scratch / "body").write_bytes(b"x" * 200_000)
    curl(writing.url + "/notes/1", "--request", "PUT", "--data-binary", f"@{scratch}/body", "--header",
         "Expect: 100-continue", "--header", "X-User-Id: u", "--fail")
    writing.settle()
    for store in (legacy_store, new_store):
        assert store.documents["/notes/1"] == b"x" * 200_000
        assert "Expect" not in store.requests[0].headers


def test_conditional_headers_go_to_the_authoritative_leg_only(writing, legacy_store, new_store):
    headers = [("If-Match", '"1"'), ("If-Unmodified-Since", "Mon, 30 Nov 2026 01:02:03 GMT")]
    assert writing.fetch("PUT", "/notes/1", headers, b"x", user="u").status == 200
    writing.settle()
    assert legacy_store.requests[0]["If-Match"] == '"1"' and "If-Unmodified-Since" in legacy_store.requests[0].headers
    assert "If-Match" not in new_store.requests[0].headers
    assert "If-Unmodified-Since" not in new_store.requests[0].headers


def test_a_route_can_keep_conditional_headers(make_gateway, legacy_store, new_store):
    routes = [{"match": "PUT /notes/{record}", "kind": "write", "conditionals": "keep"}]
    gateway = make_gateway(legacy_store, new_store, config={"routes": routes})
    gateway.fetch("PUT", "/notes/1", [("If-Match", '"1"')], b"x", user="u")
    gateway.settle()
    assert new_store.requests[0]["If-Match"] == '"1"'


def test_writes_of_a_record_keep_their_order_on_both(writing, legacy_store, new_store):
    shaky = {"count": 0}

    def refuse(request):
        shaky["count"] += 1
        return reply(b"busy", 503) if shaky["count"] % 3 == 0 else None

    new_store.refuse = refuse

    def write_all(record):
        return [post(writing, change("u", record, revision)).status for revision in range(1, 16)]

    for statuses in in_parallel(write_all, ["a", "b", "c", "d"]):
        assert statuses == [200] * 15
    writing.settle()
    for store in (legacy_store, new_store):
        for record in ("a", "b", "c", "d"):
            assert [revision for name, revision in store.applied if name == record] == list(range(1, 16))


def test_a_user_is_the_lane_where_the_route_names_no_record(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store)
    new_store.refuse = lambda request: reply(b"busy", 503) if request.target == "/dir" and len(new_store.requests) < 3 \
        else None
    assert gateway.fetch("PUT", "/dir", body=b"1", user="u").status == 200
    assert gateway.fetch("PUT", "/dir/file", body=b"2", user="u").status == 200
    gateway.settle()
    assert [target for target, _ in new_store.applied] == ["/dir", "/dir/file"]


def test_what_the_authoritative_backend_refused_never_reaches_the_other(writing, legacy_store, new_store):
    legacy_store.refuse = lambda request: reply(b'{"wrong":true}', 422)
    answer = post(writing, change("u", "r", 1))
    assert (answer.status, answer.json()) == (422, {"wrong": True})
    stays(lambda: new_store.begun == [], "the other leg is not sent")
    legs = newest(writing)["legs"]
    assert legs["legacy"]["state"] == "refused" and legs["new"]["state"] == "skipped"


@pytest.mark.parametrize(("failure", "status"), [("5xx", 503), ("timeout", 504), ("connect", 502), ("cut", 502)])
def test_a_failed_write_is_an_error_and_its_repeat_a_new_attempt(
        make_gateway, legacy_store, new_store, failure, status):
    gateway = make_gateway(legacy_store, new_store, config={
        "routes": CHANGE_ROUTES, "backends": {"legacy": {"timeout": "300ms"}}})
    if failure == "connect":
        legacy_store.stop()
    else:
        answers = {"5xx": reply(b"broken", 503), "timeout": [HANG], "cut": [CLOSE]}
        legacy_store.refuse = lambda request: answers[failure]
    assert post(gateway, change("u", "r", 1)).status == status
    stays(lambda: new_store.begun == [], "the other leg is not sent")
    legacy_store.refuse = lambda request: None
    if failure == "connect":
        legacy_store.start()
    answer = post(gateway, change("u", "r", 1))
    assert answer.status == 200 and "Idempotent-Replayed" not in answer.headers
    gateway.settle()
    assert legacy_store.applied == new_store.applied == [("r", 1)]


def test_a_second_leg_is_retried_until_its_backend_is_back(writing, legacy_store, new_store):
    new_store.stop()
    for revision in (1, 2, 3):
        assert post(writing, change("u", "r", revision)).status == 200
    assert writing.status()["journal"]["pending"] == {"legacy": 0, "new": 3}
    metrics = writing.metrics()
    assert metrics("cutover_journal_pending", backend="new") == 3
    eventually(lambda: writing.metrics()("cutover_journal_oldest_pending_seconds", backend="new") > 0, "the lag shows")
    new_store.start()
    writing.settle()
    assert new_store.applied == [("r", 1), ("r", 2), ("r", 3)]


def test_a_second_leg_survives_a_restart_of_the_gateway(writing, new_store):
    new_store.stop()
    assert post(writing, change("u", "r", 1)).status == 200
    writing.restart()
    new_store.start()
    writing.settle()
    assert new_store.applied == [("r", 1)]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_these_answers_of_the_second_leg_are_retried_as_long_as_it_takes(writing, new_store, status):
    new_store.refuse = lambda request: reply(b"later", status) if len(new_store.requests) < 6 else None
    assert post(writing, change("u", "r", 1)).status == 200
    writing.settle()
    assert new_store.applied == [("r", 1)]
    assert writing.status()["journal"]["parked"] == 0


def test_a_second_leg_that_stays_refused_is_parked_and_can_be_replayed(writing, new_store):
    new_store.refuse = lambda request: reply(b"no", 422) if b'"revision": 1' in request.body else None
    assert post(writing, change("u", "r", 1)).status == 200
    eventually(lambda: writing.status()["journal"]["parked"] == 1, "the leg is parked")
    # The first attempt, and three retries.
    assert len(new_store.requests) == 4
    assert writing.metrics()("cutover_journal_parked") == 1
    row = newest(writing)
    assert (row["user"], row["record"], row["revision"], row["method"], row["target"]) == (
        "u", "r", 1, "POST", "/changes")
    assert row["legs"]["legacy"]["state"] == "applied"
    assert row["legs"]["new"]["state"] == "parked" and row["legs"]["new"]["last_status"] == 422
    assert row["legs"]["new"]["attempts"] == 4
    listed = writing.command("journal", "--parked", "--json").stdout
    assert f'"seq":{row["seq"]}' in listed.replace(" ", "")
    new_store.refuse = lambda request: None
    writing.command("journal", "replay", str(row["seq"]))
    eventually(lambda: ("r", 1) in new_store.applied, "the replay arrives")
    eventually(lambda: writing.status()["journal"]["parked"] == 0, "nothing is parked any more")


def test_a_parked_leg_does_not_stop_its_lane(writing, new_store):
    new_store.refuse = lambda request: reply(b"no", 422) if b'"revision": 1' in request.body else None
    for revision in (1, 2):
        assert post(writing, change("u", "r", revision)).status == 200
    eventually(lambda: new_store.applied == [("r", 2)], "the next write arrives")
    assert writing.status()["journal"]["parked"] == 1


def test_a_parked_leg_survives_a_restart_of_the_gateway(writing, new_store):
    new_store.refuse = lambda request: reply(b"no", 400)
    post(writing, change("u", "r", 1))
    eventually(lambda: writing.status()["journal"]["parked"] == 1, "the leg is parked")
    writing.restart()
    assert writing.status()["journal"]["parked"] == 1
    new_store.refuse = lambda request: None
    writing.change("POST", "journal/replay", {"all_parked": True})
    eventually(lambda: new_store.applied == [("r", 1)], "the replay arrives")


def test_a_replay_does_not_put_old_content_over_newer(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={"routes": [
        {"match": "PUT /notes/{record}", "kind": "write"}]})
    new_store.refuse = lambda request: reply(b"no", 422) if request.body == b"old" else None
    for path in ("/notes/a", "/notes/b"):
        assert gateway.fetch("PUT", path, body=b"old", user="u").status == 200
    eventually(lambda: gateway.status()["journal"]["parked"] == 2, "two legs are parked")
    assert gateway.fetch("PUT", "/notes/a", body=b"newer", user="u").status == 200
    gateway.settle()
    new_store.refuse = lambda request: None
    done = gateway.command("journal", "replay", "--all-parked", check=False)
    assert done.returncode == 1 and "1 change is sent again" in done.stdout
    assert "stays parked: change 1 is older than change 3 of the same record" in done.stdout
    eventually(lambda: new_store.documents.get("/notes/b") == b"old", "the other one arrives")
    gateway.settle()
    assert new_store.documents["/notes/a"] == b"newer"
    assert gateway.status()["journal"]["parked"] == 1
    gateway.command("journal", "settle", "1", "--reason", "written again since")
    assert gateway.status()["journal"]["parked"] == 0
    (row,) = [row for row in gateway.read("journal")["items"] if row["seq"] == 1]
    assert row["legs"]["new"]["state"] == "superseded" and row["legs"]["new"]["last_status"] == 422
    event = gateway.read("events?limit=1")["items"][0]
    assert (event["action"], event["reason"]) == ("journal settle", "written again since")
    assert new_store.documents["/notes/a"] == b"newer"


@pytest.mark.parametrize("status", [404, 410])
def test_deleting_what_the_other_backend_does_not_have_holds(writing, legacy_store, new_store, status):
    legacy_store.documents["/notes/1"] = b"only here"
    new_store.refuse = lambda request: reply(b"", status)
    assert writing.fetch("DELETE", "/notes/1", user="u").status == 204
    writing.settle()
    assert newest(writing)["legs"]["new"]["state"] in ("applied", "superseded")
    assert len(new_store.requests) == 1 and writing.status()["journal"]["parked"] == 0


def test_a_conflict_of_the_second_leg_holds_where_revisions_are_known(writing, new_store):
    new_store.records["r"] = {"recordId": "r", "revision": 9}
    assert post(writing, change("u", "r", 5)).status == 200
    writing.settle()
    assert newest(writing)["legs"]["new"]["state"] == "superseded"
    assert writing.metrics()("cutover_conflicts_total", source="new") == 1


def test_the_answer_can_wait_for_both(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES, "writes": {"answer": "both"}})
    release = threading.Event()
    new_store.before_body = lambda request: release.wait(20)
    with gateway.connect() as client:
        client.send(request_bytes("POST", "/changes", body=change("u", "r", 1)))
        eventually(lambda: new_store.begun, "the second leg begins")
        client.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)
        client.socket.settimeout(20)
        release.set()
        assert client.response("POST").status == 200
    assert legacy_store.applied == new_store.applied == [("r", 1)]


def test_a_batch_reaches_both_as_it_is(writing, legacy_store, new_store):
    items = [json.loads(change("u", record, 1)) for record in ("a", "b", "c")]
    body = json.dumps({"userId": "u", "batchKey": "b-1", "changes": items}).encode()
    assert post(writing, body, target="/changes/batch").json() == {"applied": 3}
    writing.settle()
    for store in (legacy_store, new_store):
        assert store.requests[0].body == body and store.requests[0]["Idempotency-Key"] == "b-1"
        assert store.applied == [("a", 1), ("b", 1), ("c", 1)]


def test_a_client_that_goes_away_does_not_take_its_write_along(writing, legacy_store, new_store):
    release = threading.Event()
    legacy_store.before_body = lambda request: release.wait(20)
    client = writing.connect()
    client.send(request_bytes("POST", "/changes", body=change("u", "r", 1)))
    eventually(lambda: legacy_store.begun, "the leg has begun")
    client.close()
    release.set()
    eventually(lambda: new_store.applied == [("r", 1)], "both legs arrive")
    assert legacy_store.applied == [("r", 1)]
