"""Floods of connections: one client may have so many and no more, and nobody else notices (contract §8)."""

import contextlib
import json
import subprocess
import time

import pytest

from support import http2
from support.backend import reply
from support.gateway import merged
from support.hostile import (
    Bystander, Crowd, allow_many_descriptors, connections, descriptors, hits, is_turned_away, processor_seconds)
from support.tls import Authority, TLSConnection, client_context
from support.waiting import eventually, quiet, stays

MEBIBYTE = 1 << 20
# A client that says nothing for this long has given up its session.
RESTED = 1.3
SOURCES = [f"127.0.0.{number}" for number in range(2, 10)]


def reload(gateway, extra):
    gateway.config = merged(gateway.config, extra)
    gateway.config_file.write_text(json.dumps(gateway.config))
    gateway.change("POST", "reload", {})


def limited(count, **extra):
    return {"limits": {"connections_per_address": count}, **extra}


def test_an_address_has_its_connections_and_no_more_over_all_loops(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config=limited(6, workers=2))
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(gateway.connect()) for _ in range(6)]
        assert all(client.request("GET", "/").status == 200 for client in clients)
        for number in range(1, 5):
            with gateway.connect() as surplus:
                assert is_turned_away(surplus)
            assert hits(gateway, "client_connections_per_address") == number
        # Somebody else is not concerned.
        with Crowd(gateway) as others:
            others.add(6, ["127.0.0.2"])
            eventually(lambda: connections(gateway) == 12, "another address has its own")
        eventually(lambda: connections(gateway) == 6, "the other one has left")
        clients[0].close()
        eventually(lambda: connections(gateway) == 5, "it is counted out")
        with gateway.connect() as next_one:
            assert next_one.request("GET", "/").status == 200
        assert all(client.request("GET", "/").status == 200 for client in clients[1:])


def test_a_reload_changes_how_many_connections_an_address_has(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config=limited(2))
    with contextlib.ExitStack() as stack:
        for allowed in (2, 5):
            reload(gateway, limited(allowed))
            while connections(gateway) < allowed:
                assert stack.enter_context(gateway.connect()).request("GET", "/").status == 200
            assert is_turned_away(stack.enter_context(gateway.connect()))
        reload(gateway, limited(3))
        assert is_turned_away(stack.enter_context(gateway.connect()))
        reload(gateway, limited(0))
        for _ in range(20):
            assert stack.enter_context(gateway.connect()).request("GET", "/").status == 200
    eventually(lambda: connections(gateway) == 0, "all have left")
    # What was counted has been counted out, whatever the limit was meanwhile.
    reload(gateway, limited(1))
    with gateway.connect() as only:
        assert only.request("GET", "/").status == 200


def test_resting_clients_have_their_place_until_they_leave(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config=limited(2, timeouts={"client_idle": "4s"}))
    with gateway.connect() as first, gateway.connect() as second:
        for client in (first, second):
            assert client.request("GET", "/").status == 200
        time.sleep(RESTED)
        assert is_turned_away(gateway.connect())
        assert first.request("GET", "/").status == 200
        assert is_turned_away(gateway.connect())
        assert first.is_closed_by_peer() and second.is_closed_by_peer()
    with gateway.connect() as third:
        assert third.request("GET", "/").status == 200


def test_connections_with_tls_count_from_before_their_handshake(make_gateway, legacy, new, scratch):
    authority = Authority(scratch / "authority")
    tls = authority.sign("localhost", "127.0.0.1").files
    gateway = make_gateway(legacy, new, config=limited(2, listen=[{"address": "127.0.0.1:0", "tls": tls}]))
    with TLSConnection(gateway.address, client_context(authority)) as client, gateway.connect():
        eventually(lambda: connections(gateway) == 2, "one of them says nothing")
        with gateway.connect() as surplus:
            assert surplus.is_closed_by_peer()
        assert client.request("GET", "/").status == 200
    eventually(lambda: connections(gateway) == 0, "both have left")
    with TLSConnection(gateway.address, client_context(authority)) as client:
        assert client.request("GET", "/").status == 200


HTTP2 = {"listen": [{"address": "127.0.0.1:0", "http2": True}]}


@pytest.mark.parametrize("limits", [{"connections": 3}, {"connections_per_address": 3}], ids=["all", "address"])
def test_a_connection_of_http2_counts_once_whatever_it_asks(make_gateway, legacy, new, limits):
    """Neither none because nothing is under way on it, nor once for each request."""
    gateway = make_gateway(legacy, new, config={"workers": 1, "limits": limits, **HTTP2})
    with http2.Client(gateway) as first, http2.Client(gateway), gateway.connect():
        eventually(lambda: connections(gateway) == 3, "one of them has not even said which protocol it speaks")
        with gateway.connect() as surplus:
            assert surplus.is_closed_by_peer()
        streams = [first.begin(first.fields()) for _ in range(20)]
        assert {first.finish(stream).status for stream in streams} == {200}
    eventually(lambda: connections(gateway) == 0, "all have left")
    with gateway.connect() as client:
        assert client.request("GET", "/").status == 200


def test_a_trusted_proxy_brings_as_many_clients_as_it_has(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config=limited(2, trusted_proxies=["127.0.0.1"]))
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            assert stack.enter_context(gateway.connect()).request("GET", "/").status == 200
        with Crowd(gateway) as others:
            others.add(5, ["127.0.0.2"])
            eventually(lambda: others.ended() == 3, "anybody else has two")


def test_a_listener_has_its_connections_and_the_others_theirs(make_gateway, legacy, new):
    def listen(count):
        return {"listen": [{"address": "127.0.0.1:0"}, {"address": "127.0.0.2:0", "connections": count}]}

    gateway = make_gateway(legacy, new, config=listen(3))
    first, second = ports(gateway)
    with contextlib.ExitStack() as stack:
        def connect(host, port):
            gateway.host, gateway.port = host, port
            return stack.enter_context(gateway.connect())

        few = [connect("127.0.0.2", second) for _ in range(3)]
        assert all(client.request("GET", "/").status == 200 for client in few)
        assert is_turned_away(connect("127.0.0.2", second))
        assert hits(gateway, "listener_connections") == 1
        for _ in range(10):
            assert connect("127.0.0.1", first).request("GET", "/").status == 200
        reload(gateway, listen(4))
        assert connect("127.0.0.2", second).request("GET", "/").status == 200
        assert is_turned_away(connect("127.0.0.2", second))
        few[0].close()
        eventually(lambda: connections(gateway) == 13, "it is counted out")
        assert connect("127.0.0.2", second).request("GET", "/").status == 200


def ports(gateway):
    lines = [line for line in gateway.log().splitlines() if line.startswith("cutover: listening on ")]
    return [int(line.rsplit(":", 1)[1]) for line in lines]


def test_twenty_thousand_connections_of_a_few_addresses_keep_nobody_else_from_being_served(make_gateway, legacy, new):
    allow_many_descriptors()
    gateway = make_gateway(legacy, new, config=limited(200))
    assert gateway.get("/").status == 200
    open_before, before = quiet(lambda: descriptors(gateway)), gateway.resident_bytes()
    bystanders = [Bystander(gateway), Bystander(gateway, fresh=True)]
    with Crowd(gateway) as flood:
        flood.add(20_000, SOURCES, most=4000)
        assert connections(gateway) <= len(SOURCES) * 200 + 2
        for bystander in bystanders:
            bystander.finish()
    assert hits(gateway, "client_connections_per_address") > 10_000
    assert hits(gateway, "client_connections") == 0
    eventually(lambda: connections(gateway) <= 1, "all have left")
    eventually(lambda: descriptors(gateway) <= open_before + 8, "descriptors go back")
    assert gateway.resident_bytes() - before < 40 * MEBIBYTE


def test_thousands_that_connect_and_say_nothing_cost_little_and_nobody_else_anything(make_gateway, legacy, new):
    allow_many_descriptors()
    gateway = make_gateway(legacy, new)
    assert gateway.get("/").status == 200
    open_before, before = quiet(lambda: descriptors(gateway)), gateway.resident_bytes()
    bystander = Bystander(gateway, fresh=True)
    with Crowd(gateway) as flood:
        flood.add(6000, SOURCES)
        eventually(lambda: connections(gateway) >= 6000, "they are connected")
        # Silent for a second, they have neither a session nor a buffer.
        eventually(lambda: gateway.resident_bytes() - before < 6000 * 4096, "their memory is given back", 30)
        bystander.finish()
    eventually(lambda: connections(gateway) <= 1, "all have left")
    eventually(lambda: descriptors(gateway) <= open_before + 8, "descriptors go back")


def test_clients_that_connect_and_reset_at_once_leave_nothing_behind(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config=limited(500))
    assert gateway.get("/").status == 200
    open_before = quiet(lambda: descriptors(gateway))
    bystander = Bystander(gateway, fresh=True)
    with Crowd(gateway) as flood:
        flood.add(6000, SOURCES, resets=True)
    bystander.finish()
    eventually(lambda: connections(gateway) <= 1, "nobody is left")
    eventually(lambda: descriptors(gateway) <= open_before + 8, "descriptors go back")
    # None of them is counted for ever.
    with Crowd(gateway) as again:
        again.add(500, SOURCES[:1])
        eventually(lambda: connections(gateway) >= 500, "the address has all its places")


def test_without_descriptors_accepting_waits_and_does_not_spin(make_gateway, legacy, new):
    legacy.answer = lambda request: reply(b"served")
    gateway = make_gateway(legacy, new, config={"workers": 1})
    first = gateway.connect()
    assert first.request("GET", "/").status == 200
    short = hits(gateway, "client_connections")
    limit_descriptors(gateway, quiet(lambda: descriptors(gateway)))
    with Crowd(gateway) as waiting:
        waiting.add(60)
        eventually(lambda: first.request("GET", "/").status == 200, "who is there is served")
        used, begun = processor_seconds(gateway), time.monotonic()
        stays(lambda: waiting.ended() == 0, "they wait", 2)
        share = (processor_seconds(gateway) - used) / (time.monotonic() - begun)
        assert share < 0.25, f"a gateway that cannot accept uses {share:.0%} of a processor"
        limit_descriptors(gateway, 1024)
        eventually(lambda: hits(gateway, "client_connections") > short, "it was counted")
        eventually(lambda: connections(gateway) == 61, "all are let in")
        assert first.request("GET", "/").status == 200
    first.close()


def limit_descriptors(gateway, count):
    subprocess.run(["prlimit", "--pid", str(gateway.process.pid), f"--nofile={count}:"], check=True)


@pytest.mark.parametrize("count", [64, 256])
def test_few_descriptors_are_shared_out_so_that_backends_store_and_operator_have_theirs(
        make_gateway, legacy, new, count):
    gateway = make_gateway(legacy, new, start=False, config={"workers": 1})
    gateway.prefix = ["prlimit", f"--nofile={count}:{count}"]
    gateway.start()
    gateway.set_percent(50)
    with Crowd(gateway) as flood:
        with gateway.connect() as client:
            assert client.request("GET", "/", user="u").status == 200
            flood.add(400)
            for number in range(20):
                assert client.request("GET", f"/{number}", user=f"u{number}").status == 200
                assert client.request("PUT", f"/{number}", body=b"x", user=f"u{number}").status == 200
            assert gateway.status()["rollout"]["percent"] == 50
    eventually(lambda: connections(gateway) == 0, "all have left")
    assert gateway.get("/").status == 200
