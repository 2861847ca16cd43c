"""`cutover rollback` moves reads at once and tells when legacy has everything (contract §2, §9)."""

import json
import re
import signal
import subprocess
import threading
import time

from support.backend import reply
from support.gateway import BINARY
from support.store import CHANGE_ROUTES
from support.waiting import eventually


def put(gateway, note, body=b"x", user="u"):
    return gateway.fetch("PUT", f"/notes/{note}", body=body, user=user)


def behind(make_gateway, legacy, new, count=3):
    """A gateway at 100 percent with legs to legacy outstanding, and the event that lets them through."""
    opened = threading.Event()
    legacy.refuse = lambda request: None if opened.is_set() or request.method == "GET" else reply(b"", 503)
    gateway = make_gateway(legacy, new, config={"routes": CHANGE_ROUTES}, percent=100)
    for number in range(count):
        assert put(gateway, f"n{number}").status == 200
    return gateway, opened


def test_nothing_outstanding_is_told_at_once(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES}, percent=100)
    put(gateway, "a")
    gateway.settle()
    lines = gateway.command("rollback").stdout.splitlines()
    assert lines[0].startswith("percent 100 → 0")
    assert re.fullmatch(r"legacy is caught up at \d\d:\d\d:\d\d \(0 legs\)", lines[-1])


def test_it_waits_until_legacy_has_everything(make_gateway, legacy_store, new_store):
    gateway, opened = behind(make_gateway, legacy_store, new_store)
    threading.Timer(1.5, opened.set).start()
    lines = gateway.command("rollback").stdout.splitlines()
    assert "3 legs to legacy outstanding" in lines
    assert re.fullmatch(r"legacy is caught up at \d\d:\d\d:\d\d \(3 legs\)", lines[-1])
    assert len(legacy_store.documents) == 3
    journal = gateway.status()["journal"]
    assert journal["caught_up_at"]["legacy"] and journal["caught_up_legs"]["legacy"] == 3
    event = gateway.read("events")["items"][0]
    assert (event["action"], event["actor"], event["before"]) == ("legacy caught up", "gateway", {"outstanding": 3})
    assert "legacy   is caught up since" in gateway.command("status").stdout


def test_no_wait_returns_at_once_and_the_gateway_goes_on_looking(make_gateway, legacy_store, new_store):
    gateway, opened = behind(make_gateway, legacy_store, new_store)
    done = gateway.command("rollback", "--no-wait", "--json")
    answer = json.loads(done.stdout)
    assert answer["before"]["percent"] == 100 and answer["after"]["percent"] == 0
    assert (answer["caught_up_at"], answer["outstanding"]) == (None, 3)
    assert gateway.status()["rollout"]["percent"] == 0
    opened.set()
    eventually(lambda: "legacy caught up" in [e["action"] for e in gateway.read("events")["items"]], "an event tells")


def test_json_is_one_object_at_the_end(make_gateway, legacy_store, new_store):
    gateway, opened = behind(make_gateway, legacy_store, new_store)
    threading.Timer(0.5, opened.set).start()
    answer = json.loads(gateway.command("rollback", "--json").stdout)
    assert answer["caught_up_at"].endswith("Z") and answer["outstanding"] == 0
    assert (answer["before"]["percent"], answer["after"]["state"]) == (100, "rolled_back")


def test_ctrl_c_leaves_the_rollback_in_force(make_gateway, legacy_store, new_store):
    gateway, opened = behind(make_gateway, legacy_store, new_store)
    command = subprocess.Popen(
        [BINARY, "rollback", "--admin", gateway.admin_url, "--data", str(gateway.data)],
        stdout=subprocess.PIPE, text=True,
        # Where the tests themselves run in the background, the signal would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    first = [command.stdout.readline(), command.stdout.readline()]
    assert first[1] == "3 legs to legacy outstanding\n"
    command.send_signal(signal.SIGINT)
    assert command.wait(10) != 0
    assert gateway.status()["rollout"]["state"] == "rolled_back"
    opened.set()
    eventually(lambda: gateway.status()["journal"]["caught_up_at"]["legacy"], "legacy is caught up")
    command.stdout.close()


def test_a_restart_does_not_forget_that_legacy_is_behind(make_gateway, legacy_store, new_store):
    gateway, opened = behind(make_gateway, legacy_store, new_store)
    gateway.command("rollback", "--no-wait")
    gateway.restart()
    time.sleep(1.2)
    assert gateway.status()["journal"]["caught_up_at"]["legacy"] is None
    opened.set()
    eventually(lambda: gateway.status()["journal"]["caught_up_at"]["legacy"], "legacy is caught up")
    told = gateway.status()["journal"]["caught_up_at"]
    gateway.restart()
    assert gateway.status()["journal"]["caught_up_at"] == told
    actions = [event["action"] for event in gateway.read("events")["items"]]
    assert actions.count("legacy caught up") == 1


def test_a_write_that_new_is_still_deciding_over_counts(make_gateway, legacy_store, new_store):
    """It has no leg to legacy yet when the rollback comes; legacy is not caught up before it has one that holds."""
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES}, percent=100)
    reached, answered = threading.Event(), threading.Event()

    def slowly(request):
        if request.method == "PUT":
            reached.set()
            answered.wait(10)
        return None

    new_store.refuse = slowly
    writer = threading.Thread(target=put, args=(gateway, "slow"))
    writer.start()
    assert reached.wait(10)
    gateway.command("rollback", "--no-wait")
    time.sleep(1.2)
    assert gateway.status()["journal"]["caught_up_at"]["legacy"] is None
    answered.set()
    writer.join()
    eventually(lambda: gateway.status()["journal"]["caught_up_at"]["legacy"], "legacy is caught up")
    assert "/notes/slow" in legacy_store.documents


def test_a_dry_run_waits_for_nothing(make_gateway, legacy_store, new_store):
    gateway, _ = behind(make_gateway, legacy_store, new_store)
    done = gateway.command("rollback", "--dry-run")
    assert "dry run" in done.stdout and "outstanding" not in done.stdout
    assert gateway.status()["rollout"]["percent"] == 100
