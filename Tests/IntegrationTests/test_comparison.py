"""Which answers are equal: over the wire, and by the `hash` and `compare` commands (contract §7)."""

import gzip
import json
import zlib

import pytest

from support.backend import reply
from support.gateway import cutover
from support.waiting import eventually

EQUAL = {
    "key order and white space": (b'{"a":1,"b":[1,2]}', b' { "b" : [1 , 2] ,\n"a":1 } '),
    "number forms": (b'{"a":1000000.0}', b'{"a":1e6}'),
    "one": (b"[1, 1.0, 1e0]", b"[1.0, 1e0, 1]"),
    "escapes": ('{"a":"é/"}'.encode(), b'{"a":"\\u00e9\\/"}'),
    "surrogates": ('["😀"]'.encode(), b'["\\ud83d\\ude00"]'),
    "duplicate keys, the last counts": (b'{"a":1,"a":2}', b'{"a":2}'),
}
DIFFERENT = {
    "integers above 2^53": (b'{"a":9007199254740993}', b'{"a":9007199254740992}', ["/a"]),
    "array order": (b"[1,2]", b"[2,1]", ["/0", "/1"]),
    "null and absent": (b'{"a":null}', b"{}", ["/a"]),
    "number and string": (b'{"a":1}', b'{"a":"1"}', ["/a"]),
    "nested": (b'{"a":{"b~/":[{"c":1}]}}', b'{"a":{"b~/":[{"c":2}]}}', ["/a/b~0~1/0/c"]),
    "first of duplicate keys": (b'{"a":1,"a":2}', b'{"a":1}', ["/a"]),
}


@pytest.fixture
def judged(make_gateway, legacy, new):
    """Has two answers compared; the results and the mismatch list."""

    def judge(ours, theirs, **shadow):
        legacy.answer, new.answer = lambda request: ours, lambda request: theirs
        gateway = make_gateway(legacy, new, config={"shadow": {"percent": 100, "recheck_after": "20ms", **shadow}})
        assert gateway.get("/", user="u").status in (200, 404)
        counts = eventually(lambda: next((c for c in [tally(gateway)] if sum(c.values())), None), "a result")
        return {result for result, count in counts.items() if count}, gateway.read("mismatches")["items"]

    return judge


def tally(gateway):
    metrics = gateway.metrics()
    return {result: metrics("cutover_shadow_reads_total", result=result)
            for result in ("match", "mismatch", "transient", "dropped", "error")}


@pytest.mark.parametrize("name", EQUAL)
def test_forms_of_one_json_value_match(judged, name):
    ours, theirs = EQUAL[name]
    assert judged(reply(ours), reply(theirs))[0] == {"match"}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_json_values_do_not(judged, name):
    ours, theirs, paths = DIFFERENT[name]
    found, items = judged(reply(ours), reply(theirs))
    assert found == {"mismatch"} and sorted(items[0]["paths"]) == paths


ENCODED = {
    "gzip": (gzip.compress(b'{"a":[1,2]}'), "gzip", b'{"a":[1,2]}', "application/json"),
    "deflate": (zlib.compress(b'{"a":[1,2]}'), "deflate", b'{"a":[1,2]}', "application/json"),
    "br": (b"\x0b\x02\x80hello\x03", "br", b"hello", "text/plain"),
}


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("name", ENCODED)
def test_content_codings_do_not_count(judged, name, chunked):
    encoded, coding, plain, kind = ENCODED[name]
    ours = reply(encoded, headers=[("Content-Encoding", coding)], kind=kind, chunked=chunked)
    assert judged(ours, reply(plain, kind=kind))[0] == {"match"}


def test_what_cannot_be_decoded_is_an_error(judged):
    broken = reply(b"this is no gzip", headers=[("Content-Encoding", "gzip")])
    assert judged(broken, broken)[0] == {"error"}


def test_bytes_that_are_not_json_are_compared_as_bytes(judged):
    assert judged(reply(b"a b", kind="text/plain"), reply(b"a  b", kind="text/plain"))[0] == {"mismatch"}


def test_the_status_counts(judged):
    assert judged(reply(b"{}"), reply(b"{}", 404))[0] == {"mismatch"}


def test_the_listed_headers_count_and_no_others(judged):
    assert judged(reply(b"x", kind="text/plain"), reply(b"x", kind="text/html"))[0] == {"mismatch"}
    others = [reply(b"x", headers=[("Date", date), ("X-Node", date)]) for date in ("a", "b")]
    assert judged(*others)[0] == {"match"}
    assert judged(*others, headers=["x-node"])[0] == {"mismatch"}


def test_ignored_pointers_do_not_count_not_even_when_only_one_side_has_them(judged):
    ours = b'{"id":1,"serverTime":"now","items":[{"id":1,"etag":"x"},{"id":2}]}'
    theirs = b'{"id":1,"items":[{"id":1},{"id":2,"etag":"y"}]}'
    assert judged(reply(ours), reply(theirs), ignore=["/serverTime", "/items/*/etag"])[0] == {"match"}


def test_unordered_lists_do_not_count_order_but_multiplicity(judged):
    ours = reply(b'{"items":[{"a":1},{"a":2},{"a":2}]}')
    assert judged(ours, reply(b'{"items":[{"a":2},{"a":1},{"a":2}]}'), unordered=["/items"])[0] == {"match"}
    assert judged(ours, reply(b'{"items":[{"a":2},{"a":1},{"a":1}]}'), unordered=["/items"])[0] == {"mismatch"}


@pytest.fixture
def files(scratch):
    def write(*contents):
        paths = [scratch / f"{index}.json" for index in range(len(contents))]
        for path, content in zip(paths, contents):
            path.write_bytes(content)
        return paths

    return write


@pytest.mark.parametrize("name", EQUAL)
def test_the_hash_command_agrees(files, name):
    paths = files(*EQUAL[name])
    hashes = {line.split()[0] for line in cutover("hash", *paths).stdout.splitlines()}
    assert len(hashes) == 1 and len(hashes.pop()) == 32
    assert cutover("compare", *paths).returncode == 0


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_compare_command_names_the_paths(files, name):
    ours, theirs, expected = DIFFERENT[name]
    done = cutover("compare", *files(ours, theirs), check=False)
    assert done.returncode == 1
    assert all(path in done.stdout for path in expected)
    assert json.loads(cutover("compare", *files(ours, theirs), "--json", check=False).stdout)["paths"] == expected


def test_the_compare_command_takes_the_same_rules(files):
    paths = files(b'{"t":1,"l":[1,2]}', b'{"t":2,"l":[2,1]}')
    assert cutover("compare", *paths, check=False).returncode == 1
    assert cutover("compare", *paths, "--ignore", "/t", "--unordered", "/l").returncode == 0


def test_the_compare_command_reads_addresses(legacy, new):
    new.answer = lambda request: reply(b'{ "ok" : true }')
    assert cutover("compare", legacy.url + "/a", new.url + "/a").returncode == 0
