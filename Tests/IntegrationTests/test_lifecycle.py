"""Start, readiness, and the end in order."""

import json
import socket
import threading

import pytest

from support.backend import reply
from support.gateway import Gateway, cutover, free_port
from support.waiting import eventually
from support.wire import Truncated, request_bytes


def test_requests_under_way_finish_before_the_gateway_ends(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "20s"}})
    release = threading.Event()
    with gateway.connect() as client, gateway.connect() as idle:
        assert idle.request("GET", "/").status == 200
        legacy.forget()
        legacy.answer = lambda request: [release, reply(b"in time")]
        client.send(request_bytes("GET", "/"))
        eventually(lambda: legacy.requests, "the request arrives")
        process = gateway.process
        process.terminate()
        assert idle.is_closed_by_peer()
        eventually(lambda: is_refused(gateway.address), "new connections are refused")
        assert gateway.admin("GET", "/readyz")[0] == 503
        assert gateway.admin("GET", "/healthz")[0] == 200
        release.set()
        assert client.response().body == b"in time"
    assert process.wait(10) == 0


def is_refused(address):
    try:
        socket.create_connection(address, timeout=1).close()
    except OSError:
        return True
    return False


def test_the_drain_has_an_end(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"timeouts": {"drain": "200ms"}})
    legacy.answer = lambda request: [threading.Event()]
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/"))
        eventually(lambda: legacy.requests, "the request arrives")
        assert gateway.stop(seconds=10) is not None


def test_an_idle_gateway_ends_at_once_with_0(gateway):
    assert gateway.stop() == 0


def test_ready_does_not_depend_on_the_backends(make_gateway, legacy, new):
    legacy.stop()
    new.stop()
    gateway = make_gateway(legacy, new)
    assert gateway.admin("GET", "/readyz")[0] == 200
    assert gateway.admin("GET", "/healthz")[0] == 200


def test_a_port_in_use_is_an_error_that_names_it(make_gateway, legacy, new):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        gateway = make_gateway(legacy, new, config={"listen": address}, start=False)
        gateway.start(wait=False)
        assert gateway.process.wait(20) == 1
        assert address in gateway.log()


@pytest.mark.parametrize("key", ["listen", "admin"])
def test_a_second_gateway_on_the_same_address_does_not_start(make_gateway, legacy, new, key):
    first = make_gateway(legacy, new)
    port = first.port if key == "listen" else first.admin_port
    config = {"listen": f"127.0.0.1:{port}"} if key == "listen" else {"admin": {"listen": f"127.0.0.1:{port}"}}
    second = make_gateway(legacy, new, config=config, start=False)
    second.start(wait=False)
    assert second.process.wait(20) == 1
    assert f"127.0.0.1:{port}: address already in use" in second.log() and f"sport = :{port}" in second.log()
    assert not second.is_ready
    for _ in range(20):
        assert first.get("/").status == 200 and first.admin("GET", "/readyz")[0] == 200


def test_a_gateway_starts_again_on_its_address_under_load(make_gateway, legacy, new):
    """Connections of the one before, open, half-closed or in TIME_WAIT, are no obstacle."""
    ports = [free_port(), free_port()]
    gateway = make_gateway(legacy, new, config={
        "listen": f"127.0.0.1:{ports[0]}", "admin": {"listen": f"127.0.0.1:{ports[1]}"}, "workers": 4})
    ended = threading.Event()

    def ask():
        while not ended.is_set():
            try:
                gateway.get("/")
            except (OSError, Truncated):
                pass

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for end in (gateway.stop, gateway.kill, gateway.stop):
            with gateway.connect() as idle:
                idle.request("GET", "/")
                end()
                gateway.start()
                assert gateway.port == ports[0] and gateway.get("/").status == 200
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_two_addresses_are_enough_to_serve(scratch, legacy, new):
    """`cutover serve --legacy URL --new URL` needs no file; the addresses here only avoid other gateways."""
    gateway = Gateway(scratch, legacy.url, new.url)
    gateway.serve_arguments = [
        "--legacy", legacy.url, "--new", new.url, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
        "--data", str(gateway.data)]
    try:
        gateway.start()
        assert gateway.get("/", user="u").backend == "legacy"
    finally:
        gateway.kill()


def test_tokens_are_made_for_their_owner_alone(gateway):
    for name in ("admin", "viewer"):
        path = gateway.data / f"{name}.token"
        assert path.stat().st_mode & 0o777 == 0o600
        assert len(gateway.token(name)) >= 32
        assert gateway.token(name) not in gateway.log()
    assert gateway.token("admin") != gateway.token("viewer")


def test_nobody_else_on_the_machine_reads_what_is_kept(gateway):
    assert gateway.fetch("PUT", "/a", body=b"x", user="u").status == 200
    assert gateway.data.stat().st_mode & 0o777 == 0o700
    for path in gateway.data.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_version_is_printed():
    done = cutover("version", "--json")
    assert json.loads(done.stdout)["version"]


@pytest.mark.parametrize("workers", [1, 4, "auto"])
def test_any_number_of_workers_serves(make_gateway, legacy, new, workers):
    gateway = make_gateway(legacy, new, config={"workers": workers})
    for _ in range(20):
        assert gateway.get("/").status == 200
