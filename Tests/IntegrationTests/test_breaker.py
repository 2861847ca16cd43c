"""What opens the breaker, and what closes it again (contract §5)."""

from support.waiting import eventually
from support.wire import request_bytes


def test_shadow_reads_alone_find_out_that_new_is_back(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={
        "workers": 1, "shadow": {"percent": 100},
        "fallback": {"breaker": {"min_requests": 5, "window": "1s", "open_for": "100ms"}}})
    new.stop()

    def is_open():
        assert gateway.get("/", user="u").status == 200
        return not gateway.status()["backends"]["new"]["healthy"]

    eventually(is_open, "the breaker opens", 5)
    new.start()

    def is_compared():
        assert gateway.get("/", user="u").status == 200
        return gateway.metrics()("cutover_shadow_reads_total", result="match") >= 3

    eventually(is_compared, "shadow reads resume", 4)
    assert gateway.status()["backends"]["new"]["healthy"]


def test_broken_uploads_of_clients_are_no_failures_of_the_backend(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, percent=100, config={
        "workers": 1, "routes": [{"match": "POST /up", "kind": "split"}], "fallback": {"breaker": {"min_requests": 5}}})
    for _ in range(12):
        with gateway.connect() as client:
            client.send(request_bytes("POST", "/up", [("Transfer-Encoding", "chunked")], user="u") + b"zz\r\n")
            assert client.response("POST").status == 400
    answer = gateway.get("/", user="u")
    assert (answer.backend, answer.why) == ("new", "in-percent")
    assert gateway.status()["backends"]["new"]["healthy"]
