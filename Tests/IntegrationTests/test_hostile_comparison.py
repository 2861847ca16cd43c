"""Answers that are small on their way and huge when they are compared, or made to be hard to read (contract §7).

The comparison is given up in time, costs a bounded memory, and no client waits for it.
"""

import ctypes
import gzip
import zlib

import pytest

from support.backend import reply
from support.hostile import Bystander, hits
from support.waiting import eventually

MEBIBYTE = 1 << 20
SHADOW = {"workers": 1, "shadow": {"percent": 100, "recheck_after": "50ms"}}
RESULTS = ("match", "mismatch", "transient", "dropped", "error", "skipped")


def deflated(size, wrapping):
    """So many zero bytes, packed without ever being held."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wrapping)
    block = bytes(MEBIBYTE)
    return b"".join(packer.compress(block) for _ in range(size // MEBIBYTE)) + packer.flush()


def brotli(data):
    """libbrotli's own encoder: it comes with the decoder that the gateway is built with."""
    library = ctypes.CDLL("libbrotlienc.so.1")
    size = ctypes.c_size_t(MEBIBYTE)
    out = ctypes.create_string_buffer(size.value)
    done = library.BrotliEncoderCompress(5, 24, 0, ctypes.c_size_t(len(data)), data, ctypes.byref(size), out)
    assert done == 1
    return out.raw[:size.value]


BOMBS = {
    "gzip, a thousand to one": ("gzip", lambda: deflated(20 * MEBIBYTE, 31)),
    "deflate, a thousand to one": ("deflate", lambda: deflated(20 * MEBIBYTE, 15)),
    "bare deflate, a thousand to one": ("deflate", lambda: deflated(20 * MEBIBYTE, -15)),
    "gzip of gzip": ("gzip, gzip", lambda: gzip.compress(deflated(50 * MEBIBYTE, 31))),
    "deflate in gzip": ("deflate, gzip", lambda: gzip.compress(deflated(50 * MEBIBYTE, 15))),
    "brotli, a million to one": ("br", lambda: brotli(bytes(32 * MEBIBYTE))),
    "brotli in gzip": ("br, gzip", lambda: gzip.compress(brotli(bytes(16 * MEBIBYTE)))),
    "gzip eight times": (", ".join(["gzip"] * 8), lambda: eight_times(deflated(20 * MEBIBYTE, 31))),
    "very many members": ("gzip", lambda: gzip.compress(b"") * 20_000 + deflated(5 * MEBIBYTE, 31)),
}


def eight_times(data):
    for _ in range(7):
        data = gzip.compress(data)
    return data


@pytest.mark.parametrize("side", ["legacy", "new"])
@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_more_than_is_compared_is_dropped(make_gateway, legacy, new, name, side):
    codings, make = BOMBS[name]
    bomb = make()
    packed = reply(bomb, headers=[("Content-Encoding", codings)])
    ordinary = reply(b'{"a":1}')
    legacy.answer = lambda request: packed if side == "legacy" and request.target == "/x" else ordinary
    new.answer = lambda request: packed if side == "new" and request.target == "/x" else ordinary
    gateway = make_gateway(legacy, new, config=SHADOW)
    assert gateway.get("/bystander", user="u").status == 200
    before = gateway.resident_bytes()
    bystander = Bystander(gateway)
    count = 10
    with gateway.connect() as client:
        for _ in range(count):
            answer = client.request("GET", "/x", user="u")
            assert answer.status == 200 and answer.body == (bomb if side == "legacy" else b'{"a":1}')
    eventually(lambda: results(gateway, "dropped") == count, "the comparisons are given up", 10)
    bystander.finish()
    assert hits(gateway, "shadow_body") == count
    assert gateway.resident_bytes() - before < 32 * MEBIBYTE
    assert gateway.metrics()("cutover_shadow_in_flight") == 0


def results(gateway, result):
    return gateway.metrics()("cutover_shadow_reads_total", result=result)


def nearly(count, make):
    """As many items as fit into what is compared."""
    return b"[" + b",".join(make(number) for number in range(count)) + b"]"


JSON = {
    "100,000 arrays deep": b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "never closed": b"[" * 500_000,
    "very many empty arrays": nearly(340_000, lambda _: b"[]"),
    "very many empty objects": nearly(340_000, lambda _: b"{}"),
    "one number of a megabyte": b"1" * 1_000_000,
    "a fraction of a megabyte": b"0." + b"1" * 1_000_000,
    "an exponent of a megabyte": b"1e" + b"9" * 1_000_000,
    "zeros of a megabyte": b"[1" + b"0" * 1_000_000 + b"]",
    "one key very often": b"{" + b",".join([b'"a":1'] * 170_000) + b"}",
    "very many keys, backwards": b"{" + b",".join(b'"%06d":0' % (90_000 - n) for n in range(90_000)) + b"}",
    "one escape after the other": b'"' + b"\\u0061" * 170_000 + b'"',
    "surrogates alone": b'"' + b"\\ud800" * 170_000 + b'"',
    "commas": b"[" + b"," * 1_000_000 + b"]",
    "quotes": b'"' * 1_000_000,
}


@pytest.mark.parametrize("name", JSON)
def test_json_that_is_made_to_be_hard_to_read_is_compared_in_time(make_gateway, legacy, new, name):
    """Its length says what it costs. The two differ by a blank, so that their bytes do not decide."""
    document = JSON[name]
    assert len(document) < MEBIBYTE
    ordinary = reply(b'{"a":1}')
    first, second = reply(document), reply(b" " + document)
    legacy.answer = lambda request: first if request.target == "/x" else ordinary
    new.answer = lambda request: second if request.target == "/x" else ordinary
    gateway = make_gateway(legacy, new, config=SHADOW)
    assert gateway.get("/bystander", user="u").status == 200
    before = gateway.resident_bytes()
    bystander = Bystander(gateway)
    with gateway.connect() as client:
        for _ in range(3):
            assert client.request("GET", "/x", user="u").body == document
        eventually(lambda: sum(results(gateway, result) for result in RESULTS) >= 4, "they are compared", 10)
    bystander.finish()
    print(f"others waited {bystander.longest * 1000:.0f} ms at most")
    assert gateway.resident_bytes() - before < 64 * MEBIBYTE
