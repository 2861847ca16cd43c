"""SIGHUP and `POST reload` take a new configuration, or change nothing at all (contract §3)."""

import json
import signal
import threading

import pytest

from support.backend import Backend, reply
from support.gateway import merged
from support.waiting import eventually, stays
from support.wire import request_bytes


@pytest.fixture(params=["signal", "api"])
def reload(request):
    """Asks a gateway to read its configuration again; says whether it did, where that can be known."""

    def by_signal(gateway):
        gateway.process.send_signal(signal.SIGHUP)

    def by_api(gateway):
        return gateway.admin("POST", "/api/v1/reload", {}, token=gateway.token())[0]

    return by_signal if request.param == "signal" else by_api


def write(gateway, extra):
    gateway.config = merged(gateway.config, extra)
    gateway.config_file.write_text(json.dumps(gateway.config))


def test_another_backend_is_taken_up(gateway, legacy, reload):
    another = Backend()
    with gateway.connect() as client:
        client.request("GET", "/", user="u")
        write(gateway, {"backends": {"legacy": {"url": another.url}}})
        assert reload(gateway) in (None, 200)
        eventually(lambda: client.request("GET", "/", user="u").status == 200 and another.requests, "the new address")
    another.stop()
    assert another.violations == [] and len(legacy.requests) >= 1


def test_routes_and_shadow_reads_are_taken_up(gateway, new, reload):
    write(gateway, {"routes": [{"match": "GET /here", "kind": "new"}], "shadow": {"percent": 100}})
    assert reload(gateway) in (None, 200)
    eventually(lambda: gateway.get("/here").backend == "new", "the route")
    new.forget()
    eventually(lambda: gateway.get("/", user="u").status == 200 and new.to("/"), "a shadow read")


def test_shadow_reads_stop_when_the_configuration_says_so(make_gateway, legacy, new, reload):
    gateway = make_gateway(legacy, new, config={"shadow": {"percent": 100}})
    gateway.get("/", user="u")
    eventually(lambda: new.requests, "a shadow read")
    write(gateway, {"shadow": {"percent": 0}})
    assert reload(gateway) in (None, 200)
    eventually(lambda: gateway.status()["rollout"]["shadow_percent"] == 0, "the share")
    new.forget()
    for _ in range(5):
        gateway.get("/", user="u")
    stays(lambda: new.begun == [], "no shadow read")


def test_a_wrong_configuration_changes_nothing(gateway, legacy, reload):
    gateway.set_percent(100)
    write(gateway, {"backends": {"legacy": {"url": "http://127.0.0.1:9"}}, "nonsense": 1})
    assert reload(gateway) in (None, 400, 409, 422)
    eventually(lambda: "nonsense" in gateway.log() or reload.__name__ == "by_api", "the error is logged")
    gateway.set_percent(0)
    assert gateway.get("/", user="u").backend == "legacy" and legacy.requests


def test_the_reload_says_what_is_wrong(gateway):
    write(gateway, {"nonsense": 1})
    status, problem, _ = gateway.admin("POST", "/api/v1/reload", {}, token=gateway.token())
    assert status in (400, 409, 422) and "nonsense" in json.dumps(problem)


def test_requests_under_way_are_not_disturbed(gateway, legacy, reload):
    release = threading.Event()
    legacy.answer = lambda request: [release, reply(b"whole")]
    with gateway.connect() as client:
        client.send(request_bytes("GET", "/"))
        eventually(lambda: legacy.requests, "the request arrives")
        write(gateway, {"shadow": {"percent": 1}})
        reload(gateway)
        eventually(lambda: gateway.status()["rollout"]["shadow_percent"] == 1, "the configuration")
        release.set()
        assert client.response().body == b"whole"


def test_the_percent_is_kept(gateway, reload):
    gateway.set_percent(33)
    write(gateway, {"shadow": {"percent": 1}})
    reload(gateway)
    eventually(lambda: gateway.status()["rollout"]["shadow_percent"] == 1, "the configuration")
    assert gateway.status()["rollout"]["percent"] == 33
