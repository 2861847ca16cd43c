"""What a proxy does to heads, and what it leaves alone (RFC 9110 §7.6, contract §8)."""

import pytest

from support.backend import reply

ADDED = {"via", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-request-id"}


def test_header_lines_keep_order_case_and_multiplicity(gateway, legacy):
    sent = [("x-Lower-UPPER", "1"), ("Accept", "a"), ("X-Twice", "first"), ("accept", "b"), ("X-Twice", "second"),
            ("X-Empty", ""), ("X-Quoted", '"a, b"; c=d')]
    assert gateway.get("/", headers=sent).status == 200
    received = [pair for pair in legacy.requests[0].headers if pair[0].lower() not in ADDED]
    assert received == [("Host", "example.test"), *sent]


def test_hop_by_hop_headers_of_a_request_are_removed(gateway, legacy):
    gateway.get("/", headers=[
        ("Connection", "keep-alive, X-Private"), ("X-Private", "1"), ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "keep-alive"), ("TE", "trailers"), ("X-Public", "2")])
    request = legacy.requests[0]
    for name in ("X-Private", "Keep-Alive", "Proxy-Connection"):
        assert name not in request.headers
    assert "x-private" not in (request["Connection"] or "").lower()
    assert request["X-Public"] == "2"


def test_hop_by_hop_headers_of_an_answer_are_removed(gateway, legacy):
    legacy.answer = lambda request: reply(headers=[
        ("Connection", "X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "timeout=5"), ("X-End", "2")])
    answer = gateway.get("/")
    assert "X-Hop" not in answer.headers and "Keep-Alive" not in answer.headers
    assert answer["X-End"] == "2"


def test_host_is_passed_on_unchanged(gateway, legacy):
    with gateway.connect() as client:
        assert client.request("GET", "/", host="Notes.Example.test:8443").status == 200
    assert legacy.requests[0].headers.all("Host") == ["Notes.Example.test:8443"]


def test_forwarding_headers_say_who_asked_and_how(gateway, legacy):
    gateway.get("/", headers=[("X-Forwarded-For", "192.0.2.7"), ("Via", "1.0 edge")])
    request = legacy.requests[0]
    chain = [part.strip() for value in request.headers.all("X-Forwarded-For") for part in value.split(",")]
    assert chain == ["192.0.2.7", "127.0.0.1"]
    hops = [part.strip() for value in request.headers.all("Via") for part in value.split(",")]
    assert hops[0] == "1.0 edge" and hops[1].startswith("1.1 ") and len(hops) == 2
    assert request.headers.all("X-Forwarded-Proto") == ["http"]
    assert request.headers.all("X-Forwarded-Host") == ["example.test"]


def test_every_request_has_an_id_of_its_own(gateway, legacy):
    with gateway.connect() as client:
        for _ in range(3):
            client.request("GET", "/")
    ids = [request["X-Request-Id"] for request in legacy.requests]
    assert all(ids) and len(set(ids)) == 3


def test_ids_of_the_client_are_passed_on(gateway, legacy):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    gateway.get("/", headers=[("X-Request-Id", "abc-1"), ("traceparent", trace)])
    request = legacy.requests[0]
    assert request.headers.all("X-Request-Id") == ["abc-1"]
    # The same trace; the parent is a span of the gateway's own (test_trace_context.py).
    [passed] = request.headers.all("traceparent")
    assert passed[:36] == trace[:36] and passed[52:] == trace[52:]


@pytest.mark.parametrize("target", [
    "/?", "/a?x=1&&y=a+b%20c&z=?/:@&empty=", "/a%2Fb/./c/../d;v=1//e?q=%2e", "/%C3%A9?%C3%A9=%zz",
])
def test_targets_arrive_byte_for_byte(gateway, legacy, target):
    gateway.get(target)
    assert legacy.requests[0].target == target


def test_an_absolute_target_goes_out_in_origin_form(gateway, legacy):
    with gateway.connect() as client:
        assert client.request("GET", "http://example.test/a?b=c").status == 200
    assert legacy.requests[0].target == "/a?b=c"
    assert legacy.requests[0].headers.all("Host") == ["example.test"]


def test_a_path_in_the_backends_address_comes_first(make_gateway, legacy, new):
    gateway = make_gateway(legacy.url + "/base/", new)
    gateway.get("/a?b=c")
    assert legacy.requests[0].target == "/base/a?b=c"


@pytest.mark.parametrize("target", ["*", "http://example.test"])
@pytest.mark.parametrize("path", ["", "/base/"])
def test_options_of_the_whole_server_are_no_path(make_gateway, legacy, new, path, target):
    """RFC 9112 §3.2.4: there is nothing to put a path before, and no path to make up."""
    gateway = make_gateway(legacy.url + path, new)
    with gateway.connect() as client:
        assert client.request("OPTIONS", target).status == 200
    assert legacy.requests[0].target == "*"


def test_several_cookies_stay_several_lines(gateway, legacy):
    cookies = ["a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT", "b=2; Path=/", "c=3"]
    legacy.answer = lambda request: reply(headers=[("Set-Cookie", cookie) for cookie in cookies])
    assert gateway.get("/").headers.all("Set-Cookie") == cookies


def test_header_lines_of_an_answer_keep_order_and_case(gateway, legacy):
    sent = [("x-LOWER", "1"), ("Date", "Mon, 30 Nov 2026 01:02:03 GMT"), ("Server", "legacy/1"), ("X-Two", "a"),
            ("ETag", 'W/"x"'), ("X-Two", "b")]
    legacy.answer = lambda request: reply(headers=sent)
    answer = gateway.get("/")
    assert [pair for pair in answer.headers if pair in sent] == sent


def test_the_gateways_own_answer_headers_cannot_be_forged(gateway, legacy):
    legacy.answer = lambda request: reply(headers=[
        ("Cutover-Backend", "new"), ("cutover-reason", "because"), ("Cutover-Else", "x")])
    answer = gateway.get("/", user="u")
    assert answer.headers.all("Cutover-Backend") == ["legacy"]
    assert answer.headers.all("Cutover-Reason") == ["outside-percent"]
    assert "Cutover-Else" not in answer.headers


def test_answers_can_hide_where_they_came_from(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"expose": False})
    answer = gateway.get("/", user="u")
    assert answer.status == 200
    assert [name for name, _ in answer.headers if name.lower().startswith("cutover-")] == []


def test_a_large_head_within_the_limits_passes_both_ways(gateway, legacy):
    many = [(f"X-Line-{index}", "v" * 300) for index in range(120)]
    legacy.answer = lambda request: reply(headers=many)
    answer = gateway.get("/", headers=many)
    assert [pair for pair in legacy.requests[0].headers if pair[0].startswith("X-Line-")] == many
    assert [pair for pair in answer.headers if pair[0].startswith("X-Line-")] == many
