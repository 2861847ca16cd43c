"""Random frames: whatever a client of HTTP/2 sends, the gateway serves the others. CUTOVER_SEED repeats a run."""

import os
import random
import struct
import time

from support import http2
from support.backend import reply
from support.torture import seed
from support.waiting import eventually

# `make fuzz` raises it.
CONNECTIONS = int(os.environ.get("CUTOVER_FUZZ_CONNECTIONS", "1500"))
KINDS = ("headers", "headers", "data", "data", "window", "reset", "settings", "any", "noise")


def random_frame(client, chance):
    """Mostly of the right form, so that it gets far."""
    stream = chance.choice([0, 1, 1, 3, 5, 7, 2, 9])
    match chance.choice(KINDS):
        case "headers":
            extra = chance.choice([[], [("content-length", "5")], [("x", "y" * chance.randrange(300))]])
            method, path = chance.choice(["GET", "POST", "HEAD", "PUT"]), chance.choice(["/", "/a", "/b?c"])
            fields = client.encoder.encode(client.fields(method, path, extra=extra))
            number, client.next_stream = client.next_stream, client.next_stream + 2
            return http2.frame(http2.HEADERS, chance.choice([4, 5, 5, 5, 1, 0]), number, fields)
        case "data":
            body = chance.randbytes(chance.choice([0, 1, 5, 100, 16_384]))
            return http2.frame(http2.DATA, chance.choice([0, 1]), chance.choice([1, 3, 5, 7]), body)
        case "window":
            step = chance.choice([0, 1, 65_535, 0x7fffffff])
            return http2.frame(http2.WINDOW_UPDATE, 0, stream, struct.pack(">I", step))
        case "reset":
            return http2.frame(http2.RST_STREAM, 0, chance.choice([1, 3, 5]), struct.pack(">I", chance.randrange(14)))
        case "settings":
            pair = struct.pack(">HI", chance.randrange(1, 10), chance.choice([0, 1, 100, 65_535, 1 << 24]))
            return http2.frame(http2.SETTINGS, 0, 0, pair)
        case "any":
            body = chance.randbytes(chance.randrange(40))
            return http2.frame(chance.randrange(14), chance.randrange(256), stream, body)
        case _:
            return chance.randbytes(chance.randrange(50))


def talk(gateway, chance):
    """One connection: frames in pieces of any size, some with bytes changed, sometimes a look at what comes back."""
    with http2.Client(gateway, takes=chance.random() < 0.5) as client:
        data = bytearray(b"".join(random_frame(client, chance) for _ in range(chance.randrange(1, 25))))
        if data and chance.random() < 0.3:
            for _ in range(chance.randrange(1, 6)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        place = 0
        try:
            while place < len(data):
                end = place + chance.choice([1, 7, 100, 100_000])
                client.send(data[place:end])
                place = end
            until = time.monotonic() + chance.choice([0, 0.005, 0.02])
            while time.monotonic() < until and not client.is_closed:
                client.socket.settimeout(0.01)
                client.is_closed = not client.socket.recv(65_536)
        except OSError:
            pass


def test_random_frames_hurt_nobody_else_and_leave_nothing_behind(make_gateway, legacy, new):
    number = seed()
    print(f"CUTOVER_SEED={number}")
    chance = random.Random(number)
    legacy.answer = lambda request: reply(b"x" * random.choice([0, 1, 1000, 70_000]))
    gateway = make_gateway(legacy, new, config={
        "listen": [{"address": "127.0.0.1:0", "http2": True}], "shadow": {"percent": 100}, "timeouts": {"body": "10m"}})
    with http2.Client(gateway) as bystander:
        for count in range(CONNECTIONS):
            talk(gateway, chance)
            if count % 100 == 0:
                assert bystander.request(path="/by").status == 200
    eventually(lambda: gateway.metrics()("cutover_client_connections") == 0, "everybody is gone")
    eventually(lambda: gateway.metrics()("cutover_requests_in_flight") == 0, "nothing is under way")
    assert gateway.stop() == 0
