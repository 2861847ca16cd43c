"""Which upgrades are tunnelled: WebSocket. Any other offer may be ignored, and is (RFC 9110 §7.8)."""

import pytest

from support.backend import reply

H2C = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABkAAQAAP__")]


@pytest.mark.parametrize("headers", [H2C, [("Connection", "Upgrade"), ("Upgrade", "TLS/1.2")]], ids=["h2c", "tls"])
def test_a_read_that_offers_another_protocol_is_an_ordinary_read(make_gateway, legacy, new, headers):
    legacy.answer = lambda request: reply(b"from legacy")
    new.answer = lambda request: reply(b"broken", 500)
    gateway = make_gateway(legacy, new, percent=100)
    answer = gateway.get("/", user="u", headers=headers)
    assert (answer.status, answer.body, answer.why) == (200, b"from legacy", "fallback-5xx")
    for request in (legacy.requests[0], new.requests[0]):
        assert not any(name in request.headers for name in ("Upgrade", "HTTP2-Settings"))


def test_a_write_that_offers_http_2_reaches_both(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    assert gateway.fetch("PUT", "/a", H2C, b"text", user="u").status == 200
    gateway.settle(5)
    assert legacy.requests[0].body == new.requests[0].body == b"text"


def test_a_write_that_offers_websocket_is_an_ordinary_write(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    headers = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
    assert gateway.fetch("POST", "/a", headers, b"text", user="u").status == 200
    gateway.settle(5)
    for side in (legacy, new):
        assert side.requests[0].body == b"text" and "Upgrade" not in side.requests[0].headers


@pytest.mark.parametrize(
    "version, headers",
    [("1.0", "Connection: Upgrade\r\nUpgrade: websocket\r\n"), ("1.1", "Upgrade: websocket\r\n"),
     ("1.1", "Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n")], ids=["http-1.0", "unnamed", "several"])
def test_an_offer_that_is_no_offer_of_websocket_alone_is_an_ordinary_read(make_gateway, legacy, new, version, headers):
    gateway = make_gateway(legacy, new)
    with gateway.connect() as client:
        client.send(f"GET / HTTP/{version}\r\nHost: example.test\r\n{headers}\r\n".encode())
        assert client.response().status == 200
    assert "Upgrade" not in legacy.requests[0].headers
