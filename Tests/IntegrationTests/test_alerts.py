"""Who is told what, and that nobody waits for a receiver (contract §4, `alerts`)."""

import itertools
import json
import signal
import socket

import pytest

from support.alerts import Alertmanager, Receiver
from support.backend import CLOSE, HANG, RESET, reply
from support.gateway import cutover
from support.small_disk import SmallDisk
from support.waiting import eventually, stays

STAGES = [{"name": "dual-write", "percent": 0, "shadow": "0%"}, {"name": "half", "percent": 50, "shadow": "0%"},
          {"name": "full", "percent": 100, "shadow": "0%"}]


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.stop()
    assert made.violations == []


@pytest.fixture
def alertmanager(scratch):
    made = Alertmanager(scratch)
    yield made
    made.close()


@pytest.fixture
def told(make_gateway, legacy, new):
    """Makes a gateway whose plan has these `alerts`, and other keys."""
    def make(url, lag="1s", config=None, **plan):
        return make_gateway(legacy, new, config=config, plan={
            "name": "my-migration", "stages": STAGES, "alerts": {"webhook": url, "lag": lag}, **plan})
    return make


def promote(gateway, **body):
    return gateway.change("POST", "rollout/promote", body)


def raised_now(gateway):
    return [alert["name"] for alert in gateway.status()["alerts"]["raised"]]


def counted(gateway, result):
    return gateway.metrics()("cutover_alerts_total", result=result)


# What is told


def test_each_change_of_the_rollout_is_a_message_with_who_and_why(told, receiver):
    gateway = told(receiver.hook)
    promote(gateway, reason="canary quiet since noon")
    gateway.change("POST", "rollout/pause")
    gateway.change("POST", "rollout/promote", {"dry_run": True})
    gateway.change("POST", "rollout/rollback", {"reason": "support calls"})
    first, second, third = receiver.wait_for("CutoverRolloutChanged", 3)
    assert first["annotations"]["summary"] == "Promote: stage dual-write → half, percent 0 → 50"
    assert (first["status"], first["severity"], first["ends_at"]) == ("message", "info", None)
    assert first["event"]["action"] == "promote" and first["event"]["reason"] == "canary quiet since noon"
    assert first["event"]["actor"].startswith("admin@")
    assert [first["event"]["before"]["percent"], first["event"]["after"]["percent"]] == [0, 50]
    assert second["event"]["action"] == "pause"
    assert (third["severity"], third["labels"]["action"]) == ("warning", "rollback")
    assert "support calls" in third["text"] and "stage half → dual-write" in third["text"]
    stored = gateway.read("events")["items"]
    assert [event["action"] for event in stored[:3]] == ["rollback", "pause", "promote"]
    assert stored[2]["before"] == first["event"]["before"] and stored[2]["after"] == first["event"]["after"]
    assert eventually(lambda: counted(gateway, "sent") == 3, "three are counted")


def test_whatever_the_body_an_answer_of_200_means_told(told, receiver):
    receiver.answer = lambda request: reply(b"x" * 1_000_000)
    gateway = told(receiver.hook)
    promote(gateway)
    receiver.wait_for("CutoverRolloutChanged")
    eventually(lambda: counted(gateway, "sent") == 1, "it counts as told")
    assert counted(gateway, "refused") == counted(gateway, "retried") == 0


def test_an_answer_that_is_not_http_is_tried_again(told):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gateway = told("http://127.0.0.1:%d/hook/s3cret" % listener.getsockname()[1])
        promote(gateway)
        for answer in (b"220 another service\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"):
            client, _ = listener.accept()
            with client:
                assert client.recv(65536)
                client.sendall(answer)
    eventually(lambda: counted(gateway, "sent") == 1, "it is told in the end")
    assert counted(gateway, "retried") == 1 and counted(gateway, "refused") == 0


def test_an_instance_is_named_by_the_port_it_listens_on(told, receiver):
    gateway = told(receiver.hook)
    promote(gateway)
    (alert,) = receiver.wait_for("CutoverRolloutChanged")
    assert alert["labels"]["instance"] == f"{socket.gethostname()}:{gateway.admin_port}"


def test_slack_gets_a_text(told, receiver):
    gateway = told(receiver.url + "/services/T0/B0/s3cret")
    promote(gateway, reason="<!channel> & co")
    eventually(lambda: receiver.requests, "it arrives")
    body = json.loads(receiver.requests[0].body)
    assert body == {
        "text": "*[CUTOVER] Promote: stage dual-write → half, percent 0 → 50*\n"
                "By admin@127.0.0.1: &lt;!channel&gt; &amp; co. `cutover status` shows where the rollout is."}
    assert receiver.requests[0]["Content-Type"] == "application/json"


def test_a_parked_leg_is_told_once_and_resolved_when_it_was_replayed(told, receiver, new):
    gateway = told(receiver.hook, config={"writes": {"retry_max": "50ms"}})
    new.answer = lambda request: reply(b"no", status=422)
    assert gateway.fetch("POST", "/notes", body=b"x", user="alice").status == 200
    (raised,) = receiver.wait_for("CutoverLegsParked")
    assert (raised["status"], raised["severity"]) == ("firing", "warning")
    assert "1 leg is parked (legacy 0, new 1)" in raised["text"] and "cutover journal --parked" in raised["text"]
    assert "alice" not in json.dumps(raised) and "/notes" not in json.dumps(raised)
    stays(lambda: len(receiver.alerts("CutoverLegsParked")) == 1, "it is told once", 4)
    new.answer = lambda request: reply()
    gateway.change("POST", "journal/replay", {"all_parked": True})
    _, resolved = receiver.wait_for("CutoverLegsParked", 2, seconds=60)
    assert resolved["status"] == "resolved" and resolved["fingerprint"] == raised["fingerprint"]
    assert resolved["starts_at"] == raised["starts_at"] < resolved["ends_at"]


def test_a_backend_that_does_not_take_its_writes_is_told_and_resolved(told, receiver, new):
    gateway = told(receiver.hook)
    new.stop()
    assert gateway.fetch("POST", "/notes", body=b"x", user="u").status == 200
    (raised,) = receiver.wait_for("CutoverJournalLag")
    assert raised["labels"]["backend"] == "new" and "limit 1 s" in raised["text"]
    assert "CutoverJournalLag" in raised_now(gateway)
    new.start()
    gateway.settle()
    _, resolved = receiver.wait_for("CutoverJournalLag", 2, seconds=60)
    assert resolved["status"] == "resolved" and resolved["fingerprint"] == raised["fingerprint"]
    assert "CutoverJournalLag" not in raised_now(gateway)


def test_a_gate_that_fails_and_a_backend_that_is_down_are_told(told, receiver, new):
    gateway = told(receiver.hook, min_samples=20, gates={"fallback_rate": "1%"}, on_breach="alert", config={
        "fallback": {"breaker": {"min_requests": 10, "open_for": "60s"}}})
    gateway.set_percent(100)
    new.stop()

    def is_told():
        assert gateway.get("/", user="u").status == 200
        return receiver.alerts("CutoverGateFailing")

    (breach,) = eventually(is_told, "the breach is told", 60)
    assert breach["severity"] == "critical" and breach["labels"]["gate"] == "fallback_rate"
    assert breach["annotations"]["summary"].startswith("Gate fallback_rate fails: ")
    (down,) = receiver.wait_for("CutoverBackendUnhealthy")
    assert down["labels"]["backend"] == "new" and down["severity"] == "warning"


def test_a_rollback_by_a_gate_is_told_with_the_reason_of_its_event(told, receiver, new):
    gateway = told(receiver.hook, min_samples=20, gates={"fallback_rate": "1%"})
    promote(gateway)
    new.stop()
    users = itertools.cycle(f"u{index}" for index in range(100))

    def is_back():
        assert gateway.get("/", user=next(users)).status == 200
        return gateway.status()["rollout"]["state"] == "rolled_back"

    eventually(is_back, "it goes back by itself", 60)
    _, back = receiver.wait_for("CutoverRolloutChanged", 2)
    event = next(event for event in gateway.read("events")["items"] if event["action"] == "rollback")
    assert event["actor"] == "gate"
    assert event["reason"].startswith("gate fallback_rate fails: ")
    assert (back["severity"], back["labels"]["trigger"]) == ("critical", "gate")
    assert back["event"]["reason"] == event["reason"] and event["reason"] in back["text"]
    (breach,) = receiver.wait_for("CutoverGateFailing")
    assert breach["status"] == "firing" and breach["labels"]["gate"] == "fallback_rate", "though it was over at once"


def test_a_store_that_takes_no_writes_is_told_and_resolved(make_gateway, legacy, new, receiver):
    gateway = make_gateway(legacy, new, start=False, plan={
        "name": "p", "stages": STAGES, "alerts": {"webhook": receiver.hook}})
    disk = SmallDisk(gateway)
    try:
        gateway.start()
        disk.fill()

        def write():
            return gateway.fetch("PUT", "/notes", body=b"x" * 60_000, user="u").status

        eventually(lambda: write() == 503, "writes are refused", 60)
        (raised,) = receiver.wait_for("CutoverJournalNotWritable", seconds=60)
        assert raised["severity"] == "critical" and "the store refuses to take them" in raised["text"]
        disk.free()
        eventually(lambda: write() == 200, "writes go on", 60)
        _, resolved = receiver.wait_for("CutoverJournalNotWritable", 2, seconds=60)
        assert resolved["status"] == "resolved"
    finally:
        gateway.kill()
        disk.remove()


def test_a_new_receiver_hears_of_what_is_raised_and_a_file_may_hold_its_url(told, receiver, new, scratch):
    gateway = told(receiver.hook)
    new.stop()
    assert gateway.fetch("POST", "/notes", body=b"x", user="u").status == 200
    (first,) = receiver.wait_for("CutoverJournalLag")
    other = Receiver()
    try:
        (gateway.directory / "hook").write_text(other.hook + "\n")
        plan = json.loads(gateway.plan_file.read_text())
        plan["alerts"] = {"webhook_file": "hook", "lag": "1s"}
        gateway.plan_file.write_text(json.dumps(plan))
        gateway.change("POST", "reload")
        (again,) = other.wait_for("CutoverJournalLag")
        assert again["fingerprint"] == first["fingerprint"]
        assert gateway.status()["alerts"]["receiver"] == other.url
    finally:
        other.stop()


def test_nobody_is_told_without_a_receiver(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, plan={"name": "p", "stages": STAGES})
    promote(gateway)
    assert gateway.status()["alerts"] == {"receiver": None, "format": None, "waiting": 0, "raised": []}
    assert [counted(gateway, result) for result in ("sent", "retried", "dropped", "refused")] == [0, 0, 0, 0]


# Alertmanager


def test_the_real_alertmanager_takes_what_is_told_and_what_is_over(told, alertmanager, new):
    gateway = told(alertmanager.url + "/api/v2/alerts")
    promote(gateway, reason="to see")
    (change,) = eventually(lambda: alertmanager.alerts("CutoverRolloutChanged"), "the change is there")
    assert change["labels"]["action"] == "promote" and change["labels"]["plan"] == "my-migration"
    assert change["annotations"]["summary"] == "Promote: stage dual-write → half, percent 0 → 50"
    new.stop()
    assert gateway.fetch("POST", "/notes", body=b"x", user="u").status == 200
    (lag,) = eventually(lambda: alertmanager.alerts("CutoverJournalLag"), "the lag is there")
    assert lag["labels"]["severity"] == "warning" and lag["status"]["state"] == "active"
    new.start()
    gateway.settle()
    eventually(lambda: not alertmanager.alerts("CutoverJournalLag"), "it is over", 60)
    assert alertmanager.alerts("CutoverRolloutChanged"), "a change is shown for a while"
    assert counted(gateway, "refused") == 0


# A receiver that fails


def test_a_receiver_that_fails_five_times_gets_it_in_the_end(told, receiver):
    failures = [[RESET], reply(status=500), reply(status=503, headers=[("Retry-After", "1")]),
                reply(status=429, headers=[("Retry-After", "1")]), [b"HTTP/1.1 503 x\r\nRetry-After: 1\r\n\r\n", CLOSE]]
    left = iter(failures)
    receiver.answer = lambda request: next(left, reply(b"ok"))
    gateway = told(receiver.hook)
    promote(gateway)
    eventually(lambda: counted(gateway, "sent") == 1, "it arrives", 60)
    assert counted(gateway, "retried") == 5
    assert len({request.body for request in receiver.requests}) == 1 and len(receiver.requests) == 6
    log = gateway.log()
    assert log.count("does not take them") == 1 and log.count("takes them again") == 1


def test_a_receiver_that_refuses_is_given_up_and_said_once(told, receiver):
    receiver.answer = lambda request: reply(b"no_service", status=404)
    gateway = told(receiver.hook)
    promote(gateway)
    gateway.change("POST", "rollout/pause")
    eventually(lambda: counted(gateway, "refused") == 2, "both are given up")
    assert gateway.log().count("refuses them (it answers 404)") == 1
    assert gateway.status()["alerts"]["waiting"] == 0


def test_nothing_waits_for_a_receiver_that_hangs(told, receiver, legacy, new):
    receiver.answer = lambda request: [HANG]
    gateway = told(receiver.hook)
    promote(gateway)
    eventually(lambda: receiver.begun, "the receiver was asked")
    for index in range(50):
        assert gateway.get(f"/{index}", user=f"u{index}").status == 200
        assert gateway.fetch("POST", f"/{index}", body=b"x", user=f"u{index}").status == 200
    promote(gateway)
    assert gateway.change("POST", "rollout/rollback")["after"]["percent"] == 0
    assert gateway.get("/", user="u").backend == "legacy"
    gateway.settle()
    assert gateway.status()["alerts"]["waiting"] == 3, "all of that while it hangs"
    assert [request.target for request in receiver.begun] == ["/hook/s3cret"], "still the first try"
    gateway.stop()


def test_what_does_not_fit_into_the_queue_is_counted(told, receiver):
    receiver.answer = lambda request: [HANG]
    gateway = told(receiver.hook)
    for _ in range(150):
        gateway.change("POST", "rollout/pause")
        gateway.change("POST", "rollout/resume")
    assert counted(gateway, "dropped") == 300 - 256
    assert gateway.metrics()("cutover_alerts_waiting") == 256


def test_the_end_of_the_process_gives_what_waits_one_last_try(told, receiver):
    receiver.answer = lambda request: reply(status=429, headers=[("Retry-After", "600")])
    gateway = told(receiver.hook)
    promote(gateway)
    eventually(lambda: counted(gateway, "retried") == 1, "it was told to wait")
    receiver.answer = lambda request: reply(b"ok")
    assert gateway.stop() == 0
    assert len(receiver.alerts("CutoverRolloutChanged")) == 2


def test_a_receiver_that_hangs_does_not_keep_the_process(told, receiver):
    receiver.answer = lambda request: [HANG]
    gateway = told(receiver.hook)
    promote(gateway)
    eventually(lambda: receiver.begun, "the receiver was asked")
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.process.wait(30) == 0
    assert "alerts: 1 was not delivered before the end" in gateway.log()


# Secrets


def test_the_url_is_a_secret(told, receiver):
    url = receiver.hook.replace("http://", "http://user:s3cretpw@") + "?key=s3cretkey"
    answers = iter([reply(status=500), reply(status=404)])
    receiver.answer = lambda request: next(answers, reply(b"ok"))
    gateway = told(url)
    promote(gateway)
    eventually(lambda: counted(gateway, "refused") == 1, "it was refused")
    promote(gateway)
    eventually(lambda: counted(gateway, "sent") == 1, "one arrives")
    request = receiver.requests[-1]
    assert request.target == "/hook/s3cret?key=s3cretkey" and request["Authorization"].startswith("Basic ")
    gateway.config["plan"] = str(gateway.plan_file)
    shown = [gateway.log(), gateway.admin("GET", "/metrics")[1], json.dumps(gateway.status()),
             json.dumps(gateway.read("rollout")), json.dumps(gateway.read("events"))]
    gateway.plan_file.write_text(gateway.plan_file.read_text().replace("http://user", "ftp://user"))
    refused = gateway.admin("POST", "/api/v1/reload", {}, token=gateway.token())
    check = cutover("check", gateway.config_file, check=False)
    assert refused[0] == 422 and check.returncode == 1 and "alerts.webhook" in check.stdout
    shown += [json.dumps(refused[1]), check.stdout, check.stderr, gateway.log()]
    assert not [text for text in shown if "s3cret" in text]
    assert f"alerts: go to {receiver.url} (plain)" in gateway.log()


# Several gateways


def test_a_change_is_told_by_the_gateway_that_carried_it_out(make_cluster, legacy, new, receiver):
    pair = make_cluster(legacy, new, plan={
        "name": "shared", "stages": STAGES, "alerts": {"webhook": receiver.hook}})
    promote(pair[0])
    eventually(lambda: pair[1].status()["rollout"]["percent"] == 50, "the other one has it")
    promote(pair[1])
    eventually(lambda: pair[0].status()["rollout"]["percent"] == 100, "and back")
    first, second = receiver.wait_for("CutoverRolloutChanged", 2)
    stays(lambda: len(receiver.alerts()) == 2, "nobody tells what another one has done", 2)
    assert first["labels"]["instance"] != second["labels"]["instance"]
