"""WebSocket through the gateway, with a real client and real servers (PyPI `websockets`)."""

import contextlib
import json
import os
import signal
import socket
import threading
import time

import pytest

from support import pypi  # noqa: F401 first: what follows is there through it
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import serve

from support.backend import reply
from support.waiting import eventually
from support.wire import request_bytes

DEADLINE = 30
UPGRADE = request_bytes("GET", "/chat", [
    ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")], user="u")


class Chat:
    """A WebSocket server that says its name first and then sends back what it gets.

    `bye` has it close with 4001, `vanish` has it go without a word.
    """

    def __init__(self, name, **options):
        self.name = name
        self.closes = []
        self.closed = threading.Event()
        self._server = serve(self._talk, "127.0.0.1", 0, max_size=None, **options)
        self.url = f"http://127.0.0.1:{self._server.socket.getsockname()[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _talk(self, peer):
        # Text right behind the 101.
        peer.send(self.name)
        try:
            for message in peer:
                if message == "bye":
                    peer.close(4001, "enough")
                    return
                if message == "vanish":
                    peer.socket.shutdown(socket.SHUT_RDWR)
                    return
                peer.send(message)
        except ConnectionClosed:
            pass
        finally:
            self.closes.append((peer.close_code, peer.close_reason))
            self.closed.set()

    def stop(self):
        self._server.shutdown()


@pytest.fixture
def chats():
    with contextlib.ExitStack() as stack:
        made = [Chat("legacy"), Chat("new")]
        for chat in made:
            stack.callback(chat.stop)
        yield made


def open_tunnel(gateway, user="u", **options):
    # The gateway is asked for directly, whatever proxy the environment names.
    return connect(
        f"ws://127.0.0.1:{gateway.port}/chat", additional_headers={"X-User-Id": user}, max_size=None, proxy=None,
        open_timeout=DEADLINE, close_timeout=DEADLINE, **options)


def greeting(peer):
    return peer.recv(timeout=DEADLINE)


@pytest.mark.parametrize("percent, sides", [(0, {"legacy"}), (50, {"legacy", "new"}), (100, {"new"})])
def test_a_tunnel_goes_to_its_users_side(make_gateway, chats, percent, sides):
    gateway = make_gateway(*chats, percent=percent)
    met = set()
    for number in range(24):
        with open_tunnel(gateway, f"user-{number}") as peer:
            side = greeting(peer)
            assert peer.response.headers["Cutover-Backend"] == side
            met.add(side)
    assert met == sides


def test_an_open_tunnel_stays_where_it_is_and_the_next_one_follows_the_percentage(make_gateway, chats):
    gateway = make_gateway(*chats, percent=0)
    with open_tunnel(gateway) as before:
        assert greeting(before) == "legacy"
        gateway.set_percent(100)
        with open_tunnel(gateway) as after:
            assert greeting(after) == "new"
        before.send("still here")
        assert before.recv(timeout=DEADLINE) == "still here"


@pytest.mark.parametrize("compression", [None, "deflate"])
def test_big_messages_and_fragments_come_back_as_they_were(make_gateway, chats, compression):
    gateway = make_gateway(*chats)
    with open_tunnel(gateway, compression=compression) as peer:
        greeting(peer)
        big = os.urandom(4 << 20)
        peer.send(big)
        assert peer.recv(timeout=DEADLINE) == big
        peer.send(f"part {number} " for number in range(50))
        assert peer.recv(timeout=DEADLINE) == "".join(f"part {number} " for number in range(50))
        assert peer.ping().wait(DEADLINE)


def test_ten_thousand_messages_arrive_each_way_in_order(make_gateway, chats):
    gateway = make_gateway(*chats)
    with open_tunnel(gateway, compression=None) as peer:
        greeting(peer)

        def talk():
            for number in range(10_000):
                peer.send(str(number))

        talker = threading.Thread(target=talk)
        talker.start()
        got = [peer.recv(timeout=DEADLINE) for _ in range(10_000)]
        talker.join()
        assert got == [str(number) for number in range(10_000)]


def test_close_codes_pass_in_both_directions(make_gateway, chats):
    gateway = make_gateway(*chats)
    with open_tunnel(gateway) as peer:
        greeting(peer)
        peer.close(4002, "going home")
    assert chats[0].closed.wait(DEADLINE)
    assert chats[0].closes == [(4002, "going home")]
    with open_tunnel(gateway) as peer:
        greeting(peer)
        peer.send("bye")
        with pytest.raises(ConnectionClosed) as end:
            peer.recv(timeout=DEADLINE)
        assert (end.value.rcvd.code, end.value.rcvd.reason) == (4001, "enough")


def test_a_client_that_vanishes_ends_the_backends_connection(make_gateway, chats):
    gateway = make_gateway(*chats)
    with open_tunnel(gateway) as peer:
        greeting(peer)
        peer.socket.shutdown(socket.SHUT_RDWR)
    assert chats[0].closed.wait(DEADLINE)
    assert chats[0].closes[0][0] == 1006


def test_a_backend_that_vanishes_ends_the_clients_connection(make_gateway, chats):
    gateway = make_gateway(*chats)
    with open_tunnel(gateway) as peer:
        greeting(peer)
        peer.send("vanish")
        with pytest.raises(ConnectionClosed) as end:
            peer.recv(timeout=DEADLINE)
        assert end.value.rcvd is None


def test_the_head_that_makes_a_tunnel_announces_no_body(make_gateway, new):
    """RFC 9110 §8.6, RFC 9112 §6.1: whoever believed a length would take the tunnel's first bytes for it."""
    def announce(_connection, _request, response):
        response.headers["Content-Length"] = "8"
        return response
    chat = Chat("legacy", process_response=announce)
    try:
        gateway = make_gateway(chat.url, new)
        with gateway.connect() as client:
            client.send(UPGRADE)
            head = client.head()
            assert head.status == 101 and "Content-Length" not in head.headers
            assert client.reader.exactly(8) == b"\x81\x06legacy"
    finally:
        chat.stop()


@pytest.mark.parametrize("status", [200, 403, 426, 503])
def test_the_answer_of_a_backend_that_refuses_is_passed_on(make_gateway, legacy, new, status):
    legacy.answer = lambda request: reply(b"no tunnel", status, kind="text/plain")
    gateway = make_gateway(legacy, new)
    with pytest.raises(InvalidStatus) as refused:
        open_tunnel(gateway)
    answer = refused.value.response
    assert (answer.status_code, answer.body) == (status, b"no tunnel")
    assert new.requests == []


def test_a_backend_that_is_down_is_a_502_and_the_other_one_is_not_asked(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, percent=100)
    new.stop()
    with pytest.raises(InvalidStatus) as refused:
        open_tunnel(gateway)
    answer = refused.value.response
    assert (answer.status_code, answer.headers["Content-Type"]) == (502, "application/problem+json")
    assert legacy.requests == []


def test_a_tunnel_survives_a_reload(make_gateway, chats):
    gateway = make_gateway(*chats)
    with open_tunnel(gateway) as peer:
        greeting(peer)
        gateway.config["fallback"] = {"on": []}
        gateway.config_file.write_text(json.dumps(gateway.config))
        gateway.process.send_signal(signal.SIGHUP)
        eventually(lambda: "reloaded" in gateway.log(), "the reload")
        peer.send("after")
        assert peer.recv(timeout=DEADLINE) == "after"


def test_a_drain_cuts_tunnels_when_its_time_is_over(make_gateway, chats):
    gateway = make_gateway(*chats)
    with open_tunnel(gateway) as peer:
        greeting(peer)
        gateway.process.terminate()
        with pytest.raises(ConnectionClosed):
            peer.recv(timeout=DEADLINE)
        gateway.process.wait(DEADLINE)
    assert "cut off" in gateway.log()
    assert chats[0].closed.wait(DEADLINE)


def test_tunnels_are_counted_by_side_and_what_passes_by_where_it_goes(make_gateway, chats):
    gateway = make_gateway(*chats, percent=100)
    with open_tunnel(gateway, compression=None) as peer:
        assert greeting(peer) == "new"
        peer.send("x" * 1000)
        assert peer.recv(timeout=DEADLINE) == "x" * 1000
        metrics = gateway.metrics()
        assert [metrics("cutover_tunnels", backend=backend) for backend in ("legacy", "new")] == [0, 1]
    eventually(lambda: gateway.metrics()("cutover_tunnels", backend="new") == 0, "it is over")
    metrics = gateway.metrics()
    assert metrics("cutover_tunnels_opened_total", backend="new") == 1
    assert metrics("cutover_tunnel_bytes_total", to="backend") > 1000
    assert metrics("cutover_tunnel_bytes_total", to="client") > 1000


def test_tunnels_take_no_connection_from_requests(make_gateway, chats):
    """Two connections to the backend, and five tunnels."""
    gateway = make_gateway(*chats, config={"workers": 1, "backends": {"legacy": {"max_connections": 2}}})
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(open_tunnel(gateway)) for _ in range(5)]
        assert [greeting(peer) for peer in peers] == ["legacy"] * 5
        # A server of WebSockets alone answers an ordinary request with 426.
        assert [gateway.get("/", user="u").status for _ in range(5)] == [426] * 5


def test_more_tunnels_than_may_be_are_refused_until_one_ends(make_gateway, chats):
    gateway = make_gateway(*chats, config={"workers": 1, "limits": {"tunnels": 2}})
    with open_tunnel(gateway) as first:
        with open_tunnel(gateway) as second:
            assert greeting(first) == greeting(second) == "legacy"
            with pytest.raises(InvalidStatus) as refused:
                open_tunnel(gateway)
            answer = refused.value.response
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
            assert json.loads(answer.body)["type"] == "urn:cutover:problem/tunnels-busy"
            assert gateway.metrics()("cutover_limit_hits_total", limit="tunnels") == 1
        eventually(lambda: gateway.metrics()("cutover_tunnels", backend="legacy") == 1, "one is over")
        with open_tunnel(gateway) as third:
            assert greeting(third) == "legacy"


def test_silence_in_both_directions_ends_a_tunnel_and_talk_in_one_keeps_it(make_gateway, chats):
    gateway = make_gateway(*chats, config={"timeouts": {"client_idle": "1s"}})
    with open_tunnel(gateway, ping_interval=None) as peer:
        greeting(peer)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            # An unsolicited pong is answered by nobody (RFC 6455 §5.5.3).
            peer.pong()
            time.sleep(0.2)
        peer.send("still here")
        assert peer.recv(timeout=DEADLINE) == "still here"
        with pytest.raises(ConnectionClosed):
            peer.recv(timeout=DEADLINE)


def test_text_right_behind_the_clients_head_arrives(make_gateway, chats):
    gateway = make_gateway(*chats)
    with gateway.connect() as client:
        hello = b"\x81\x85\0\0\0\0early"
        client.send(UPGRADE + hello)
        assert client.head().status == 101
        assert client.reader.exactly(8) == b"\x81\x06legacy"
        assert client.reader.exactly(7) == b"\x81\x05early"
