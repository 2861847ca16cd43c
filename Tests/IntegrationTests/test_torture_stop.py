"""The process is stopped for longer than every time-out, under load and with legs outstanding, and then goes on."""

import os
import signal
import time

import pytest

from support.parallel import in_parallel
from support.torture import Load, absent_on_both, prove, seed, torture_config
from support.waiting import eventually
from support.wire import request_bytes

# Longer than the backends' time-out (5 s), the clients' patience, and the 10 s for a head. `make soak` takes 30 s.
STOPPED_SECONDS = float(os.environ.get("CUTOVER_STOPPED_SECONDS", "12"))


@pytest.mark.parametrize("new_is_down", [False, True], ids=["backends-up", "new-down"])
def test_a_process_that_was_stopped_loses_doubles_and_reorders_nothing(make_gateway, recorders, new_is_down):
    legacy, new = recorders
    gateway = make_gateway(*recorders, percent=50, config=torture_config())
    # The clients give up and repeat on new connections, which nobody accepts yet.
    load = Load(gateway, seed(), patience=3.0)
    load.go_on(200)
    # Every moment of the stop finds requests at both backends.
    legacy.mode(delay=0.02)
    new.mode(delay=0.02)
    if new_is_down:
        new.stop()
        load.go_on(50)
        assert gateway.status()["journal"]["pending"]["new"] > 0
    os.kill(gateway.process.pid, signal.SIGSTOP)
    try:
        time.sleep(STOPPED_SECONDS)
    finally:
        os.kill(gateway.process.pid, signal.SIGCONT)
    load.go_on(100, 30, "writes go on after the stop")
    if new_is_down:
        new.start()
    legacy.mode(delay=0.0)
    new.mode(delay=0.0)
    load.go_on(100)
    load.finish()
    assert load.broken["TimeoutError"] > 0, "no client was waiting while the process was stopped"
    prove(gateway, load, *recorders, excused=absent_on_both)


def test_answers_that_arrived_while_the_process_was_stopped_count(make_gateway, recorders):
    legacy, _ = recorders
    backends = {"legacy": {"timeout": "1s"}, "new": {"timeout": "1s"}}
    gateway = make_gateway(*recorders, config={"backends": backends})
    legacy.mode(delay=0.2)
    clients = [gateway.connect() for _ in range(24)]
    for number, client in enumerate(clients):
        client.send(request_bytes("PUT", f"/notes/{number}", body=b"x", user=f"u{number}"))
    eventually(lambda: legacy.counts()["requests"] == 24, "legacy has all writes")
    os.kill(gateway.process.pid, signal.SIGSTOP)
    try:
        time.sleep(2)
    finally:
        os.kill(gateway.process.pid, signal.SIGCONT)
    statuses = in_parallel(lambda client: client.response("PUT").status, clients)
    for client in clients:
        client.close()
    # A 504 here leaves a write on legacy alone that its client was told nothing good about.
    assert statuses == [200] * 24
