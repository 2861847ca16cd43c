"""Certificates and keys are read again by a reload; what is wrong refuses it, and `check` says so before."""

import json
import math
import signal
import ssl
import subprocess

import pytest

from support.gateway import cutover, merged
from support.tls import Authority, TLSBackend, TLSConnection, client_context
from support.waiting import eventually


@pytest.fixture(name="authority")
def make_authority(scratch):
    return Authority(scratch / "authority")


@pytest.fixture(params=["signal", "api"])
def reload(request):
    def by_signal(gateway):
        lines = gateway.log().count("reload")
        gateway.process.send_signal(signal.SIGHUP)
        eventually(lambda: gateway.log().count("reload") > lines, "the reload is over")
        return "reload refused" not in gateway.log().splitlines()[-1] and "nothing was changed" not in gateway.log()

    def by_api(gateway):
        return gateway.admin("POST", "/api/v1/reload", {}, token=gateway.token())[0] == 200

    return by_signal if request.param == "signal" else by_api


def write(gateway, extra):
    gateway.config = merged(gateway.config, extra)
    gateway.config_file.write_text(json.dumps(gateway.config))


def shown(gateway, authority):
    """The names of the certificate that a new connection is shown."""
    context = client_context(authority)
    context.check_hostname = False
    with TLSConnection(gateway.address, context) as client:
        assert client.request("GET", "/").status == 200
        return client.names


@pytest.fixture(name="own")
def make_own_certificate(authority):
    return authority.sign("localhost", "old.test")


@pytest.fixture(name="secure")
def make_secure_gateway(make_gateway, legacy, new, own):
    return make_gateway(legacy, new, config={"listen": [{"address": "127.0.0.1:0", "tls": own.files}]})


def test_a_renewed_certificate_is_shown_and_connections_stay(secure, authority, own, reload):
    with TLSConnection(secure.address, client_context(authority)) as client:
        assert client.request("GET", "/").status == 200
        own.replace(authority.sign("localhost", "new.test"))
        assert shown(secure, authority) == ["localhost", "old.test"]
        assert reload(secure)
        assert shown(secure, authority) == ["localhost", "new.test"]
        assert client.request("GET", "/").status == 200 and client.names == ["localhost", "old.test"]


def test_sessions_outlive_a_reload_that_finds_the_same_files(secure, authority, reload):
    context = client_context(authority)
    with TLSConnection(secure.address, context) as client:
        assert client.request("GET", "/").status == 200
        session = client.socket.session
    assert reload(secure)
    with TLSConnection(secure.address, context, session=session) as client:
        assert client.socket.session_reused


def test_another_file_is_taken_up(secure, authority, reload):
    write(secure, {"listen": [{"address": "127.0.0.1:0", "tls": authority.sign("localhost", "other.test").files}]})
    assert reload(secure)
    assert shown(secure, authority) == ["localhost", "other.test"]


def ends(gateway):
    """When each certificate that is shown ends, by listener and name."""
    series = gateway.metrics().series
    found = {(dict(labels)["listener"], dict(labels)["server_name"]): value for (name, labels), value in series.items()
             if name == "cutover_tls_certificate_expiry_timestamp_seconds"}
    return {where: value for where, value in found.items() if not math.isnan(value)}


def not_after(certificate):
    text = subprocess.run(["openssl", "x509", "-noout", "-enddate", "-in", certificate.certificate],
                          capture_output=True, text=True, check=True).stdout
    return ssl.cert_time_to_seconds(text.strip().partition("=")[2])


def test_the_end_of_each_certificate_is_a_metric_from_the_first_scrape(make_gateway, legacy, new, authority, reload):
    own, other = authority.sign("a.test", "z.test"), authority.sign("b.test", days=9)
    soon = authority.sign("b.test", days=3)
    listener = {"address": "127.0.0.1:0", "tls": {**own.files, "certificates": [other.files, soon.files]}}
    gateway = make_gateway(legacy, new, config={"listen": [listener]})
    # Of two with the same name the one that ends first; a listener without TLS has none.
    assert ends(gateway) == {("client", "a.test"): not_after(own), ("client", "b.test"): not_after(soon)}
    assert math.isnan(gateway.metrics()("cutover_tls_certificate_expiry_timestamp_seconds", listener="admin"))
    own.replace(authority.sign("c.test", days=20))
    assert ("client", "a.test") in ends(gateway), "what is shown, not what is in the file"
    assert reload(gateway)
    assert ends(gateway)["client", "c.test"] == not_after(own) and ("client", "a.test") not in ends(gateway)


WRONG = {
    "a key of another certificate": lambda own, other: own.key.write_bytes(other.key.read_bytes()),
    "no key": lambda own, other: own.key.write_text("nonsense"),
    "no certificate": lambda own, other: own.certificate.write_text("nonsense"),
    "no file": lambda own, other: own.certificate.unlink(),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_files_change_nothing(secure, authority, own, reload, wrong):
    WRONG[wrong](own, authority.sign("localhost", "new.test"))
    write(secure, {"shadow": {"percent": 50}})
    assert not reload(secure)
    assert shown(secure, authority) == ["localhost", "old.test"]
    assert secure.status()["rollout"]["shadow_percent"] == 0


def test_the_refusal_names_the_file_and_the_reason(secure, authority, own):
    own.key.write_bytes(authority.sign("x").key.read_bytes())
    status, problem, _ = secure.admin("POST", "/api/v1/reload", {}, token=secure.token())
    assert status in (400, 409, 422)
    assert "listen[0].tls.key_file" in str(problem) and "not the key of the certificate" in str(problem)
    assert str(own.key) in str(problem) and "BEGIN" not in str(problem)


def test_turning_tls_off_takes_a_restart(secure, reload):
    write(secure, {"listen": "127.0.0.1:0"})
    assert not reload(secure)


def test_an_expired_certificate_is_a_warning(secure, authority, own):
    own.replace(authority.sign("localhost", days=-1))
    done = cutover("check", secure.config_file)
    assert "warning" in done.stdout and "an expired certificate" in done.stdout
    assert secure.admin("POST", "/api/v1/reload", {}, token=secure.token())[0] == 200


def test_an_expired_certificate_is_in_the_log_of_a_reload_by_signal(secure, authority, own):
    own.replace(authority.sign("localhost", days=-1))
    secure.process.send_signal(signal.SIGHUP)
    eventually(lambda: "an expired certificate" in secure.log(), "the log says so")
    assert "configuration reloaded" in secure.log()


def test_the_admin_listener_shows_its_renewed_certificate(make_gateway, legacy, new, authority, own, reload):
    gateway = make_gateway(legacy, new, start=False, config={"admin": {"listen": "127.0.0.1:0", "tls": own.files}})
    gateway.admin_context = client_context(authority)
    gateway.admin_context.check_hostname = False
    gateway.start()
    own.replace(authority.sign("localhost", "new.test"))
    assert reload(gateway)
    context = client_context(authority)
    with TLSConnection((gateway.admin_host, gateway.admin_port), context) as client:
        assert client.names == ["localhost", "new.test"]


def test_a_backends_authority_is_read_again(make_gateway, legacy, authority, scratch, reload):
    other = Authority(scratch / "other", "other")
    trusted = scratch / "trusted.pem"
    trusted.write_bytes(other.file.read_bytes())
    new = TLSBackend(authority.sign("localhost"))
    gateway = make_gateway(
        legacy, new, percent=100, config={"backends": {"new": {"url": new.url, "tls": {"ca_file": str(trusted)}}}})
    assert gateway.get("/", user="u").backend == "legacy"
    trusted.write_bytes(authority.file.read_bytes())
    assert reload(gateway)
    eventually(lambda: gateway.get("/", user="u").backend == "new", "it is trusted")
    new.stop()


def check(gateway, extra):
    """What `check` says of the gateway's configuration with changes."""
    path = gateway.directory / "other.json"
    path.write_text(json.dumps(merged(gateway.config, extra), indent=1))
    return cutover("check", path, check=False)


def test_check_names_every_file_that_is_wrong(secure, authority, scratch):
    good, other = authority.sign("localhost"), authority.sign("localhost")
    gone = str(scratch / "gone.pem")
    done = check(secure, {
        "listen": [{"address": "127.0.0.1:0", "tls": {
            "certificates": [{"certificate_file": str(good.certificate), "key_file": str(other.key)}],
            "client_ca_file": gone}}],
        "admin": {"tls": {"certificate_file": gone, "key_file": str(good.key)}},
        "backends": {"new": {"url": "https://localhost:1", "tls": {"ca_file": gone}}},
    })
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert any("listen[0].tls.certificates[0].key_file: not the key of the certificate" in line for line in lines)
    for key in ("listen[0].tls.client_ca_file", "admin.tls.certificate_file", "backends.new.tls.ca_file"):
        message = f"{key}: cannot be read (No such file or directory) \"{gone}\""
        assert any(message in line for line in lines), (key, lines)


def test_serve_refuses_what_check_refuses(secure):
    write(secure, {"listen": [{"address": "127.0.0.1:0", "tls": {"certificate_file": "/dev/null", "key_file": "x"}}]})
    done = cutover("serve", "--config", secure.config_file, check=False)
    assert done.returncode == 1 and "listen[0].tls.certificate_file" in done.stderr


def test_a_key_with_a_passphrase_is_refused_without_asking(secure, own, authority):
    locked = own.key.with_suffix(".locked")
    subprocess.run(["openssl", "ec", "-in", own.key, "-aes128", "-passout", "pass:secret", "-out", locked], check=True,
                   capture_output=True)
    done = check(secure, {"listen": [{"address": "127.0.0.1:0", "tls": {
        "certificate_file": str(own.certificate), "key_file": str(locked)}}]})
    assert done.returncode == 1 and "without a passphrase" in done.stdout
