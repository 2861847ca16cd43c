"""Every request is counted, those that never became one included (contract §10)."""

import pytest

from support.backend import HANG
from support.waiting import eventually
from support.wire import request_bytes


def requests(gateway, **labels):
    return sum(gateway.metrics().matching("cutover_requests_total", **labels))


@pytest.mark.parametrize("data", [
    b"GET / HTTP/1.1\r\nHost: example.test\r\nBad Header: 1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: example.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"nonsense\r\n\r\n",
], ids=["header", "framing", "nonsense"])
def test_a_request_that_is_malformed_is_counted_as_of_no_kind(gateway, data):
    with gateway.connect() as client:
        client.send(data)
        assert client.response().status == 400
    eventually(lambda: requests(gateway, kind="none", code="400") == 1, "it is counted", 3)
    assert requests(gateway) == 1


def test_a_client_that_leaves_before_its_answer_is_counted_as_499(gateway, legacy):
    legacy.answer = lambda request: [HANG]
    client = gateway.connect()
    client.send(request_bytes("GET", "/", user="u"))
    eventually(lambda: legacy.requests, "the request arrives")
    client.close()
    eventually(lambda: requests(gateway, code="499") == 1, "it is counted", 3)
    assert requests(gateway, kind="read", code="499") == requests(gateway) == 1
