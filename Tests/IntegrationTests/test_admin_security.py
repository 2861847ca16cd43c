"""Who may ask the admin listener for what, tried from outside."""

import os
import signal
import socket
import stat
import subprocess
import threading

import pytest

from support.gateway import cutover
from support.waiting import eventually
from support.wire import Connection, request_bytes
from test_admin import PLAN

PROMOTE = "/api/v1/rollout/promote"


@pytest.fixture
def planned(make_gateway, legacy, new):
    return make_gateway(legacy, new, plan=PLAN)


def raw(gateway, method, target, headers=(), body=None, host="localhost"):
    """One exchange with the admin listener, with no header that was not asked for."""
    with Connection((gateway.admin_host, gateway.admin_port)) as connection:
        connection.send(request_bytes(method, target, headers, body, host=host))
        return connection.response(method)


def bearer(gateway, name="admin"):
    return ("Authorization", f"Bearer {gateway.token(name)}")


def write_token(gateway, text, name="admin", mode=0o600):
    path = gateway.data / f"{name}.token"
    path.write_text(text + "\n")
    path.chmod(mode)


# Places


def test_whoever_holds_every_connection_does_not_keep_the_operator_out(planned):
    """More connections than the admin listener takes, reopened as they are closed, and none of them asks anything."""
    address = (planned.admin_host, planned.admin_port)
    ended, held = threading.Event(), []

    def hold():
        while not ended.is_set():
            try:
                held.append(socket.create_connection(address, timeout=5))
            except OSError:
                pass
            if len(held) > 1_100:
                held.pop(0).close()

    threads = [threading.Thread(target=hold) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: len(held) >= 1_100, "the places are taken", 60)
        for _ in range(5):
            assert planned.change("POST", "rollout/rollback", {"reason": "now"})["after"]["percent"] == 0
        # A busy listener still has some of them before it.
        eventually(lambda: planned.metrics()("cutover_limit_hits_total", limit="admin_connections") > 0,
                   "the limit is counted", 20)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        for connection in held:
            connection.close()


# Tokens


def test_a_reload_takes_new_tokens_over_and_the_old_ones_count_no_more(planned):
    old = planned.token()
    write_token(planned, "a-new-token-for-the-admin")
    assert planned.admin("POST", PROMOTE, {}, token="a-new-token-for-the-admin")[0] == 401, "not before the reload"
    assert planned.admin("POST", "/api/v1/reload", {}, token=old)[0] == 200
    assert planned.admin("POST", PROMOTE, {}, token=old)[0] == 401
    assert planned.admin("POST", PROMOTE, {}, token="a-new-token-for-the-admin")[0] == 200
    # By signal, too; a file that is gone is made anew.
    (planned.data / "viewer.token").unlink()
    write_token(planned, "another-token-for-the-admin")
    planned.process.send_signal(signal.SIGHUP)
    eventually(lambda: planned.admin("POST", "/api/v1/rollout/pause", {"dry_run": True},
                                     token="another-token-for-the-admin")[0] == 200, "the new token counts")
    viewer = planned.data / "viewer.token"
    assert stat.S_IMODE(viewer.stat().st_mode) == 0o600 and len(planned.token("viewer")) == 64
    assert planned.admin("POST", PROMOTE, {}, token=planned.token("viewer"))[0] == 403
    assert "a-new-token" not in planned.log() and old not in planned.log()


@pytest.mark.parametrize(("text", "mode", "said"), [
    ("short", 0o600, "at least 16 characters"), ("a-new-token-for-the-admin", 0o644, "chmod 600"),
    ("a-new-token-for-the-admin", 0o640, "chmod 600"),
])
def test_a_token_file_that_cannot_be_used_refuses_the_reload_and_the_old_token_stays(planned, text, mode, said):
    old = planned.token()
    write_token(planned, text, mode=mode)
    status, problem, _ = planned.admin("POST", "/api/v1/reload", {}, token=old)
    assert status == 422 and said in problem["reasons"][0] and text not in str(problem)
    assert planned.admin("POST", PROMOTE, {}, token=text)[0] == 401
    assert planned.admin("POST", PROMOTE, {}, token=old)[0] == 200


def test_a_token_that_others_can_read_stops_the_start_and_says_how_to_mend_it(planned):
    planned.stop()
    path = planned.data / "viewer.token"
    path.chmod(0o644)
    planned.start(wait=False)
    assert planned.process.wait(30) == 1
    assert f"chmod 600 {path}" in planned.log()
    path.chmod(0o600)
    planned.start()


def test_a_dry_run_of_a_reload_changes_nothing(planned):
    old, generation = planned.token(), planned.status()["rollout"]["generation"]
    write_token(planned, "a-new-token-for-the-admin")
    (planned.data / "viewer.token").unlink()
    status, answer, _ = planned.admin("POST", "/api/v1/reload", {"dry_run": True}, token=old)
    assert status == 200 and answer["dry_run"] is True and answer["before"] == answer["after"]
    assert planned.admin("POST", PROMOTE, {"dry_run": True}, token=old)[0] == 200
    assert not (planned.data / "viewer.token").exists()
    assert planned.status()["rollout"]["generation"] == generation
    assert [event["action"] for event in planned.read("events")["items"]] == ["start"]


def test_who_guesses_has_to_wait_and_who_knows_does_not(planned):
    for number in range(10):
        assert planned.admin("GET", "/api/v1/status", token=f"guess-number-{number:05}")[0] == 401
    status, problem, headers = planned.admin("POST", PROMOTE, {}, token="one-guess-too-many")
    assert status == 429 and 1 <= int(headers["Retry-After"]) <= 60
    assert headers["Content-Type"] == "application/problem+json" and problem["status"] == 429
    assert planned.admin("POST", PROMOTE, {}, token=planned.token())[0] == 200
    assert planned.admin("GET", "/api/v1/status")[0] == 200
    assert planned.log().count("too many wrong tokens") == 1 and "guess" not in planned.log()


# Browsers


def test_a_page_of_another_origin_changes_nothing(planned):
    own = f"{planned.admin_host}:{planned.admin_port}"
    for headers, status in [
            ([("Origin", "http://evil.example")], 403), ([("Origin", "null")], 403),
            ([("Origin", f"http://localhost:{planned.admin_port}")], 403), ([("Sec-Fetch-Site", "cross-site")], 403),
            ([("Sec-Fetch-Site", "same-site")], 403), ([("Origin", f"http://{own}")], 200),
            ([("Origin", f"https://{own}"), ("Sec-Fetch-Site", "same-origin")], 200)]:
        answer = raw(planned, "POST", PROMOTE, [bearer(planned), *headers], b'{"dry_run":true}', host=own)
        assert answer.status == status, headers
    preflight = raw(planned, "OPTIONS", PROMOTE, [
        ("Origin", "http://evil.example"), ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization")], host=own)
    assert preflight.status == 405 and preflight["Allow"] == "POST"
    simple = raw(planned, "GET", "/api/v1/status", [("Origin", "http://evil.example")], host=own)
    for answer in (preflight, simple):
        assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]


def test_a_name_that_dns_leads_here_reads_nothing_without_a_token(planned):
    port = planned.admin_port
    for host in ("127.0.0.1", f"127.0.0.1:{port}", "localhost", f"localhost:{port}", f"[::1]:{port}"):
        assert raw(planned, "GET", "/api/v1/status", host=host).status == 200, host
    for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}"):
        for target in ("/api/v1/status", "/api/v1/stream", "/metrics"):
            answer = raw(planned, "GET", target, host=host)
            assert answer.status == 403 and "localhost" in answer.json()["detail"], (host, target)
        assert raw(planned, "GET", "/api/v1/status", [bearer(planned, "viewer")], host=host).status == 200
        assert raw(planned, "GET", "/healthz", host=host).status == 200


def test_every_answer_forbids_to_keep_sniff_and_frame_it(planned):
    token = bearer(planned)
    answers = [
        raw(planned, "GET", "/api/v1/status"), raw(planned, "GET", "/metrics"), raw(planned, "GET", "/healthz"),
        raw(planned, "GET", "/readyz"), raw(planned, "GET", "/nowhere"), raw(planned, "POST", PROMOTE),
        raw(planned, "POST", PROMOTE, [token], b"{"), raw(planned, "POST", "/api/v1/status", [token]),
        raw(planned, "POST", PROMOTE, [token], b" " * ((1 << 20) + 1)), raw(planned, "GET", "/" + "x" * 9000),
        raw(planned, "GET", "/api/v1/events?format=ndjson"), raw(planned, "HEAD", "/api/v1/status"),
        raw(planned, "G(T", "/"), raw(planned, "GET", "/", [("X", "y" * 70000)]),
    ]
    assert [answer.status for answer in answers] == [
        200, 200, 200, 200, 404, 401, 400, 405, 413, 414, 200, 200, 400, 431]
    for answer in answers:
        assert answer["X-Content-Type-Options"] == "nosniff" and answer["Referrer-Policy"] == "no-referrer", answer
        assert answer["X-Frame-Options"] == "DENY" and answer["Cache-Control"] == "no-store", answer
        assert "default-src 'none'" in answer["Content-Security-Policy"], answer
    assert raw(planned, "GET", "/")["X-Frame-Options"] == "DENY"


def test_reading_changes_nothing(planned):
    before = planned.read("events")["items"]
    for path in (PROMOTE, "/api/v1/reload", "/api/v1/journal/replay", "/api/v1/users/u/pin"):
        for method in ("GET", "HEAD"):
            assert raw(planned, method, path, [bearer(planned)]).status == 405, path
    assert planned.read("events")["items"] == before


# Off loopback


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:9900"])
def test_off_loopback_without_tls_is_refused_by_check_and_by_serve(planned, address):
    planned.stop()
    planned.config["admin"]["listen"] = address
    planned.start(wait=False)
    assert planned.process.wait(30) == 1
    done = cutover("check", "--config", planned.config_file, check=False)
    assert done.returncode == 1
    for text in (planned.log(), done.stdout + done.stderr):
        assert "admin.listen: tokens would cross the network unencrypted" in text
        assert "admin.allow_plaintext: true" in text


def test_off_loopback_with_a_word_for_it_everything_needs_a_token(planned):
    found = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
    outside = [address for address in found if "." in address]
    planned.stop()
    planned.config["admin"] = {"listen": "0.0.0.0:0", "allow_plaintext": True}
    planned.start()
    assert planned.admin("GET", "/api/v1/status")[0] == 200, "who comes over loopback reads freely"
    # Where the machine has no other address than loopback there is no outside to come from.
    for planned.admin_host in outside[:1]:
        for path in ("/api/v1/status", "/api/v1/openapi.json", "/metrics", "/api/v1/stream"):
            assert planned.admin("GET", path)[0] == 401, path
        assert planned.admin("GET", "/api/v1/status", token=planned.token("viewer"))[0] == 200
        assert [planned.admin("GET", path)[0] for path in ("/", "/healthz", "/readyz")] == [200, 200, 200]


# What makes no sense


def test_whatever_is_sent_the_answer_is_one_of_the_documented_ones(planned):
    token = bearer(planned)
    deep = b'{"to":' + b"[" * 100_000
    bodies = [
        b"", b"{}", b"null", b"[]", b"1", b"{", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf{}", b'{"percent":NaN}',
        b'{"percent":1e400}', b'{"percent":-1e400}', b'{"percent":-0.001}', b'{"percent":' + b"9" * 5000 + b"}",
        b'{"percent":"1"}', b'{"percent":1,"percent":2}', b'{"reason":"\\ud800"}', b'{"reason":"\xff"}',
        b'{"reason":"\\u0000"}', b'{"reason":"' + b"x" * 1_000_000 + b'"}', b" " * (1 << 20), deep,
        b'{"seqs":[9223372036854775808]}', b'{"seqs":[-1]}', b'{"seqs":[1.5]}', b'{"seqs":[' + b"1," * 2000 + b"1]}",
        b'{"since":"-1h"}', b'{"since":"99999999999999999999d"}', b'{"side":"new\\u0000"}', b'{"dry_run":"yes"}',
    ]
    targets = ["rollout/promote", "rollout/percent", "rollout/pause", "journal/replay", "reverse-sync", "reload"]
    answers = [raw(planned, "POST", f"/api/v1/{target}", [token], body) for target in targets for body in bodies]
    answers += [raw(planned, "PUT", "/api/v1/users/u/pin", [token], body) for body in bodies]
    segments = [
        "%2F", "%00", "%FF", "%", "%zz", "%20", "x" * 1024, "x" * 1025, "%C3%A9" * 512, "%C3%A9" * 513, "..", ""]
    ids = [raw(planned, "GET", f"/api/v1/users/{segment}") for segment in segments]
    assert [answer.status for answer in ids] == [200, 400, 400, 200, 200, 200, 200, 400, 200, 400, 200, 200]
    queries = [
        "limit=0", "limit=-1", "limit=1e3", "limit=%00", "limit=1&limit=1", "cursor=x", "parked=maybe",
        "=", "&&", "%zz=%zz", "limit=" + "9" * 5000, "unknown=1"]
    lists = [raw(planned, "GET", f"/api/v1/journal?{query}") for query in queries]
    assert [answer.status for answer in lists] == [400] * 8 + [200, 400, 200, 400]
    for answer in answers + ids + lists:
        assert answer.status in (200, 202, 400, 409, 413), answer
        if answer.status >= 400:
            assert answer["Content-Type"] == "application/problem+json" and answer.json()["detail"], answer
    assert planned.admin("GET", "/api/v1/status")[0] == 200 and os.path.exists(f"/proc/{planned.process.pid}")
