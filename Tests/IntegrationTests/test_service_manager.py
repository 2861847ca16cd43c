"""Life under a service manager: what it is told (sd_notify(3)), and sockets that it opens (sd_listen_fds(3))."""

import ctypes
import os
import pathlib
import signal
import socket
import time

import pytest

from support.backend import reply
from support.gateway import free_port
from support.service_manager import ServiceManager, activated, listener
from support.waiting import eventually
from support.wire import request_bytes


@pytest.fixture
def make_manager(scratch):
    made = []

    def make(**options):
        made.append(ServiceManager(scratch, **options))
        return made[-1]

    yield make
    for manager in made:
        manager.close()


@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_the_service_manager_hears_of_ready_reload_and_stop(make_gateway, make_manager, legacy, new, abstract):
    manager = make_manager(abstract=abstract)
    gateway = make_gateway(legacy, new, environment={"NOTIFY_SOCKET": manager.name})
    ready = manager.wait_for("READY")
    assert ready["READY"] == "1" and ready["STATUS"].startswith("ready")
    before = time.monotonic_ns() // 1000
    gateway.process.send_signal(signal.SIGHUP)
    manager.wait_for("READY", 2)
    reloading = manager.wait_for("RELOADING")
    assert before <= int(reloading["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
    assert manager.told.index(reloading) < len(manager.told) - 1
    gateway.change("POST", "reload")
    manager.wait_for("READY", 3)
    assert gateway.stop() == 0
    stopping = manager.wait_for("STOPPING")
    # Longer than `timeouts.drain`, or it would be killed in the middle.
    assert int(stopping["EXTEND_TIMEOUT_USEC"]) > 1_000_000
    assert manager.times("READY") == 3 and manager.told[-1] is stopping


def test_a_refused_reload_ends_ready_all_the_same(make_gateway, make_manager, legacy, new):
    manager = make_manager()
    gateway = make_gateway(legacy, new, environment={"NOTIFY_SOCKET": manager.name})
    gateway.config_file.write_text('{"liste": 1}')
    gateway.process.send_signal(signal.SIGHUP)
    assert "refused" in manager.wait_for("READY", 2)["STATUS"]
    assert gateway.get("/").status == 200


def test_ready_is_told_when_readyz_says_so_and_not_before(make_gateway, make_manager, legacy, new):
    manager = make_manager()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        gateway = make_gateway(
            legacy, new, start=False, config={"listen": "127.0.0.1:%d" % taken.getsockname()[1]},
            environment={"NOTIFY_SOCKET": manager.name})
        gateway.start(wait=False)
        assert gateway.process.wait(20) == 1
    assert manager.told == []


def test_a_living_gateway_feeds_the_watchdog(make_gateway, make_manager, legacy, new):
    manager = make_manager()
    gateway = make_gateway(
        legacy, new, environment={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "2000000"}, config={"workers": 3})
    manager.wait_for("WATCHDOG", 4)
    told = [message["at"] for message in manager.told if "WATCHDOG" in message]
    # Twice in its interval, so that one late message is no death.
    assert (told[3] - told[0]) / 3 == pytest.approx(1, abs=0.5)
    assert "watchdog" not in gateway.log()


def test_a_gateway_whose_loop_is_stuck_does_not(make_gateway, make_manager, legacy, new):
    """The thread of one loop is stopped by a debugger's means; all others go on."""
    manager = make_manager()
    gateway = make_gateway(
        legacy, new, environment={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000000"}, config={"workers": 2})
    manager.wait_for("WATCHDOG", 2)
    loops = threads_of(gateway.process.pid, "loop")
    with StoppedThread(loops[0]):
        eventually(lambda: "watchdog: no answer from loop" in gateway.log(), "it says who is silent")
        silent = manager.times("WATCHDOG")
        time.sleep(2)
        assert manager.times("WATCHDOG") == silent
    manager.wait_for("WATCHDOG", silent + 2)


def test_a_watchdog_of_another_process_is_none_of_ours(make_gateway, make_manager, legacy, new):
    manager = make_manager()
    make_gateway(
        legacy, new, environment={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"})
    time.sleep(1)
    assert manager.times("READY") == 1 and manager.times("WATCHDOG") == 0


def test_a_service_manager_that_is_gone_harms_nothing(make_gateway, legacy, new, scratch):
    gateway = make_gateway(legacy, new, environment={"NOTIFY_SOCKET": f"{scratch}/nobody"})
    assert gateway.get("/").status == 200
    assert gateway.log().count("service manager cannot be told") == 1


# Sockets


@pytest.mark.parametrize("workers", [1, 4])
def test_clients_are_served_on_sockets_that_were_passed(make_gateway, legacy, new, workers):
    with listener() as client, listener() as admin:
        ports = [passed.getsockname()[1] for passed in (client, admin)]
        gateway = make_gateway(
            legacy, new, **activated(client, admin), environment={"LISTEN_FDNAMES": "client:admin"},
            config={"workers": workers, "listen": "127.0.0.1:0", "admin": {"listen": "127.0.0.1:0"}})
        assert [gateway.port, gateway.admin_port] == ports
        for _ in range(20):
            assert gateway.get("/").status == 200


def test_sockets_without_names_are_known_by_their_address(make_gateway, legacy, new):
    with listener() as admin, listener() as client:
        config = {
            "listen": f"127.0.0.1:{client.getsockname()[1]}",
            "admin": {"listen": f"127.0.0.1:{admin.getsockname()[1]}"},
        }
        gateway = make_gateway(legacy, new, **activated(admin, client), config=config)
        assert gateway.get("/").status == 200
        assert gateway.admin_port == admin.getsockname()[1]


def test_the_loops_take_turns_at_one_socket(make_gateway, legacy, new):
    """Else the first loop of a quiet gateway would have every client for itself."""
    with listener() as client:
        gateway = make_gateway(
            legacy, new, **activated(client), environment={"LISTEN_FDNAMES": "client"}, config={"workers": 4})
        loops = threads_of(gateway.process.pid, "loop")
        assert len(loops) == 4
        clients = []
        for _ in range(40):
            clients.append(gateway.connect())
            # It is accepted before the next one comes: a burst may well be one loop's.
            assert clients[-1].request("GET", "/").status == 200
        before = {loop: switches(gateway.process.pid, loop) for loop in loops}
        for connection in clients:
            assert connection.request("GET", "/").status == 200
            time.sleep(0.01)
        worked = [switches(gateway.process.pid, loop) - before[loop] for loop in loops]
        for connection in clients:
            connection.close()
        # Forty requests with a wait for the backend each: a loop without clients has next to nothing to wake for.
        assert min(worked) >= 5, worked


def test_clients_that_came_before_the_gateway_are_served(make_gateway, legacy, new):
    with listener() as client:
        early = socket.create_connection(client.getsockname())
        early.sendall(request_bytes("GET", "/"))
        make_gateway(legacy, new, **activated(client), environment={"LISTEN_FDNAMES": "client"})
        assert early.recv(100).startswith(b"HTTP/1.1 200")
        early.close()


def test_no_client_is_refused_while_an_activated_gateway_starts_anew(make_gateway, legacy, new):
    with listener() as client:
        gateway = make_gateway(
            legacy, new, **activated(client), environment={"LISTEN_FDNAMES": "client"})
        assert gateway.stop() == 0
        waiting = socket.create_connection(client.getsockname())
        waiting.sendall(request_bytes("GET", "/"))
        gateway.start()
        assert waiting.recv(100).startswith(b"HTTP/1.1 200")
        waiting.close()


def udp():
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", 0))
    return made


def unbound():
    return socket.socket()


def elsewhere():
    return listener("127.0.0.2")


@pytest.mark.parametrize("make, names, says", [
    (udp, "client", "is no listening TCP socket"),
    (unbound, "client", "is no listening TCP socket"),
    (elsewhere, "admin", "fits none of the configured addresses"),
    (elsewhere, "cutover.socket", "fits none of the configured addresses"),
    (listener, "client:admin", "2 names for LISTEN_FDS 1"),
])
def test_sockets_that_do_not_fit_are_refused_in_words(make_gateway, legacy, new, make, names, says):
    with make() as passed:
        gateway = make_gateway(
            legacy, new, start=False, **activated(passed), environment={"LISTEN_FDNAMES": names},
            config={"listen": f"127.0.0.1:{free_port()}", "admin": {"listen": f"127.0.0.1:{free_port()}"}})
        gateway.start(wait=False)
        assert gateway.process.wait(20) == 1
        assert says in gateway.log()


@pytest.mark.parametrize("count", ["-1", "many", "5000"])
def test_a_count_that_is_none_is_refused(make_gateway, legacy, new, count):
    with listener() as passed:
        gateway = make_gateway(
            legacy, new, start=False, **activated(passed), environment={"LISTEN_FDS": count})
        gateway.start(wait=False)
        assert gateway.process.wait(20) == 1
        assert f'LISTEN_FDS is "{count}"' in gateway.log()


def test_sockets_of_another_process_are_left_alone(make_gateway, legacy, new):
    """A parent that was activated and forgot to take the variables away."""
    gateway = make_gateway(legacy, new, environment={"LISTEN_FDS": "2", "LISTEN_PID": "1"})
    assert gateway.get("/").status == 200


def test_a_request_that_came_with_the_drain_is_answered(make_gateway, legacy, new):
    """An idle connection is closed by the drain, unless something has arrived on it; a new one may ask once."""
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "10s"}, "workers": 1})
    legacy.answer = lambda request: [0.2, reply(b"in time")]
    with gateway.connect() as used, gateway.connect() as fresh:
        assert used.request("GET", "/").status == 200
        process = gateway.process
        os.kill(process.pid, signal.SIGSTOP)
        used.send(request_bytes("GET", "/"))
        os.kill(process.pid, signal.SIGTERM)
        os.kill(process.pid, signal.SIGCONT)
        assert used.response().body == b"in time"
        fresh.send(request_bytes("GET", "/"))
        assert fresh.response().body == b"in time"
    assert process.wait(10) == 0


# Looking into the process


def threads_of(pid, name):
    return [
        int(task.name) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
        if (task / "comm").read_text().strip() == name]


def switches(pid, thread):
    for line in pathlib.Path(f"/proc/{pid}/task/{thread}/status").read_text().splitlines():
        if line.startswith("voluntary_ctxt_switches"):
            return int(line.split()[1])
    raise AssertionError("no voluntary_ctxt_switches")


class StoppedThread:
    """One thread of a process stands still, by ptrace(2); the others go on."""

    ATTACH, DETACH = 16, 17

    def __init__(self, thread):
        self.thread, self.libc = thread, ctypes.CDLL(None, use_errno=True)

    def __enter__(self):
        assert self.libc.ptrace(self.ATTACH, self.thread, 0, 0) == 0
        os.waitpid(self.thread, 0x40000000)

    def __exit__(self, *_):
        self.libc.ptrace(self.DETACH, self.thread, 0, 0)
