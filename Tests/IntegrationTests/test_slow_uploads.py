"""Bodies that stop arriving while they are streamed to a backend (contract §8)."""

import pytest

from support.wire import request_bytes


@pytest.mark.parametrize("sent", [
    request_bytes("POST", "/up", [("Content-Length", "10")], user="u") + b"abc",
    request_bytes("POST", "/up", [("Transfer-Encoding", "chunked")], user="u") + b"5\r\nabc",
], ids=["length", "chunked"])
def test_a_streamed_body_that_stops_arriving_gets_408(make_gateway, legacy, new, sent):
    gateway = make_gateway(legacy, new, config={
        "workers": 1, "timeouts": {"body": "200ms"}, "routes": [{"match": "POST /up", "kind": "split"}]})
    with gateway.connect() as client:
        client.send(sent)
        answer = client.response("POST")
        assert answer.status == 408 and answer["Content-Type"] == "application/problem+json"
        assert client.is_closed_by_peer()
    assert legacy.requests == [] and gateway.status()["backends"]["legacy"]["healthy"]
