"""Comparisons of answers that are unlike an ordinary 200 (contract §7)."""

import gzip
import zlib

import pytest

from support.backend import reply
from support.waiting import eventually

SHADOW = {"workers": 1, "shadow": {"percent": 100, "recheck_after": "50ms"}}


def shadow_results(gateway):
    """The shadow reads of a gateway by their result, once there is one."""

    def found():
        metrics = gateway.metrics()
        counts = {result: metrics("cutover_shadow_reads_total", result=result)
                  for result in ("match", "mismatch", "transient", "dropped", "error")}
        return {result: count for result, count in counts.items() if count}

    return eventually(found, "a shadow read is over", 5)


@pytest.mark.parametrize("percent", [0, 100])
def test_what_neither_side_has_is_a_match(make_gateway, legacy, new, percent):
    legacy.answer = new.answer = lambda request: reply(b'{"title":"absent"}', 404)
    gateway = make_gateway(legacy, new, percent=percent, config=SHADOW)
    assert gateway.get("/", user="u").status == 404
    assert shadow_results(gateway) == {"match": 1}


CONTENT = b'{"a":[1,2,3]}'
CODED = {
    "gzip, gzip": gzip.compress(gzip.compress(CONTENT)),
    "deflate, gzip": gzip.compress(zlib.compress(CONTENT)),
}


@pytest.mark.parametrize("codings", CODED)
def test_content_codings_in_several_lines_are_all_undone(make_gateway, legacy, new, codings):
    lines = [("Content-Encoding", coding) for coding in codings.split(", ")]
    legacy.answer = lambda request: reply(CODED[codings], headers=lines)
    new.answer = lambda request: reply(CONTENT)
    gateway = make_gateway(legacy, new, config=SHADOW)
    answer = gateway.get("/", user="u")
    assert answer.body == CODED[codings] and answer.headers.all("Content-Encoding") == codings.split(", ")
    assert shadow_results(gateway) == {"match": 1}
