"""The admin listener with TLS: the API, the command line, the event stream."""

import json
import ssl
import subprocess

import pytest

from support.gateway import BINARY, cutover
from support.tls import Authority, TLSConnection, client_context
from support.waiting import eventually


@pytest.fixture(name="authority")
def make_authority(scratch):
    return Authority(scratch / "authority")


@pytest.fixture(name="make_secure")
def make_gateway_with_secure_admin(make_gateway, legacy, new, authority):
    def make(certificate=None, tls=None, listen="127.0.0.1:0"):
        files = {**authority.sign("127.0.0.1", "0.0.0.0", "localhost").files, **(tls or {})}
        gateway = make_gateway(legacy, new, start=False, config={"admin": {"listen": listen, "tls": files}})
        gateway.admin_context = client_context(authority, certificate)
        return gateway.start()

    return make


def test_the_api_is_encrypted_and_nothing_else_is_answered(make_secure):
    gateway = make_secure()
    assert "cutover: admin on https://127.0.0.1" in gateway.log()
    gateway.set_percent(25)
    assert gateway.status()["rollout"]["percent"] == 25
    assert gateway.metrics()("cutover_tls_handshakes_total", listener="admin") > 1
    context, gateway.admin_context = gateway.admin_context, None
    status, problem, _ = gateway.admin("GET", "/readyz")
    assert (status, problem["detail"]) == (400, "this address speaks TLS: write https")
    assert gateway.admin("POST", "/api/v1/rollout/percent", {"percent": 0}, token=gateway.token())[0] == 400
    gateway.admin_context = context
    assert gateway.status()["rollout"]["percent"] == 25


def test_the_command_line_is_told_whom_to_trust(make_secure, authority):
    gateway = make_secure()
    done = gateway.command("status", "--json", "--ca-file", authority.file)
    assert json.loads(done.stdout)["rollout"]["percent"] == 0
    done = cutover("set-percent", "5", "--admin", gateway.admin_url, CUTOVER_CA_FILE=str(authority.file),
                   CUTOVER_DATA=str(gateway.data))
    assert "5" in done.stdout and gateway.status()["rollout"]["percent"] == 5
    refused = gateway.command("status", check=False)
    assert refused.returncode == 1 and "--ca-file" in refused.stderr


def test_a_listener_off_loopback_needs_no_leave_with_tls(make_secure, scratch):
    gateway = make_secure(listen="0.0.0.0:0")
    gateway.admin_host = "127.0.0.1"
    assert gateway.admin("GET", "/readyz")[0] == 200
    plain = scratch / "plain.json"
    plain.write_text(json.dumps({**gateway.config, "admin": {"listen": "0.0.0.0:9900"}}))
    done = subprocess.run([BINARY, "check", plain], capture_output=True, text=True)
    assert done.returncode == 1 and "admin.tls" in done.stdout


def test_operators_may_have_to_show_a_certificate(make_secure, authority):
    own = authority.sign("operator")
    gateway = make_secure(own, tls={"client_ca_file": str(authority.file)})
    assert gateway.status()["rollout"]["percent"] == 0
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        with TLSConnection((gateway.admin_host, gateway.admin_port), client_context(authority)) as client:
            client.request("GET", "/readyz")
    assert gateway.metrics()("cutover_tls_failures_total", listener="admin", reason="certificate") == 1
    arguments = ["--ca-file", authority.file, "--cert-file", own.certificate, "--key-file", own.key]
    assert gateway.command("status", *arguments).returncode == 0
    assert gateway.command("status", "--ca-file", authority.file, check=False).returncode == 1
    assert gateway.command("status", "--cert-file", own.certificate, check=False).returncode == 2


def test_events_are_streamed(make_secure, authority):
    gateway = make_secure()
    with TLSConnection((gateway.admin_host, gateway.admin_port), client_context(authority)) as client:
        client.send(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.head().status == 200
        gateway.set_percent(40)
        seen = b""
        while b'"percent":40' not in seen.replace(b" ", b""):
            seen += client.reader.some()
    eventually(lambda: gateway.status()["rollout"]["percent"] == 40, "it goes on")
