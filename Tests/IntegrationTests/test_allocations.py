"""Heap allocations per 1,000 requests against a kept number: the hot path must not grow fat unnoticed.

The kept numbers are in allocations.json. A measurement above them fails. When work on the hot path makes one much
smaller, write the smaller number down.
"""

import json
import pathlib
import struct
import subprocess

import pytest

from support.wire import request_bytes

HERE = pathlib.Path(__file__).parent
KEPT = json.loads((HERE / "allocations.json").read_text())
ROUNDS, REQUESTS = 5, 1000
CASES = {
    "get": ("GET", None, {}),
    "get_with_shadow": ("GET", None, {"shadow": {"percent": 100}}),
    "post_to_both": ("POST", b'{"text":"hello"}', {}),
}


@pytest.fixture
def counted(make_gateway, make_nginx, scratch):
    """Starts a gateway with one worker before two nginx; returns it and a function that reads its counter."""
    library, counter = scratch / "allocations.so", scratch / "counter"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "support/allocations.c"], check=True)
    counter.write_bytes(bytes(8))
    body = '{"id":1,"text":"hello"}'
    server = f"location / {{ default_type application/json; return 200 '{body}'; }}"
    legacy, new = make_nginx("legacy", server=server), make_nginx("new", server=server)

    def start(config):
        gateway = make_gateway(legacy, new, config={"workers": 1, **config}, environment={
            "LD_PRELOAD": str(library), "CUTOVER_ALLOCATIONS": str(counter)})
        return gateway, lambda: struct.unpack("<Q", counter.read_bytes())[0]

    return start


@pytest.mark.parametrize("name", CASES)
def test_allocations_per_1000_requests_stay_within_the_kept_number(counted, name):
    method, body, config = CASES[name]
    gateway, read = counted(config)
    data = request_bytes(method, "/x", body=body, user="u")
    with gateway.connect() as client:
        measured = []
        for _ in range(ROUNDS + 1):
            before = read()
            for _ in range(REQUESTS):
                client.send(data)
                assert client.response(method).status == 200
            measured.append(read() - before)
    # The first round warms buffers and pools up; a background thread may add to any single one.
    fewest = min(measured[1:])
    print(f"{name}: {fewest} allocations per {REQUESTS} requests, kept {KEPT[name]}")
    assert fewest <= KEPT[name]
