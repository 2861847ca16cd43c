"""The sync service, as its clients see it: a real process, real connections."""

import http.client
import json
import random
import sqlite3
import ssl
import subprocess
import threading
import time

import pytest

from support.sync import SyncService, change


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request):
    """Flags for the store; both have to do everything alike."""
    if request.param == "sqlite":
        return ()
    server = request.getfixturevalue("shared_postgres")
    return ("--store", server.url(server.make_database()))


@pytest.fixture
def sync(scratch, store):
    service = SyncService(scratch, *store)
    yield service
    service.stop()


@pytest.fixture
def embedded(scratch):
    """For what has nothing to do with the store."""
    service = SyncService(scratch)
    yield service
    service.stop()


def test_a_change_is_answered_with_its_record(sync):
    status, headers, record = sync.put(
        change("r1", 1, {"title": "One"}, updatedAt="2019-05-06T07:08:09.123Z", createdAt="2019-01-01T00:00:00Z",
               recordName="CK-r1", container="iCloud.reader"))
    assert status == 200 and headers["X-Request-Id"]
    assert record == {
        "recordId": "r1", "userId": "u1", "type": "document", "revision": 1, "payload": {"title": "One"},
        "deleted": False, "createdAt": "2019-01-01T00:00:00.000Z", "updatedAt": "2019-05-06T07:08:09.123Z",
        "deviceId": "d1", "recordName": "CK-r1", "container": "iCloud.reader",
    }
    assert sync.get("/records/r1", "u1")[2] == record
    assert sync.get("/users/u1/records/r1")[2] == record
    assert sync.get("/records/r1", "u2")[0] == 404


def test_a_stale_change_is_answered_with_what_is_there(sync):
    sync.put(change("r1", 3, {"a": 1}))
    status, headers, problem = sync.put(change("r1", 2, {"a": 0}))
    assert status == 409 and headers["Content-Type"] == "application/problem+json"
    assert problem["type"].endswith("/stale-revision") and problem["action"] == "refresh"
    assert (problem["current_revision"], problem["received_revision"]) == (3, 2)
    assert problem["record"]["payload"] == {"a": 1} and problem["request_id"]
    # The same once more, by key or by content, is no conflict.
    assert sync.put(change("r1", 3, {"a": 1}))[0] == 200
    assert sync.put(change("r1", 3, {"a": 1.0}, key="other"))[0] == 200
    assert sync.put(change("r1", 3, {"a": 2}, key="third"))[0] == 409
    assert sync.put(change("r1", 4, {"a": 2}, key="r1-3"))[0] == 422
    assert sync.put(change("r1", 4, {"a": 2}, user="u2"))[0] == 403


def test_one_stale_change_refuses_its_batch_and_all_are_named(sync):
    sync.put(change("a", 5, {"v": 5}), change("b", 5, {"v": 5}))
    status, _, problem = sync.put(change("n", 1, {}), change("a", 4, {}), change("b", 6, {}), change("b", 3, {}))
    assert status == 409
    assert [(item["index"], item["recordId"], item["reason"]) for item in problem["items"]] == [
        (1, "a", "stale-revision"), (3, "b", "stale-revision")]
    assert problem["items"][0]["record"]["payload"] == {"v": 5} and problem["items"][0]["current_revision"] == 5
    assert sync.get("/records/n", "u1")[0] == 404, "nothing of the batch is applied"
    assert sync.get("/records/b", "u1")[2]["revision"] == 5
    status, _, answer = sync.put(change("n", 1, {}), change("b", 6, {}), change("a", 5, {"v": 5}))
    assert status == 200 and (answer["applied"], answer["retried"]) == (2, 1)
    assert [item["result"] for item in answer["items"]] == ["applied", "applied", "retry"]


def test_a_deleted_record_stays_deleted_when_history_comes_late(sync):
    sync.put(change("r1", 1, {"secret": "s3cr3t"}))
    sync.put(change("r1", 2))
    status, _, tombstone = sync.get("/records/r1", "u1")
    assert status == 410 and tombstone["deleted"] and tombstone["payload"] is None and tombstone["revision"] == 2
    assert sync.put(change("r1", 1, {"secret": "s3cr3t"}, key="backfill"))[0] == 200, "a retry of what was there"
    assert sync.put(change("r1", 0, {"secret": "s3cr3t"}))[0] == 409
    assert sync.get("/records/r1", "u1")[0] == 410
    assert "s3cr3t" not in json.dumps(sync.all("/changes", "u1"))
    assert sync.put(change("r1", 3, {"v": 3}))[0] == 200
    assert sync.get("/records/r1", "u1")[0] == 200


def test_highlights_merge_by_field_and_progress_takes_the_later(sync):
    sync.put(change("h", 1, {"text": "a", "color": "red"}, kind="highlight"))
    merged = sync.put(change("h", 2, {"color": "blue", "note": "n"}, kind="highlight"))[2]
    assert merged["payload"] == {"text": "a", "color": "blue", "note": "n"}
    assert sync.put(change("h", 3, {"note": None}, kind="highlight"))[2]["payload"] == {"text": "a", "color": "blue"}
    early = {"progress": 0.2, "progressAt": "2021-01-01T00:00:00Z"}
    late = {"progress": 0.9, "progressAt": "2022-01-01T00:00:00Z"}
    sync.put(change("p", 5, early, kind="progress"))
    answer = sync.put(change("p", 4, late, kind="progress"))
    assert answer[0] == 200 and answer[2]["payload"] == late and answer[2]["revision"] == 5
    future = sync.put(change("p", 6, {"progress": 0.1, "progressAt": "2999-01-01T00:00:00Z"}, kind="progress"))[2]
    assert future["payload"]["progressAt"] < "2900", "a clock that is fast counts as the server's now"


def test_lists_are_a_users_own_and_come_in_pages(sync):
    for user in ("u1", "ü/2"):
        sync.put(*[change(f"{user}-d{n}", 1, {"n": n}, user=user) for n in range(7)],
                 *[change(f"{user}-h{n}", 1, {"n": n}, user=user, kind="highlight") for n in range(5)],
                 change(f"{user}-n", 1, {}, user=user, kind="note"))
    sync.put(change("u1-d3", 2))
    assert [item["recordId"] for item in sync.all("/documents", "u1")] == [f"u1-d{n}" for n in (0, 1, 2, 4, 5, 6)]
    assert [item["recordId"] for item in sync.all("/highlights?user=u1")] == [f"u1-h{n}" for n in range(5)]
    everything = sync.all("/users/%C3%BC%2F2/records")
    assert len(everything) == 13 and {item["userId"] for item in everything} == {"ü/2"}
    assert [item["recordId"] for item in sync.all("/users/u1/records") if item["deleted"]] == ["u1-d3"]
    assert [item["id"] for item in sync.all("/users")] == ["u1", "ü/2"]
    assert sync.get("/documents")[0] == 400
    assert sync.get("/users/u1/records?after=x")[0] == 400


def test_the_feed_misses_nothing_while_many_write(sync):
    writers, each = 6, 40
    done = threading.Event()

    def write(number):
        connection = sync.connect()
        for revision in range(1, each + 1):
            assert sync.put(change(f"r{number}", revision, {"v": revision}), connection=connection)[0] == 200

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    seen = []

    def follow():
        cursor = ""
        while True:
            is_last = done.is_set()
            page = sync.get(f"/changes?since={cursor}&limit=7", "u1")[2]
            seen.extend((item["recordId"], item["revision"]) for item in page["items"])
            cursor = page["cursor"]
            if is_last and not page["items"]:
                return

    follower = threading.Thread(target=follow)
    follower.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    follower.join()
    assert len(seen) == writers * each
    for number in range(writers):
        assert [revision for record, revision in seen if record == f"r{number}"] == list(range(1, each + 1))
    assert sync.get("/changes", "u2")[2]["items"] == []


def test_an_export_is_complete(sync):
    for part in range(3):
        sync.put(*[change(f"d{part}-{n:03}", 1, {"title": f"T {n}\nline", "text": "body"}) for n in range(200)])
    sync.put(change("h1", 1, {"text": "one\ntwo", "color": "red"}, kind="highlight"), change("d0-007", 2))
    status, headers, body = sync.get("/users/u1/export")
    assert status == 200 and headers["Content-Type"] == "application/jsonl"
    records = [json.loads(line) for line in body.decode().splitlines()]
    assert records == sync.all("/users/u1/records", limit=1000) and len(records) == 601
    status, headers, body = sync.get("/users/u1/export?format=markdown")
    text = body.decode()
    assert status == 200 and headers["Content-Type"].startswith("text/markdown")
    assert text.count("\n## T ") == 599 and "> one\n> two\n" in text and "- color: red" in text
    assert sync.get("/users/u1/export?format=pdf")[0] == 400


def test_highlights_are_counted_since(sync):
    sync.put(change("h1", 1, {}, kind="highlight", createdAt="2019-12-31T23:59:59Z"),
             change("h2", 1, {}, kind="highlight", createdAt="2020-01-01T00:00:00Z"),
             change("h3", 1, {}, kind="highlight"), change("n1", 1, {}, kind="note"))
    months = sync.get("/stats/highlights")[2]
    assert months["highlights"] == 3 and months["months"][0] == {"month": "2019-12", "highlights": 1}
    assert sync.get("/stats/highlights?since=1y")[2]["highlights"] == 1
    assert sync.get("/stats/highlights?since=2020-01-01T00:00:00Z")[2]["highlights"] == 2
    assert sync.get("/stats/highlights?since=soon")[0] == 400


@pytest.mark.parametrize("key", ["a", "a/b", "a/b.o", "a.d/b", "snapshots/%C3%BC%20x.html", ".hidden/..x"])
def test_objects_are_kept_as_they_were_sent(embedded, key):
    sync = embedded
    content = random.Random(key).randbytes(300_000)
    assert sync.ask("DELETE", f"/objects/{key}")[0] == 204
    assert sync.get(f"/objects/{key}")[0] == 404
    status, put, _ = sync.ask("PUT", f"/objects/{key}", content, {"Content-Type": "text/html; charset=utf-8"})
    assert status == 204
    status, headers, body = sync.get(f"/objects/{key}")
    assert status == 200 and body == content
    assert headers["Content-Type"] == "text/html; charset=utf-8" and headers["ETag"] == put["ETag"]
    assert sync.ask("PUT", f"/objects/{key}", b"")[0] == 204
    assert sync.get(f"/objects/{key}")[2] == b""
    assert sync.ask("DELETE", f"/objects/{key}")[0] == 204
    assert sync.get(f"/objects/{key}")[0] == 404


@pytest.mark.parametrize("key", ["..", "a/../b", "%2e%2e/x", "a//b", "a/", "x" * 600, "a%2f%2e%2e%2fb"])
def test_a_key_leads_nowhere_else(embedded, scratch, key):
    assert embedded.ask("PUT", f"/objects/{key}", b"x")[0] == 400
    assert not [path for path in (scratch / "sync" / "objects").rglob("*") if path.is_file()]


@pytest.mark.parametrize("seed", range(3))
def test_what_was_acknowledged_survives_a_kill(scratch, store, seed):
    enough = random.Random(seed).randint(20, 60)
    service = SyncService(scratch, *store)
    acknowledged = {}
    lock = threading.Lock()

    def write(number):
        connection = service.connect()
        for revision in range(1, 10_000):
            batch = [change(f"r{number}-{n}", revision, {"v": revision, "pad": "x" * 200}) for n in range(20)]
            try:
                status, _, answer = service.put(*batch, connection=connection)
            except (OSError, http.client.HTTPException):
                return
            assert status == 200, answer
            with lock:
                acknowledged[number] = revision

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while True:
        with lock:
            if sum(acknowledged.values()) > enough:
                break
        time.sleep(0.005)
    service.kill()
    for thread in threads:
        thread.join()
    service.start()
    records = {item["recordId"]: item for item in service.all("/users/u1/records", limit=1000)}
    for number, revision in acknowledged.items():
        held = {records[f"r{number}-{n}"]["revision"] for n in range(20)}
        assert len(held) == 1, "a batch is whole or not there"
        assert held.pop() in (revision, revision + 1)
        # Sent again, as whoever got no answer would: each is applied once.
        batch = [change(f"r{number}-{n}", revision, {"v": revision, "pad": "x" * 200}) for n in range(20)]
        assert service.put(*batch)[2]["retried"] == 20
    service.stop()
    if store:
        return
    with sqlite3.connect(scratch / "sync" / "sync.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        assert tables == {"users", "documents", "highlights", "changes", "devices"}
        twice = "SELECT count(*) FROM (SELECT 1 FROM changes GROUP BY record_id, revision HAVING count(*) > 1)"
        assert database.execute(twice).fetchone() == (0,)


@pytest.mark.parametrize(
    "body, status",
    [(b"", 400), (b"[]", 400), (b"{}", 400), (b'{"changes":[]}', 400), (b"\xff", 400), (b'{"changes":[1]}', 400),
     (json.dumps({"changes": [change(f"r{n}", 1, {}) for n in range(1001)]}).encode(), 400)],
    ids=["empty", "array", "nothing", "no changes", "no text", "no object", "too many"])
def test_what_is_no_change_is_refused_in_words(embedded, body, status):
    answer = embedded.ask("POST", "/changes", body)
    assert answer[0] == status and answer[2]["detail"] and answer[2]["request_id"]


def test_other_methods_and_paths_are_told_apart(sync):
    status, headers, _ = sync.ask("DELETE", "/changes")
    assert status == 405 and headers["Allow"] == "GET, HEAD, POST"
    assert sync.ask("POST", "/documents", b"{}")[0] == 405
    assert sync.get("/nothing")[0] == 404
    assert sync.get("/healthz")[0] == 200


def test_requests_are_logged_with_their_ids_and_nobodys_data(scratch):
    log = scratch / "requests.log"
    service = SyncService(scratch, "--log", str(log), "--slow", "0ms")
    service.ask("POST", "/changes", change("rec-1", 1, {"text": "private"}, user="alice"), {"X-Request-Id": "id-1"})
    service.ask("GET", "/users/alice/records/rec-1", headers={"X-Request-Id": "id-2"})
    metrics = service.get("/metrics")[2].decode()
    service.stop()
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(line["request_id"], line["route"], line["status"]) for line in lines[:2]] == [
        ("id-1", "changes", 200), ("id-2", "record", 200)]
    assert all(line["slow"] for line in lines[:2]), "whatever takes longer than nothing is slow"
    for word in ("alice", "rec-1", "private"):
        assert word not in log.read_text(encoding="utf-8")
    assert 'cutover_sync_changes_total{result="applied"} 1' in metrics
    assert 'cutover_sync_requests_total{route="export",code="2xx"} 0' in metrics


def test_a_second_service_does_not_take_the_same_data(scratch):
    service = SyncService(scratch)
    with pytest.raises(AssertionError, match="is in use by process"):
        SyncService(scratch)
    service.stop()


def test_it_serves_https(scratch):
    certificate, key = scratch / "certificate.pem", scratch / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    service = SyncService(scratch, "--tls-certificate", str(certificate), "--tls-key", str(key))
    trust = ssl.create_default_context(cafile=certificate)
    connection = http.client.HTTPSConnection("localhost", service.port, context=trust, timeout=30)
    assert service.put(change("r1", 1, {"a": 1}), connection=connection)[0] == 200
    assert service.ask("GET", "/records/r1?user=u1", connection=connection)[2]["payload"] == {"a": 1}
    service.stop()
    with pytest.raises(AssertionError, match="did not start"):
        SyncService(scratch, "--tls-certificate", str(certificate), "--tls-key", str(scratch / "missing.pem"))
