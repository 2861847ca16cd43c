"""Heap allocations of a gateway: a library that counts them is loaded before it."""

import json
import pathlib
import struct
import subprocess

from .wire import request_bytes

HERE = pathlib.Path(__file__).parent
KEPT = json.loads((HERE.parent / "allocations.json").read_text())
ROUNDS, REQUESTS = 5, 1000
CASES = {
    "get": ("GET", None, {}),
    "get_with_shadow": ("GET", None, {"shadow": {"percent": 100}}),
    "post_to_both": ("POST", b'{"text":"hello"}', {}),
}
# What the backends of these cases do with each request.
SERVER = """location / { default_type application/json; return 200 '{"id":1,"text":"hello"}'; }"""


class Counter:
    """The library, and the counter that it maps: a gateway is started in `environment`."""

    def __init__(self, directory):
        library, self.file = directory / "allocations.so", directory / "counter"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "allocations.c"], check=True)
        self.file.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "CUTOVER_ALLOCATIONS": str(self.file)}

    def read(self):
        return struct.unpack("<Q", self.file.read_bytes())[0]


def configuration(name):
    return {"workers": 1, **CASES[name][2]}


def fewest_per_1000_requests(name, gateway, counter):
    """The fewest of several rounds of this case: a background thread may add to any single one."""
    method, body, _ = CASES[name]
    data = request_bytes(method, "/x", body=body, user="u")
    with gateway.connect() as client:
        measured = []
        for _ in range(ROUNDS + 1):
            before = counter.read()
            for _ in range(REQUESTS):
                client.send(data)
                assert client.response(method).status == 200
            measured.append(counter.read() - before)
    # The first round warms buffers and pools up.
    return min(measured[1:])
