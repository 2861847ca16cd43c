"""One line a request, which no request can forge and no reader can hold up (`access_log`)."""

import collections
import datetime
import json
import os
import re
import signal
import threading
import time

import pytest

from support.backend import HANG, reply
from support.small_disk import SmallDisk
from support.waiting import eventually
from support.wire import request_bytes


class Log:
    """The access log of one gateway."""

    def __init__(self, gateway, path):
        self.gateway, self.path = gateway, path

    def text(self):
        return self.path.read_bytes().decode() if self.path.exists() else ""

    def lines(self, count):
        """The lines, as soon as there are so many; each is whole and JSON."""
        text = eventually(lambda: (text := self.text()).count("\n") >= count and text, f"{count} lines")
        assert text.endswith("\n")
        lines = [json.loads(line) for line in text.splitlines()]
        assert len(lines) == count, lines
        return lines

    def line(self):
        return self.lines(1)[0]

    def dropped(self):
        return self.gateway.metrics()("cutover_access_log_dropped_total")


@pytest.fixture
def logged(make_gateway, legacy, new, scratch):
    """Makes a gateway that logs: `logged(format=…, …)`; its log."""
    def make(config=None, **options):
        path = scratch / "access.log"
        # One loop, so that the lines are in the order of the requests.
        settings = {"workers": 1, "access_log": {"file": str(path), **options}, **(config or {})}
        return Log(make_gateway(legacy, new, config=settings), path)
    return make


def test_a_line_says_what_became_of_a_request(logged, legacy):
    log = logged()
    legacy.answer = lambda request: (time.sleep(0.05), reply(b"12345"))[1]
    before = time.time()
    trace = "0af7651916cd43dd8448eb211c80319c"
    log.gateway.get("/notes/7?a=secret&b=2", user="user-42", headers=[
        ("X-Request-Id", "id-1"), ("traceparent", f"00-{trace}-b7ad6b7169203331-01")])
    line = log.line()
    at = datetime.datetime.fromisoformat(line.pop("at").replace("Z", "+00:00")).timestamp()
    assert before - 0.01 <= at <= time.time()
    assert 0.05 <= line.pop("upstream_seconds") <= line.pop("duration_seconds") < 10
    assert line == {
        "request_id": "id-1", "trace_id": trace, "client": "127.0.0.0", "kind": "read", "method": "GET",
        "path": "/notes/7?a=\u2026&b=\u2026", "status": 200, "backend": "legacy", "reason": "outside-percent",
        "request_bytes": 0, "response_bytes": 5}


def test_keys_are_in_a_fixed_form(logged):
    log = logged()
    log.gateway.get("/")
    eventually(log.text, "the line")
    assert re.fullmatch(
        r'\{"at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","request_id":"[0-9a-f]{32}","client":"127\.0\.0\.0",'
        r'"kind":"read","method":"GET","path":"/","status":200,"backend":"legacy","reason":"anonymous",'
        r'"duration_seconds":\d+\.\d{6},"upstream_seconds":\d+\.\d{6},"request_bytes":0,"response_bytes":11\}\n',
        log.text())


def test_without_the_key_there_is_none(gateway, scratch):
    gateway.get("/")
    assert list(scratch.rglob("access*")) == []
    assert gateway.metrics()("cutover_access_log_lines_total") == 0
    assert gateway.metrics()("cutover_access_log_dropped_total") == 0


def test_a_write_says_what_became_of_both_legs(logged, new, legacy):
    log = logged({"writes": {"answer": "both"}})
    gateway = log.gateway
    assert gateway.fetch("PUT", "/notes/1", body=b"12345", user="u").status == 200
    new.answer = lambda request: reply(status=503)
    assert gateway.fetch("PUT", "/notes/2", body=b"1", user="u").status == 200
    legacy.answer = lambda request: reply(b"no", status=403)
    assert gateway.fetch("PUT", "/notes/3", body=b"1", user="v").status == 403
    legacy.answer = lambda request: reply(status=500)
    assert gateway.fetch("PUT", "/notes/4", body=b"1", user="w").status == 500
    lines = log.lines(4)
    assert [line["kind"] for line in lines] == ["write"] * 4
    assert [tuple(line["legs"].values()) for line in lines] == [
        ("applied", "applied"), ("applied", "pending"), ("refused", "skipped"), ("skipped", "skipped")]
    assert lines[0]["request_bytes"] == 5 and lines[2]["response_bytes"] == 2
    assert all(line["upstream_seconds"] > 0 for line in lines)


def test_an_answer_of_the_gateways_own_says_which(logged, legacy, new):
    log = logged({"limits": {"target": 1024}, "timeouts": {"head": "300ms"}, "fallback": {"on": []},
                  "writes": {"body_max": 10}})
    gateway = log.gateway
    with gateway.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert client.response().status == 400
    assert gateway.get("/" + "x" * 2000).status == 414
    with gateway.connect() as client:
        client.send(b"GET /")
        assert client.response().status == 408
    assert gateway.fetch("PUT", "/a", body=b"x" * 11).status == 413
    legacy.stop()
    assert gateway.get("/gone").status == 502
    lines = log.lines(5)
    assert [(line["kind"], line["status"], line["problem"]) for line in lines] == [
        ("none", 400, "malformed-request"), ("none", 414, "malformed-request"), ("none", 408, "request-timeout"),
        ("write", 413, "body-too-large"), ("read", 502, "backend-unreachable")]
    assert all("path" not in line and "backend" not in line for line in lines[:3])
    assert lines[4]["path"] == "/gone"


def test_a_fallback_is_told_with_its_reason(logged, new):
    log = logged()
    log.gateway.set_percent(100)
    new.answer = lambda request: reply(status=503)
    log.gateway.get("/a", user="u")
    line = log.line()
    assert (line["status"], line["backend"], line["reason"]) == (200, "legacy", "fallback-5xx")


def test_a_client_that_leaves_is_499(logged, legacy):
    log = logged()
    legacy.answer = lambda request: [HANG]
    with log.gateway.connect() as client:
        client.send(request_bytes("GET", "/slow"))
        eventually(lambda: legacy.begun, "the request")
    line = log.line()
    assert (line["status"], line["problem"], line["path"]) == (499, "client-gone", "/slow")


def test_who_is_refused_for_its_token_has_met_no_backend(logged, scratch):
    (scratch / "secret").write_bytes(b"secret" * 8)
    user = {"from": [{"jwt": {"hs256_secret_file": str(scratch / "secret")}}], "unverifiable": 401}
    log = logged(config={"user": user})
    assert log.gateway.get("/", headers=[("Authorization", "Bearer a.b.c")]).status == 401
    line = log.line()
    assert (line["status"], line["problem"]) == (401, "invalid-token")
    assert "backend" not in line and "reason" not in line


def test_what_a_stop_cuts_off_has_its_line(logged, legacy):
    log = logged(config={"timeouts": {"drain": "300ms"}})
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\n\r\npart", HANG]
    with log.gateway.connect() as client:
        client.send(request_bytes("GET", "/endless"))
        assert client.head().status == 200
        process = log.gateway.process
        process.terminate()
        assert process.wait(30) == 1
        # Only the connection's end can tell that something is missing.
        with pytest.raises(ConnectionResetError):
            while client.socket.recv(4096):
                pass
    line = log.line()
    assert (line["status"], line["problem"], line["path"]) == (499, "cut-off", "/endless")
    assert "cut off (1 requests under way)" in log.gateway.log()


def test_an_answer_that_breaks_off_is_told(logged, legacy):
    log = logged()
    legacy.answer = lambda request: [b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", 0.1, b"12345"]
    with log.gateway.connect() as client:
        client.send(request_bytes("GET", "/half"))
        with pytest.raises(Exception):
            client.response()
    line = log.line()
    assert (line["status"], line["problem"], line["response_bytes"]) == (499, "backend-broke-off", 5)


def test_streamed_bodies_are_counted(logged, legacy):
    log = logged({"routes": [{"match": "* /files/**", "kind": "split"}]})
    legacy.answer = lambda request: reply(b"y" * 300_000)
    assert log.gateway.fetch("POST", "/files/1", body=b"x" * 200_000).status == 200
    line = log.line()
    assert (line["kind"], line["request_bytes"], line["response_bytes"]) == ("split", 200_000, 300_000)


# What it must not tell

def test_nothing_personal_is_written_by_default(logged):
    log = logged({"user": {"from": [{"path": "/users/{user_id}/**"}, {"header": "X-User-Id"}, {"query": "uid"}]}})
    secrets = [("Cookie", "session=hidden-cookie"), ("Authorization", "Bearer hidden-token"),
               ("User-Agent", "hidden-agent"), ("Referer", "http://hidden-referer/"), ("X-User-Id", "hidden-header")]
    for target in ("/users/hidden-user/notes/7", "/%75sers/hidden-user", "/a?uid=hidden-query&hidden-flag&x=",
                   "/a?&hidden-bare", "/b?a=hidden=hidden;hidden"):
        log.gateway.get(target, headers=secrets)
    lines = log.lines(5)
    assert "hidden" not in log.text() and "127.0.0.1" not in log.text()
    assert [line["path"] for line in lines] == [
        "/users/\u2026/notes/7", "/%75sers/\u2026", "/a?uid=\u2026&\u2026&x=", "/a?&\u2026", "/b?a=\u2026"]


def test_more_paths_can_be_redacted(logged):
    log = logged(redact=["/accounts/{user_id}/**", "/t/{tenant}/u/{user_id}"])
    for target in ("/accounts/7/x?y", "/t/1/u/2", "/accounts", "/other/7"):
        log.gateway.get(target)
    assert [line["path"] for line in log.lines(4)] == [
        "/accounts/\u2026/x?\u2026", "/t/1/u/\u2026", "/accounts", "/other/7"]


def test_more_is_told_where_it_is_asked_for(logged):
    log = logged({"user": {"from": [{"path": "/users/{user_id}/**"}, {"header": "X-User-Id"}]}},
                 client="plain", user="plain", query="plain")
    log.gateway.get("/users/42?a=b&c", user="other")
    line = log.line()
    assert (line["client"], line["user"], line["path"]) == ("127.0.0.1", "42", "/users/42?a=b&c")


def test_less_is_told_where_it_is_asked_for(logged):
    log = logged(client="none", query="none")
    log.gateway.get("/a?b=c")
    line = log.line()
    assert "client" not in line and line["path"] == "/a"


def test_a_user_can_be_followed_without_being_known(logged):
    log = logged(user="hash")
    for user in ("ann", "ben", "ann", None):
        log.gateway.get("/", user=user)
    key = log.gateway.data / "access-log.key"
    assert key.stat().st_mode & 0o777 == 0o600
    log.lines(4)
    log.gateway.restart()
    log.gateway.get("/", user="ann")
    users = [line.get("user") for line in log.lines(5)]
    assert users[0] == users[2] == users[4] != users[1] and users[3] is None
    assert all(re.fullmatch(r"[0-9a-f]{16}", user) for user in users if user)
    log.gateway.kill()
    key.unlink()
    log.gateway.start()
    log.gateway.get("/", user="ann")
    assert log.lines(6)[5]["user"] != users[0]


HOSTILE = [b'/a"b\\c', b"/\xff\xfe", b"/\xc2\x85\xe2\x80\xa8", b"/\x80\xc0\xaf", b'/","status":999,"x":"', b"/%0a%0d"]


@pytest.mark.parametrize("form", ["json", "combined"])
def test_no_request_can_forge_a_line(logged, form):
    log = logged(format=form, user="plain", query="plain")
    for path in HOSTILE:
        with log.gateway.connect() as client:
            client.send(b"GET " + path + b"?" + path + b" HTTP/1.1\r\nHost: a\r\nX-Request-Id: a\"\\\xff\r\n"
                        b"X-User-Id: u\"\\ \t\xc2\x85\xe2\x80\xae\xff\xc3\xa9\r\n\r\n")
            assert client.response().status == 200
    eventually(lambda: log.text().count("\n") == len(HOSTILE), "a line each")
    assert all(character == "\n" or character >= " " for character in log.text())
    for line in log.text().splitlines():
        if form == "json":
            line = json.loads(line)
            assert line["status"] == 200 and all(" " < letter < "\x7f" for letter in line["path"])
            assert line["user"] == 'u"\\ \t\x85\u202e\\xFF\u00e9' and re.fullmatch("[0-9a-f]{32}", line["request_id"])
        else:
            assert re.fullmatch(COMBINED, line) and line.isascii(), line


COMBINED = (r'(\S+) - (\S+) \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] "([A-Z]+) (\S+) HTTP/1\.[01]" '
            r'(\d{3}) (\d+) "-" "-"')


def test_the_combined_format_is_that_of_other_servers(logged):
    log = logged(format="combined", user="plain")
    log.gateway.get("/notes?a=1", user="ann b")
    log.gateway.get("/")
    eventually(lambda: log.text().count("\n") == 2, "both lines")
    first, second = (re.fullmatch(COMBINED, line) for line in log.text().splitlines())
    assert first.groups() == ("127.0.0.0", "ann\\x20b", "GET", "/notes?a=\u2026", "200", "11")
    assert second[2] == "-"


def test_a_long_target_is_cut_and_the_line_whole(logged):
    log = logged(query="plain")
    for target in ("/" + "a" * 7000, "/" + '"' * 7000, "/?" + "\\" * 7000):
        assert log.gateway.get(target, headers=[("X-Request-Id", "i" * 128)]).status == 200
    lines = log.lines(3)
    assert all(line["path"].endswith("\u2026") and line["status"] == 200 for line in lines)
    assert all(len(line.encode()) < 4096 for line in log.text().splitlines())


# Which requests

def test_a_sample_is_one_and_errors_are_always_there(logged, legacy):
    log = logged({"fallback": {"on": []}}, sample="10%")
    legacy.answer = lambda request: reply(status=500 if "fail" in request.target else 200)
    with log.gateway.connect() as client:
        for index in range(400):
            client.request("GET", "/ok")
            if index < 20:
                client.request("GET", "/fail")
    log.gateway.stop()
    counts = collections.Counter(json.loads(line)["path"] for line in log.text().splitlines())
    assert counts["/fail"] == 20 and 10 <= counts["/ok"] <= 90


def test_which_statuses_are_always_there_can_be_said(logged, legacy):
    log = logged(sample=0, always=404)
    legacy.answer = lambda request: reply(status=int(request.target[1:]))
    for status in (200, 403, 404, 500):
        log.gateway.get(f"/{status}")
    assert [line["status"] for line in log.lines(2)] == [404, 500]


# The file

def test_lines_are_in_the_file_after_the_end(logged):
    log = logged()
    for _ in range(50):
        log.gateway.get("/")
    log.gateway.stop()
    assert len(log.lines(50)) == 50


def test_a_renamed_file_is_left_at_a_signal_without_losing_a_line(logged, scratch):
    log = logged()
    stopping, sent = threading.Event(), []

    def traffic():
        with log.gateway.connect() as client:
            while not stopping.is_set():
                sent.append(client.request("GET", f"/{len(sent)}").status)

    thread = threading.Thread(target=traffic)
    thread.start()
    for number in range(3):
        eventually(lambda: log.path.exists() and log.path.stat().st_size > 0, "lines in the new file")
        log.path.rename(scratch / f"access.{number}")
        log.gateway.process.send_signal(signal.SIGUSR1)
    stopping.set()
    thread.join()
    log.gateway.stop()
    files = [scratch / f"access.{number}" for number in range(3)] + [log.path]
    paths = [json.loads(line)["path"] for file in files if file.exists() for line in file.read_text().splitlines()]
    assert sorted(paths, key=lambda path: int(path[1:])) == [f"/{index}" for index in range(len(sent))]


def test_a_reload_opens_a_renamed_file_anew_and_takes_other_settings_over(logged, scratch):
    log = logged()
    gateway = log.gateway
    gateway.get("/1")
    log.lines(1)
    log.path.rename(scratch / "old")
    gateway.change("POST", "reload")
    gateway.get("/2")
    assert log.line()["path"] == "/2"
    other = Log(gateway, scratch / "other.log")
    gateway.config["access_log"] = {"file": str(other.path), "query": "plain"}
    gateway.config_file.write_text(json.dumps(gateway.config))
    gateway.change("POST", "reload")
    gateway.get("/3?a=b")
    assert other.line()["path"] == "/3?a=b"
    del gateway.config["access_log"]
    gateway.config_file.write_text(json.dumps(gateway.config))
    gateway.change("POST", "reload")
    gateway.get("/4")
    gateway.stop()
    assert len(other.lines(1)) == len(log.lines(1)) == 1


def test_a_file_that_cannot_be_opened_is_refused_at_start_and_at_reload(logged, scratch, make_gateway, legacy, new):
    config = {"access_log": {"file": str(scratch / "missing" / "access.log")}}
    gateway = make_gateway(legacy, new, config=config, start=False)
    gateway.start(wait=False)
    assert gateway.process.wait(20) == 1
    assert "access_log.file: no directory for \"" in eventually(gateway.log, "a word")
    log = logged()
    log.gateway.config["access_log"] = config["access_log"]
    log.gateway.config_file.write_text(json.dumps(log.gateway.config))
    status, _, _ = log.gateway.admin("POST", "/api/v1/reload", token=log.gateway.token())
    assert status >= 400
    log.gateway.get("/still")
    assert log.line()["path"] == "/still"


def test_lines_can_go_to_standard_output(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"access_log": {"file": "stdout"}})
    gateway.get("/to-stdout")
    eventually(lambda: any('"path":"/to-stdout"' in line for line in gateway.log().splitlines()), "the line")


def test_a_full_disk_costs_lines_and_nothing_else(logged, scratch):
    log = logged()
    gateway = log.gateway
    gateway.stop()
    gateway.data.rename(scratch / "data-kept")
    room = SmallDisk(gateway)
    log.path = gateway.data / "access.log"
    gateway.config["access_log"]["file"] = str(log.path)
    gateway.config["data"] = str(scratch / "data-kept")
    try:
        gateway.start()
        gateway.get("/before")
        log.lines(1)
        room.fill()
        filler = log.path.stat().st_size
        # Whatever room is left in the file's last page is used up first.
        sent = 0
        with gateway.connect() as client:
            def fill_up():
                nonlocal sent
                for _ in range(200):
                    assert client.request("GET", "/" + "f" * 500).status == 200
                    sent += 1
                return log.dropped() > 0
            eventually(fill_up, "lines are dropped", 60)
        assert log.path.stat().st_size >= filler
        assert "does not take lines" in gateway.log()
        room.free()
        gateway.get("/after")
        eventually(lambda: '"path":"/after"' in log.text(), "a line after there is room again")
        metrics = gateway.metrics()
        assert metrics("cutover_access_log_lines_total") + log.dropped() == sent + 2
        whole = [line for line in log.text().splitlines() if line.endswith("}")]
        # A line that was cut at its very end looks whole.
        assert len(whole) - metrics("cutover_access_log_lines_total") in (0, 1)
        assert json.loads(whole[-1])["path"] == "/after"
    finally:
        gateway.stop()
        room.remove()


def test_a_pipe_that_nobody_reads_stalls_nothing(make_gateway, legacy, new, scratch):
    pipe = scratch / "pipe"
    os.mkfifo(pipe)
    gateway = make_gateway(legacy, new, config={"access_log": {"file": str(pipe)}, "workers": 1})
    gateway.get("/nobody-is-there")
    eventually(lambda: gateway.metrics()("cutover_access_log_dropped_total") == 1, "the line is dropped")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    sent = 0
    with gateway.connect() as client:
        # Far more than the pipe holds; what the writer holds beside it is bounded.
        target = "/" + "p" * 2000
        for _ in range(10_000):
            assert client.request("GET", target).status == 200
            sent += 1
    metrics = gateway.metrics()
    assert metrics("cutover_access_log_dropped_total") > 1
    data = b""
    gateway.process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            part = os.read(reader, 1 << 20)
        except BlockingIOError:
            time.sleep(0.01)
            continue
        if not part:
            break
        data += part
    os.close(reader)
    assert data.endswith(b"\n")
    assert all(json.loads(line)["path"] == target for line in data.splitlines())
    assert 1 < data.count(b"\n") < sent


def test_a_reader_that_never_reads_does_not_hold_up_the_end(make_gateway, legacy, new, scratch):
    pipe = scratch / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    gateway = make_gateway(legacy, new, config={"access_log": {"file": str(pipe)}})
    with gateway.connect() as client:
        for _ in range(500):
            client.request("GET", "/" + "p" * 1000)
    started = time.monotonic()
    assert gateway.stop() == 0
    assert time.monotonic() - started < 8
    os.close(reader)


def test_the_signal_is_harmless_where_there_is_no_log(gateway):
    gateway.process.send_signal(signal.SIGUSR1)
    time.sleep(0.2)
    assert gateway.get("/").status == 200
