"""GET /api/v1/stream: what happens, as it happens."""

import json
import threading
import time

import pytest

from support.backend import reply
from support.sse import EventStream
from support.waiting import eventually
from support.wire import Truncated
from test_admin import PLAN

LONG = "é" * 1000


@pytest.fixture
def planned(make_gateway, legacy, new):
    return make_gateway(legacy, new, plan=PLAN)


def test_the_status_comes_at_once_and_each_second(planned):
    with EventStream(planned) as stream:
        assert stream.answer["Content-Type"] == "text/event-stream" and stream.answer["Cache-Control"] == "no-store"
        first = stream.next("status").json()
        begin = time.monotonic()
        assert stream.retry == 2000
        for _ in range(3):
            status = stream.next("status").json()
        # Never faster than each second while nothing changes; how much slower is the machine's business.
        assert time.monotonic() - begin > 2
    assert first["rollout"]["stage"] == "dual-write"
    assert status.keys() == planned.status().keys() and status["rollout"] == planned.status()["rollout"]


def test_a_change_is_told_right_after_it_and_before_the_status_that_shows_it(planned):
    with EventStream(planned) as stream:
        stream.next("status")
        begin = time.monotonic()
        for percent in range(1, 21):
            generation = planned.set_percent(percent)["generation"]
            change = stream.next("change")
            assert change.json()["after"]["percent"] == percent and change.id == str(change.json()["seq"])
            stream.next("status", lambda event: event.json()["rollout"]["generation"] == generation)
        # Told once a second they would take twenty.
        assert time.monotonic() - begin < 15
        assert planned.read("events?limit=1")["items"][0] == change.json()


def test_what_is_no_step_of_the_rollout_is_told_too(planned):
    with EventStream(planned) as stream:
        stream.next("status")
        planned.pin("anna", "new")
        assert stream.next("change").json()["action"] == "pin anna"


def test_a_client_that_connects_anew_goes_on_behind_what_it_has_seen(planned):
    for percent in range(1, 6):
        planned.set_percent(percent)
    seqs = sorted(event["seq"] for event in planned.read("events")["items"])

    def begins_with(stream, count):
        return [int(stream.next("change").id) for _ in range(count)]

    with EventStream(planned, headers=[f"Last-Event-ID: {seqs[1]}"]) as stream:
        assert begins_with(stream, len(seqs) - 2) == seqs[2:]
        planned.set_percent(50)
        assert int(stream.next("change").id) == seqs[-1] + 1
    with EventStream(planned, query=f"?after={seqs[-1]}") as stream:
        assert int(stream.next("change").id) == seqs[-1] + 1
    with EventStream(planned, query="?after=0", headers=[f"Last-Event-ID: {seqs[-1]}"]) as stream:
        assert int(stream.next("change").id) == seqs[-1] + 1, "what was seen last counts more"
    with EventStream(planned, query="?after=999999999") as stream:
        stream.next("status")
        planned.set_percent(60)
        assert int(stream.next("change").id) == seqs[-1] + 2, "of another store, it begins now"
    for query, headers in [("?after=x", ()), ("?after=-1", ()), ("", ["Last-Event-ID: 1.5"])]:
        with EventStream(planned, query=query, headers=headers) as stream:
            assert stream.answer.status == 400


def test_at_most_a_thousand_changes_of_the_past_are_told(planned):
    for number in range(1010):
        planned.pin("u", "new" if number % 2 else "legacy")
    newest = planned.read("events?limit=1")["items"][0]["seq"]
    with EventStream(planned, query="?after=1") as stream:
        assert [int(stream.next("change").id) for _ in range(1000)] == list(range(newest - 999, newest + 1))


def test_a_mismatch_is_told(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"shadow": {"percent": 100, "recheck_after": "10ms"}})
    legacy.answer = lambda request: reply(b'{"a":1}', headers=[("Content-Type", "application/json")])
    new.answer = lambda request: reply(b'{"a":2}', headers=[("Content-Type", "application/json")])
    gateway.get("/before", user="u")
    eventually(lambda: gateway.read("mismatches")["items"], "a mismatch")
    with EventStream(gateway) as stream:
        stream.next("status")
        gateway.get("/after", user="u")
        mismatch = stream.next("mismatch").json()
        assert (mismatch["target"], mismatch["paths"]) == ("/after", ["/a"])
        assert gateway.read("mismatches?limit=1")["items"] == [mismatch]


def test_the_sixty_fifth_stream_is_refused_until_one_is_closed(planned):
    streams = [EventStream(planned) for _ in range(64)]
    assert {stream.answer.status for stream in streams} == {200}
    with EventStream(planned) as refused:
        assert refused.answer.status == 503 and int(refused.answer["Retry-After"]) > 0
        assert refused.answer.json()["status"] == 503
    # A client that goes away is noticed while there is nothing to send.
    for stream in streams[:63]:
        stream.close()

    def all_are_let_in():
        more = [EventStream(planned) for _ in range(63)]
        statuses = {stream.answer.status for stream in more}
        for stream in more:
            stream.close()
        return statuses == {200}

    eventually(all_are_let_in, "the places of those that went are free")
    assert streams[63].next("status")
    streams[63].close()


def test_a_client_that_reads_nothing_is_cut_off_and_the_others_are_not(planned):
    slow = EventStream(planned, receive_buffer=2048)
    with EventStream(planned) as other:
        seen = []
        reading = threading.Thread(
            target=lambda: seen.extend(other.next("change").json() for _ in range(120)), daemon=True)
        reading.start()
        for number in range(120):
            planned.change("PUT", "users/u/pin", {"side": "new" if number % 2 else "legacy", "reason": LONG})
        reading.join(60)
        assert len(seen) == 120
        eventually(lambda: "an event stream is cut off" in planned.log(), "the slow one is cut off", 60)
    with pytest.raises((Truncated, OSError)):
        slow.to_its_end()
    slow.close()


def test_a_drain_ends_every_stream(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, plan=PLAN, config={"timeouts": {"drain": "20s"}})
    stream = EventStream(gateway)
    stream.next("status")
    hold = threading.Event()
    legacy.answer = lambda request: hold.wait(30) and reply()
    with gateway.connect() as client:
        # A request under way keeps the gateway alive meanwhile.
        client.send(b"GET /slow HTTP/1.1\r\nHost: example.test\r\nX-User-Id: u\r\n\r\n")
        eventually(lambda: legacy.requests, "the request has arrived")
        stopping = threading.Thread(target=gateway.stop, args=(40,))
        stopping.start()
        stream.to_its_end()
        with EventStream(gateway) as late:
            assert late.answer.status == 503
        hold.set()
        assert client.response().status == 200
        stopping.join()
    stream.close()


def test_events_are_exported_whole_and_the_oldest_first(planned):
    for number in range(230):
        planned.pin("u", "new" if number % 2 else "legacy")
    status, text, headers = planned.admin("GET", "/api/v1/events?format=ndjson")
    assert status == 200 and headers["Content-Type"] == "application/x-ndjson"
    assert headers["Content-Disposition"].startswith("attachment")
    exported = [json.loads(line) for line in text.splitlines()]
    listed, cursor = [], ""
    while cursor is not None:
        page = planned.read(f"events?limit=100&cursor={cursor}")
        listed, cursor = listed + page["items"], page["next"]
    assert exported == listed[::-1] and len(exported) == 231
    assert [json.loads(line) for line in planned.command("events", "--all", "--json").stdout.splitlines()] == exported
    shown = planned.command("events", "--all").stdout.splitlines()
    assert len(shown) == 232 and shown[1].split()[0] == str(exported[0]["seq"])
