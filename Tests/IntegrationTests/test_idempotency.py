"""Repeats, keys and revisions (contract §6, points 5 and 6)."""

import json
import threading

import pytest

from support.backend import reply
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually
from support.wire import request_bytes


@pytest.fixture
def writing(make_gateway, legacy_store, new_store):
    return make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})


def post(gateway, body, key=None, target="/changes", user=None):
    headers = [("Content-Type", "application/json")] + ([("Idempotency-Key", key)] if key else [])
    return gateway.fetch("POST", target, headers, body, user=user)


def test_a_repeat_gets_the_first_answer_again(writing, legacy_store, new_store):
    first = post(writing, change("u", "r", 1), key="k")
    assert "Idempotent-Replayed" not in first.headers
    second = post(writing, change("u", "r", 1), key="k")
    assert second["Idempotent-Replayed"] == "true"
    assert (second.status, second.body, second["Content-Type"]) == (first.status, first.body, first["Content-Type"])
    writing.settle()
    assert len(legacy_store.requests) == len(new_store.requests) == 1


def test_a_repeat_after_a_restart_gets_the_first_answer_too(writing, legacy_store):
    first = post(writing, change("u", "r", 1), key="k")
    eventually(lambda: legs(writing) == ["applied", "applied"], "the journal knows what the client was told")
    writing.restart()
    second = post(writing, change("u", "r", 1), key="k")
    assert second["Idempotent-Replayed"] == "true" and second.body == first.body
    assert len(legacy_store.requests) == 1


def test_a_write_whose_answer_was_not_durable_is_asked_again_with_its_key(writing, legacy_store):
    first = post(writing, change("u", "r", 1), key="k")
    writing.restart()  # kill -9 in the milliseconds between answer and journal
    second = eventually(lambda: answered(post(writing, change("u", "r", 1), key="k")), "an answer to the repeat")
    assert second["Idempotent-Replayed"] == "true" and second.body == first.body
    assert legacy_store.applied == [("r", 1)]
    assert {request["Idempotency-Key"] for request in legacy_store.requests} == {"k"}


def legs(gateway):
    """The states of the newest write's legs; the client may have its answer a moment before the journal hears of it."""
    return [leg["state"] for leg in gateway.read("journal")["items"][0]["legs"].values()]


@pytest.mark.parametrize("key", ["a\r\nX-Evil: 1", "a\nb", "a\u0000b", "\u00e9", "k" * 1025])
def test_a_key_in_the_body_that_is_no_header_value_is_refused(writing, legacy_store, key):
    body = json.loads(change("u", "r", 1)) | {"idempotencyKey": key}
    answer = writing.fetch("POST", "/changes", body=json.dumps(body).encode(), user="u")
    assert answer.status == 400 and "idempotency key" in answer.json()["detail"]
    assert legacy_store.begun == []


def test_an_empty_key_in_the_body_is_none(writing):
    for revision in (1, 2):
        body = json.loads(change("u", "r", revision)) | {"idempotencyKey": ""}
        assert writing.fetch("POST", "/changes", body=json.dumps(body).encode(), user="u").status == 200


def test_a_repeat_is_told_when_the_first_answer_was_too_large_to_keep(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    legacy.answer = lambda request: reply(b"x" * 65_537)
    headers = [("Idempotency-Key", "k")]
    assert len(gateway.fetch("PUT", "/a", headers, body=b"1", user="u").body) == 65_537
    repeat = gateway.fetch("PUT", "/a", headers, body=b"1", user="u")
    assert (repeat.status, repeat.json()["first_status"]) == (409, 200)
    assert len(legacy.requests) == 1


def answered(answer):
    """The answer, unless it says that the first attempt is still running."""
    return answer if answer.status != 409 else None


def test_a_repeat_after_the_side_has_moved_gets_the_first_answer_too(writing, legacy_store, new_store):
    first = post(writing, change("u", "r", 1), key="k")
    writing.settle()
    writing.set_percent(100)
    assert post(writing, change("u", "r", 1), key="k").body == first.body
    writing.settle()
    assert len(legacy_store.requests) == len(new_store.requests) == 1


def test_the_same_key_for_another_request_is_422(writing, legacy_store):
    assert post(writing, change("u", "r", 1), key="k").status == 200
    answer = post(writing, change("u", "r", 2), key="k")
    assert answer.status == 422 and answer["Content-Type"] == "application/problem+json"
    assert len(legacy_store.requests) == 1


def test_a_key_belongs_to_its_user(writing, legacy_store):
    assert post(writing, change("u", "r", 1), key="k").status == 200
    answer = post(writing, change("v", "s", 1), key="k")
    assert answer.status == 200 and "Idempotent-Replayed" not in answer.headers
    assert len(legacy_store.requests) == 2


def test_a_repeat_while_the_first_still_runs_is_409(writing, legacy_store):
    release = threading.Event()
    legacy_store.before_body = lambda request: release.wait(20)
    with writing.connect() as client:
        client.send(request_bytes("POST", "/changes", [("Idempotency-Key", "k")], change("u", "r", 1)))
        eventually(lambda: legacy_store.begun, "the first begins")
        answer = post(writing, change("u", "r", 1), key="k")
        assert answer.status == 409 and int(answer["Retry-After"]) >= 1
        release.set()
        assert client.response("POST").status == 200
    assert post(writing, change("u", "r", 1), key="k")["Idempotent-Replayed"] == "true"
    assert len(legacy_store.requests) == 1


def test_a_stale_revision_is_409_and_says_refresh(writing, legacy_store, new_store):
    assert post(writing, change("u", "r", 8, text="phone")).status == 200
    writing.settle()
    answer = post(writing, change("u", "r", 7, text="tablet"))
    assert answer.status == 409 and "json" in answer["Content-Type"]
    problem = answer.json()
    assert problem["type"].endswith("/stale-revision")
    assert (problem["current_revision"], problem["received_revision"], problem["action"]) == (8, 7, "refresh")
    assert len(legacy_store.requests) == len(new_store.requests) == 1
    metrics = writing.metrics()
    assert metrics("cutover_conflicts_total", source="gateway") == 1
    assert metrics("cutover_conflict_ratio") == 0.5


def test_a_taken_revision_is_409(writing):
    assert post(writing, change("u", "r", 8, text="phone")).status == 200
    answer = post(writing, change("u", "r", 8, text="tablet", key="other"))
    assert answer.status == 409 and answer.json()["current_revision"] == 8


def test_revisions_are_remembered_over_a_restart(writing):
    assert post(writing, change("u", "r", 8)).status == 200
    writing.restart()
    assert post(writing, change("u", "r", 7)).status == 409


def test_the_same_revision_with_the_same_key_is_a_retry(writing):
    assert post(writing, change("u", "r", 8, key="k")).status == 200
    answer = post(writing, change("u", "r", 8, key="k"))
    assert answer.status == 200 and answer["Idempotent-Replayed"] == "true"
    assert writing.metrics()("cutover_conflicts_total", source="gateway") == 0


def test_a_revision_that_was_refused_is_free_again(writing, legacy_store):
    legacy_store.refuse = lambda request: reply(b"no", 400)
    assert post(writing, change("u", "r", 5)).status == 400
    legacy_store.refuse = lambda request: None
    assert post(writing, change("u", "r", 5, text="better", key="again")).status == 200


def test_records_of_two_users_do_not_meet(writing):
    assert post(writing, change("u", "r", 8)).status == 200
    legacy_status = post(writing, change("v", "r2", 1)).status
    assert legacy_status == 200


def test_an_integer_user_and_its_string_are_one_user(writing, legacy_store):
    body = json.loads(change("42", "r", 1, key="k"))
    assert post(writing, json.dumps({**body, "userId": 42}).encode()).status == 200
    facts = writing.read("journal")["items"][0]
    assert facts["user"] == "42"


def batch(*changes, key):
    items = [json.loads(change("u", record, revision, text=key)) for record, revision in changes]
    return json.dumps({"userId": "u", "batchKey": key, "changes": items}).encode()


def test_one_stale_item_refuses_the_batch_and_names_all_of_them(writing, legacy_store):
    assert post(writing, batch(("a", 3), ("b", 3), ("c", 3), key="k1"), target="/changes/batch").status == 200
    answer = post(writing, batch(("a", 4), ("b", 2), ("c", 1), key="k2"), target="/changes/batch")
    assert answer.status == 409
    text = answer.body.decode()
    assert '"b"' in text and '"c"' in text and '"a"' not in text
    assert len(legacy_store.requests) == 1
    # Nothing of the refused batch counts.
    assert post(writing, batch(("a", 4), key="k3"), target="/changes/batch").status == 200


@pytest.mark.parametrize("body", [b"{", b"", b'{"userId":"u","recordId":"r","revision":"seven"}', b"[]"])
def test_a_body_without_the_named_fields_is_refused_or_passed_on_but_never_crashes(writing, body):
    assert post(writing, body).status in (200, 400, 422, 500, 502)
    assert post(writing, change("u", "after", 1)).status == 200


def test_a_key_in_quotes_is_the_same_key_as_without(writing, legacy_store):
    first = post(writing, change("u", "r", 1), key='"8e03978e"')
    second = post(writing, change("u", "r", 1), key="8e03978e")
    assert second["Idempotent-Replayed"] == "true" and second.body == first.body
    assert [request["Idempotency-Key"] for request in legacy_store.requests] == ['"8e03978e"']


@pytest.mark.parametrize("keys", [['"k'], ["k", "k"], ['"k" "l"']])
def test_a_key_that_is_none_is_refused_before_anything_is_sent(writing, legacy_store, keys):
    headers = [("Content-Type", "application/json")] + [("Idempotency-Key", key) for key in keys]
    answer = writing.fetch("POST", "/changes", headers, change("u", "r", 1))
    assert answer.status == 400 and b"accepted" in answer.body
    assert legacy_store.requests == []


def test_a_route_may_ask_for_a_key(make_gateway, legacy_store, new_store):
    routes = [{"match": "POST /orders", "kind": "write", "require_idempotency_key": True}]
    gateway = make_gateway(legacy_store, new_store, config={"routes": routes})
    refused = gateway.fetch("POST", "/orders", body=b"{}", user="u")
    assert refused.status == 400 and json.loads(refused.body)["type"] == "urn:cutover:problem/idempotency-key-missing"
    assert legacy_store.requests == []
    legacy_store.refuse = new_store.refuse = lambda request: reply(b"{}", 201)
    assert gateway.fetch("POST", "/orders", [("Idempotency-Key", "k")], b"{}", user="u").status == 201
