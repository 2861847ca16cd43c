"""SIGUSR2 puts another program in the gateway's place: no client is refused, no acknowledged write is lost."""

import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from support.backend import reply
from support.gateway import BINARY
from support.service_manager import ServiceManager, activated, listener
from support.upgrade import INSTEAD, Clients, Program, runs, upgrade
from support.waiting import eventually
from support.wire import request_bytes


@pytest.fixture
def program(scratch):
    return Program(scratch)


def prove(gateway, clients, *stores):
    """Nobody saw an error, and what was acknowledged is on both sides."""
    errors = clients.finish()
    assert errors == []
    gateway.settle()
    acknowledged = clients.acknowledged
    assert len(acknowledged) > 20
    for store in stores:
        assert {path: store.documents.get(path) for path in acknowledged} == acknowledged


def test_clients_do_not_notice_that_the_program_is_replaced(make_gateway, legacy_store, new_store, program):
    gateway = make_gateway(
        legacy_store, new_store, percent=50, config={"timeouts": {"drain": "10s"}}, **program.options)
    pid, ports = gateway.process.pid, (gateway.port, gateway.admin_port)
    clients = Clients(gateway)
    clients.go_on()
    program.point_to(program.copy("version-2"))
    took = upgrade(gateway)
    clients.go_on()
    assert runs(gateway) == str(program.directory / "version-2")
    assert (gateway.process.pid, (gateway.port, gateway.admin_port)) == (pid, ports)
    assert gateway.process.poll() is None
    prove(gateway, clients, legacy_store, new_store)
    print(f"an upgrade took {took * 1000:.0f} ms, the longest request "
          f"{max(client.longest for client in clients.all) * 1000:.0f} ms")
    assert gateway.stop() == 0


def test_an_upgrade_is_in_the_history_with_both_versions(make_gateway, legacy, new, program):
    gateway = make_gateway(legacy, new, **program.options)
    version = subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    began = gateway.metrics()("process_start_time_seconds")

    def upgrades():
        events = gateway.admin("GET", "/api/v1/events", token=gateway.token())[1]["items"]
        return [event for event in events if event["action"] == "upgrade"]

    assert upgrades() == []
    asked = round(time.time(), 3) - 0.001
    upgrade(gateway)
    event, = eventually(upgrades, "the event")
    assert event["actor"] == "SIGUSR2" and event["before"] == event["after"] == {"version": version}
    # The process is the same, and yet its counters begin anew: the metric says so.
    assert began < asked <= gateway.metrics()("process_start_time_seconds") <= time.time()
    # A start is none, and neither is an upgrade that is refused.
    program.point_to(program.script("refuses", "exit 1"))
    gateway.process.send_signal(signal.SIGUSR2)
    eventually(lambda: "upgrade refused" in gateway.log(), "it is refused")
    program.point_to(BINARY)
    gateway.stop()
    gateway.start()
    assert upgrades() == [event]


def test_lines_of_the_log_have_a_time_where_the_journal_adds_none(make_gateway, legacy, new):
    """systemd says by device and inode which stream is its journal's."""
    def line(is_journal):
        gateway = make_gateway(legacy, new, start=False)
        gateway.log_file.touch()
        status = gateway.log_file.stat()
        gateway.environment["JOURNAL_STREAM"] = f"{status.st_dev}:{status.st_ino + (not is_journal)}"
        gateway.start()
        gateway.stop()
        return next(text for text in gateway.log().splitlines() if text.endswith("draining"))

    assert line(is_journal=True) == "cutover: draining"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z cutover: draining", line(is_journal=False))


def test_ten_in_a_row_are_no_different(make_gateway, legacy_store, new_store, program):
    gateway = make_gateway(
        legacy_store, new_store, percent=50, config={"timeouts": {"drain": "10s"}}, **program.options)
    clients = Clients(gateway)
    for _ in range(10):
        upgrade(gateway)
        clients.go_on(30)
    prove(gateway, clients, legacy_store, new_store)


def test_descriptors_and_memory_stay_as_they_were(make_gateway, legacy, new, program):
    gateway = make_gateway(legacy, new, config={"workers": 3}, **program.options)

    def figures():
        assert gateway.get("/").status == 200
        descriptors = len(os.listdir(f"/proc/{gateway.process.pid}/fd"))
        return descriptors, gateway.resident_bytes()

    upgrade(gateway)
    descriptors, memory = figures()
    for _ in range(19):
        upgrade(gateway)
    after = figures()
    # A connection of the test's own that is just closing; a leak would be one an upgrade at least.
    assert abs(after[0] - descriptors) <= 3
    assert after[1] < memory * 1.2


def test_a_program_that_refuses_the_configuration_changes_nothing(make_gateway, legacy_store, new_store, program):
    gateway = make_gateway(legacy_store, new_store, **program.options)
    before = runs(gateway)
    clients = Clients(gateway, 4)
    garbage = program.directory / "garbage"
    garbage.write_bytes(os.urandom(4096))
    garbage.chmod(0o755)
    for number, (target, says) in enumerate([
        (program.script("refuses", "echo 'cutover.yaml:3: unknown key'; exit 1"), "cutover.yaml:3: unknown key"),
        (program.script("dies", "kill -9 $$"), "ended by signal 9"),
        (garbage, "upgrade refused"),
        (program.directory / "nothing", "No such file"),
    ], 1):
        program.point_to(target)
        gateway.process.send_signal(signal.SIGUSR2)
        refusals = "upgrade refused, nothing was changed"
        eventually(lambda: gateway.log().count(refusals) == number, f"{target} is refused")
        assert says in gateway.log()
        clients.go_on(30)
    assert runs(gateway) == before and gateway.log().count("cutover: ready") == 1
    assert "draining" not in gateway.log()
    prove(gateway, clients, legacy_store, new_store)


def test_a_program_that_cannot_be_run_after_all_leaves_the_old_one_in_place(
        make_gateway, legacy_store, new_store, program):
    gateway = make_gateway(legacy_store, new_store, config={"timeouts": {"drain": "10s"}}, **program.options)
    clients = Clients(gateway, 4)
    clients.go_on(30)
    program.point_to(program.script("vanishes", 'rm "$0"; exit 0'))
    upgrade(gateway)
    assert "cannot be run: No such file or directory; this program goes on" in gateway.log()
    clients.go_on(30)
    assert runs(gateway) == os.path.realpath(BINARY)
    prove(gateway, clients, legacy_store, new_store)


def test_a_program_that_cannot_start_makes_room_for_the_one_before(make_gateway, legacy_store, new_store, program):
    """It says yes to `check`, and then its store does not open: a statement of its schema is wrong."""
    gateway = make_gateway(legacy_store, new_store, config={"timeouts": {"drain": "10s"}}, **program.options)
    clients = Clients(gateway, 4)
    clients.go_on(30)
    program.point_to(program.copy("broken", (b"FROM batch_record WHERE", b"FRXM batch_record WHERE")))
    upgrade(gateway)
    assert "this program cannot serve; the one before it goes on" in gateway.log()
    clients.go_on(30)
    assert runs(gateway) == os.path.realpath(BINARY)
    # And it can be replaced like any other.
    program.point_to(program.copy("mended"))
    upgrade(gateway)
    clients.go_on(30)
    assert runs(gateway) == str(program.directory / "mended")
    prove(gateway, clients, legacy_store, new_store)


def test_a_kill_in_the_middle_loses_nothing(make_gateway, legacy_store, new_store, program):
    gateway = make_gateway(legacy_store, new_store, percent=50, **program.options)
    moments = random.Random(6)
    acknowledged = {}
    for _ in range(8):
        clients = Clients(gateway, 4)
        clients.go_on(30)
        gateway.process.send_signal(signal.SIGUSR2)
        time.sleep(moments.uniform(0, 0.4))
        gateway.kill()
        clients.ended.set()
        for client in clients.all:
            client.join(60)
        acknowledged.update(clients.acknowledged)
        gateway.start()
        legacy_store.forget()
        new_store.forget()
    gateway.settle()
    assert len(acknowledged) > 20
    for store in (legacy_store, new_store):
        assert {path: store.documents.get(path) for path in acknowledged} == acknowledged


def test_requests_under_way_finish_and_new_clients_wait_meanwhile(make_gateway, legacy, new, program):
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "20s"}}, **program.options)
    release = threading.Event()
    legacy.answer = lambda request: [release, reply(b"in time")] if request.target == "/slow" else reply(b"quick")
    with gateway.connect() as slow, gateway.connect() as idle:
        assert idle.request("GET", "/quick").status == 200
        slow.send(request_bytes("GET", "/slow"))
        eventually(lambda: any(request.target == "/slow" for request in legacy.requests), "the request arrives")
        gateway.process.send_signal(signal.SIGUSR2)
        assert idle.is_closed_by_peer()
        assert gateway.admin("GET", "/readyz")[0] == 503
        with gateway.connect() as waiting:
            waiting.send(request_bytes("GET", "/quick"))
            waiting.socket.settimeout(0.5)
            with pytest.raises(TimeoutError):
                waiting.socket.recv(1, socket.MSG_PEEK)
            waiting.socket.settimeout(20)
            release.set()
            assert slow.response().body == b"in time"
            assert waiting.response().body == b"quick"


def test_the_drain_of_an_upgrade_has_an_end(make_gateway, legacy, new, program):
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "300ms"}}, **program.options)
    legacy.answer = lambda request: [threading.Event()] if request.target == "/never" else reply(b"quick")
    with gateway.connect() as stuck:
        stuck.send(request_bytes("GET", "/never"))
        eventually(lambda: legacy.requests, "the request arrives")
        assert upgrade(gateway) < 15
        assert stuck.is_closed_by_peer()
    assert gateway.get("/").body == b"quick"


def test_a_stop_during_an_upgrade_is_a_stop(make_gateway, legacy, new, program):
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "20s"}}, **program.options)
    release = threading.Event()
    legacy.answer = lambda request: [release, reply(b"in time")]
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/"))
        eventually(lambda: legacy.requests, "the request arrives")
        gateway.process.send_signal(signal.SIGUSR2)
        eventually(lambda: "upgrade: draining" in gateway.log(), "it drains")
        process = gateway.process
        process.terminate()
        time.sleep(0.2)
        release.set()
        assert client.response().body == b"in time"
    assert process.wait(15) == 0
    assert "stopped, as asked for during the upgrade" in gateway.log()
    assert gateway.log().count("cutover: ready") == 1


@pytest.mark.parametrize("first", [signal.SIGUSR2, signal.SIGTERM])
def test_a_second_request_to_stop_ends_it_at_once(make_gateway, legacy, new, program, first):
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "60s"}}, **program.options)
    legacy.answer = lambda request: [threading.Event()]
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/"))
        eventually(lambda: legacy.requests, "the request arrives")
        process = gateway.process
        process.send_signal(first)
        eventually(lambda: "draining" in gateway.log(), "it drains")
        for _ in range(2 if first == signal.SIGUSR2 else 1):
            time.sleep(0.2)
            process.terminate()
        assert process.wait(10) == 1


def test_more_and_fewer_loops_take_over_the_same_sockets(make_gateway, legacy_store, new_store, program):
    """The configuration may change with the program; so may the number of loops that the sockets were made for."""
    gateway = make_gateway(
        legacy_store, new_store, config={"workers": 2, "timeouts": {"drain": "10s"}}, **program.options)
    clients = Clients(gateway)
    for workers in (1, 4, 3):
        gateway.config_file.write_text(json.dumps({**gateway.config, "workers": workers}))
        upgrade(gateway)
        clients.go_on(60)
    prove(gateway, clients, legacy_store, new_store)


def change(gateway, **keys):
    """The configuration file has other values for some keys, as an operator would edit it."""
    gateway.config_file.write_text(json.dumps({**gateway.config, **keys}, indent=1))


def refused(gateway, says, number=1):
    """Asks for an upgrade that the gateway must refuse before it drains anybody, by a line that says what is wrong."""
    starts = gateway.log().count("cutover: ready")
    gateway.process.send_signal(signal.SIGUSR2)
    refusals = "upgrade refused, nothing was changed"
    ended = gateway.process.poll
    eventually(lambda: gateway.log().count(refusals) == number or ended() is not None, "it is refused", 30)
    eventually(lambda: says in gateway.log().rpartition(refusals)[2], f"the log says {says}", 30)
    assert ended() is None
    assert gateway.log().count("cutover: ready") == starts and "draining" not in gateway.log()


def goes_on(gateway, clients, *stores):
    """Clients are answered; the mended configuration is taken over by the next upgrade; nobody noticed any of it."""
    clients.go_on(30)
    upgrade(gateway)
    clients.go_on(30)
    prove(gateway, clients, *stores)


@pytest.mark.parametrize("key", ["listen", "admin"])
def test_an_address_that_another_process_has_refuses_the_upgrade(
        make_gateway, legacy_store, new_store, program, key):
    gateway = make_gateway(legacy_store, new_store, config={"timeouts": {"drain": "10s"}}, **program.options)
    clients = Clients(gateway, 4)
    clients.go_on(30)
    with listener() as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        change(gateway, **{key: ["127.0.0.1:0", address] if key == "listen" else {"listen": address}})
        refused(gateway, f"cannot listen on {address}: address already in use")
        clients.go_on(30)
        refused(gateway, f"cannot listen on {address}: address already in use", 2)
    # The other process is gone: the same configuration can be had.
    goes_on(gateway, clients, legacy_store, new_store)
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 20) as client:
        client.sendall(b"GET /readyz HTTP/1.1\r\nHost: a\r\nX-User-Id: u\r\nConnection: close\r\n\r\n")
        assert client.recv(9) == b"HTTP/1.1 "


def test_a_data_directory_of_another_gateway_refuses_the_upgrade(make_gateway, legacy_store, new_store, program):
    other = make_gateway(legacy_store, new_store)
    gateway = make_gateway(legacy_store, new_store, config={"timeouts": {"drain": "10s"}}, **program.options)
    clients = Clients(gateway, 4)
    clients.go_on(30)
    change(gateway, data=str(other.data))
    refused(gateway, f"data directory {other.data} is in use by process {other.process.pid}")
    clients.go_on(30)
    change(gateway, data=str(gateway.directory / "missing" / "data"))
    refused(gateway, "cannot create data directory", 2)
    # The trial has not kept the lock of the directory that it could have.
    change(gateway, data=str(gateway.directory / "elsewhere"), store="postgresql://nobody@127.0.0.1:1/none")
    refused(gateway, "store: PostgreSQL at 127.0.0.1:1", 3)
    gateway.settle()
    change(gateway, data=str(gateway.directory / "elsewhere"))
    goes_on(gateway, clients, legacy_store, new_store)
    assert (gateway.directory / "elsewhere" / "journal.sqlite").exists()
    assert other.get("/notes/none").status == 404


def test_a_store_that_cannot_be_reached_refuses_the_upgrade(make_gateway, legacy_store, new_store, program):
    gateway = make_gateway(legacy_store, new_store, config={"timeouts": {"drain": "10s"}}, **program.options)
    clients = Clients(gateway, 4)
    clients.go_on(30)
    change(gateway, store="postgresql://nobody@127.0.0.1:1/none")
    refused(gateway, "store: PostgreSQL at 127.0.0.1:1, database none cannot be connected to")
    change(gateway, access_log={"file": str(gateway.directory / "missing" / "access.log")})
    refused(gateway, "missing/access.log", 2)
    change(gateway)
    goes_on(gateway, clients, legacy_store, new_store)


def test_a_shared_store_is_taken_up_by_an_upgrade_once_it_is_there(
        make_gateway, legacy, new, program, shared_postgres):
    gateway = make_gateway(legacy, new, **program.options)
    url = shared_postgres.url("not_yet")
    change(gateway, store=url)
    refused(gateway, 'database "not_yet" does not exist')
    shared_postgres.query("postgres", "CREATE DATABASE not_yet")
    upgrade(gateway)
    assert gateway.status()["store"]["kind"] == "postgresql"
    assert gateway.get("/").status == 200


def test_a_configuration_that_only_the_new_program_can_read_is_left_to_it(make_gateway, legacy, new, program):
    gateway = make_gateway(legacy, new, **program.options)
    known = gateway.directory / "known.yaml"
    known.write_text(json.dumps(gateway.config))
    change(gateway, key_of_a_later_version=1)
    program.point_to(program.script(
        "later", f'[ "$1" = check ] || exec {BINARY} serve --config {known}'))
    upgrade(gateway)
    assert "accepts a configuration that this one cannot read" in gateway.log()
    assert gateway.get("/").status == 200


def test_what_the_gateway_itself_has_by_another_name_is_in_nobodys_way(make_gateway, legacy, new, program, scratch):
    """The port with a wider address, client and admin exchanged, the directory by a link: free after the drain."""
    gateway = make_gateway(legacy, new, **program.options)
    ports = gateway.port, gateway.admin_port
    link = scratch / "link"
    link.symlink_to(gateway.data)
    for client, first, admin, second in (("0.0.0.0", 0, "127.0.0.1", 1), ("127.0.0.1", 1, "127.0.0.1", 0)):
        change(
            gateway, listen=f"{client}:{ports[first]}", admin={"listen": f"{admin}:{ports[second]}"}, data=str(link))
        upgrade(gateway)
        assert gateway.get("/").status == 200
    assert (gateway.port, gateway.admin_port) == ports[::-1]
    assert "refused" not in gateway.log()


def test_a_service_manager_sees_one_process_and_its_socket_lives_on(
        make_gateway, legacy_store, new_store, program, scratch):
    manager = ServiceManager(scratch)
    with listener() as client:
        options = activated(client)
        options["prefix"] += [*INSTEAD, str(program.path)]
        gateway = make_gateway(
            legacy_store, new_store, config={"timeouts": {"drain": "10s"}, "workers": 3},
            environment={"NOTIFY_SOCKET": manager.name, "LISTEN_FDNAMES": "client", "WATCHDOG_USEC": "1000000"},
            **options)
        assert gateway.port == client.getsockname()[1]
        manager.wait_for("READY")
        clients = Clients(gateway)
        clients.go_on(30)
        for number in (2, 3):
            upgrade(gateway)
            ready = manager.wait_for("READY", number)
            reloading = manager.wait_for("RELOADING", number - 1)
            assert manager.told.index(reloading) < manager.told.index(ready)
            clients.go_on(30)
        assert manager.times("STOPPING") == 0
        fed = manager.times("WATCHDOG")
        manager.wait_for("WATCHDOG", fed + 2)
        told = [message["at"] for message in manager.told if "WATCHDOG" in message]
        assert max(later - earlier for earlier, later in zip(told, told[1:])) < 5
        environment = pathlib.Path(f"/proc/{gateway.process.pid}/environ").read_bytes()
        assert b"LISTEN_FDS" not in environment
        prove(gateway, clients, legacy_store, new_store)
    manager.close()


def test_a_gateway_of_a_shared_store_keeps_its_place(make_cluster, legacy_store, new_store):
    cluster = make_cluster(legacy_store, new_store, percent=50)
    first, second = cluster
    clients = Clients(first, 4)
    for _ in range(2):
        upgrade(first)
        clients.go_on(30)
    eventually(lambda: second.status()["store"]["members"] == 2, "both are members", 30)
    prove(first, clients, legacy_store, new_store)
    assert first.metrics()("cutover_store_fenced_total") == 0
