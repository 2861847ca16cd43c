"""Who is the user, and which side serves them (contract §5 and §11)."""

import json
import pathlib

import pytest

from support.gateway import cutover, quoted
from support.parallel import in_parallel
from support.wire import basic

VECTORS = json.loads((pathlib.Path(__file__).parent / "bucketing.json").read_text())
USERS = [f"user-{index}" for index in range(200)]
SOURCES = {
    "header": ({"header": "X-Account"}, "/", [("X-Account", "ann b")]),
    "cookie": ({"cookie": "uid"}, "/", [("Cookie", "a=1; uid=ann b; z=2")]),
    "second cookie line": ({"cookie": "uid"}, "/", [("Cookie", "a=1"), ("Cookie", "uid=ann b")]),
    "query": ({"query": "user_id"}, "/x?a=1&user_id=ann%20b&b=2", []),
    "path": ({"path": "/users/{user_id}/**"}, "/users/ann%20b/notes/1", []),
    "path without rest": ({"path": "/users/{user_id}/**"}, "/users/ann%20b", []),
    "basic": ({"basic": True}, "/", [("Authorization", basic("ann b", "p:w"))]),
}


def new_side(gateway, users):
    """The users whom new serves."""
    answers = in_parallel(lambda user: gateway.get("/", user=user), users)
    assert all(answer.status == 200 for answer in answers)
    return {user for user, answer in zip(users, answers) if answer.backend == "new"}


@pytest.mark.parametrize("name", SOURCES)
def test_the_user_is_found_in(make_gateway, legacy, new, name):
    source, target, headers = SOURCES[name]
    gateway = make_gateway(legacy, new, config={"user": {"from": [source]}})
    gateway.pin("ann b", "new")
    answer = gateway.get(target, headers=headers)
    assert (answer.backend, answer.why) == ("new", "pinned-new")
    assert new.requests[0].target == target
    assert gateway.get("/").why == "anonymous"


def test_the_first_source_that_yields_an_id_wins(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"user": {"from": [{"header": "X-User-Id"}, {"cookie": "uid"}]}})
    gateway.pin("first", "new")
    gateway.pin("second", "legacy")
    cookie = [("Cookie", "uid=second")]
    assert gateway.get("/", user="first", headers=cookie).why == "pinned-new"
    assert gateway.get("/", headers=cookie).why == "pinned-legacy"
    assert gateway.get("/", user="  ", headers=cookie).why == "pinned-legacy"


def test_an_empty_id_is_anonymous(gateway):
    gateway.set_percent(100)
    for user in (None, "", "   "):
        answer = gateway.get("/", user=user)
        assert (answer.backend, answer.why) == ("legacy", "anonymous")


def test_anonymous_requests_can_be_split_by_a_header(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, percent=100, config={"user": {"anonymous": "hash:X-Device"}})
    assert gateway.get("/", headers=[("X-Device", "d1")]).backend == "new"
    assert gateway.get("/").backend == "legacy"


def test_0_admits_nobody_and_100_everybody(gateway):
    assert new_side(gateway, USERS) == set()
    gateway.set_percent(100)
    assert new_side(gateway, USERS) == set(USERS)
    assert gateway.get("/", user="u").why == "in-percent"
    gateway.set_percent(0)
    assert gateway.get("/", user="u").why == "outside-percent"


def test_the_same_user_never_flips(gateway):
    gateway.set_percent(50)
    first = new_side(gateway, USERS)
    assert 60 < len(first) < 140
    for _ in range(3):
        assert new_side(gateway, USERS) == first
    gateway.restart()
    assert new_side(gateway, USERS) == first


def test_raising_only_adds_and_lowering_removes_exactly_those(gateway):
    sides = {}
    for percent in (10, 25, 50, 75, 50, 25, 10):
        gateway.set_percent(percent)
        found = new_side(gateway, USERS)
        assert sides.setdefault(percent, found) == found
    assert sides[10] < sides[25] < sides[50] < sides[75]


@pytest.mark.parametrize("algorithm", ["murmur3", "unleash", "launchdarkly", "growthbook", "flagd", "nginx"])
def test_the_gateway_splits_as_the_bucket_command_says(make_gateway, legacy, new, algorithm):
    gateway = make_gateway(legacy, new, percent=37, config={"user": {"algorithm": algorithm, "salt": "my-salt"}})
    users = USERS[:60]
    printed = cutover("bucket", *users, "--algorithm", algorithm, "--salt", "my-salt", "--json").stdout
    needed = {row["user"]: row["percent_needed"] for row in map(json.loads, printed.splitlines())}
    assert new_side(gateway, users) == {user for user in users if needed[user] <= 37}
    for user in users[:5]:
        assert gateway.read(f"users/{user}")["percent_needed"] == pytest.approx(needed[user])


@pytest.mark.parametrize("vector", VECTORS["users"], ids=lambda v: f"{v['algorithm']}-{v['salt']}-{v['user']}")
def test_buckets_agree_with_other_systems(vector):
    arguments = ["bucket", "--algorithm", vector["algorithm"], "--salt", vector["salt"], "--json", "--", vector["user"]]
    row = json.loads(cutover(*arguments).stdout)
    assert row["user"] == vector["user"] and row["algorithm"] == vector["algorithm"]
    if "position" in vector:
        assert row["bucket"] == vector["position"]
    assert all(row["percent_needed"] > percent for percent in vector.get("refused", []))
    assert all(row["percent_needed"] <= percent for percent in vector.get("admitted", []))


def test_pins_win_over_the_percent_until_they_are_removed(gateway):
    gateway.pin("a", "new")
    assert (gateway.get("/", user="a").backend, gateway.get("/", user="a").why) == ("new", "pinned-new")
    gateway.set_percent(100)
    gateway.pin("a", "legacy")
    assert (gateway.get("/", user="a").backend, gateway.get("/", user="a").why) == ("legacy", "pinned-legacy")
    gateway.restart()
    assert gateway.get("/", user="a").why == "pinned-legacy"
    gateway.change("DELETE", "users/a/pin")
    assert gateway.get("/", user="a").why == "in-percent"


def test_explain_says_what_the_answers_say(gateway):
    gateway.set_percent(50)
    gateway.pin("ünï/ö", "new")
    for user in ["ünï/ö", *USERS[:10]]:
        facts = gateway.read("users/" + quoted(user))
        answer = gateway.get("/", headers=[("X-User-Id", user.encode().decode("latin-1"))])
        assert (facts["side"], facts["reason"]) == (answer.backend, answer.why)
        assert facts["user"] == user and 0 <= facts["bucket"] < 10000
        assert {"percent_needed", "pin", "since"} <= facts.keys()
        assert json.loads(gateway.command("explain", user, "--json").stdout)["reason"] == answer.why


@pytest.mark.parametrize(("kind", "method", "backend"), [
    ("legacy", "GET", "legacy"), ("new", "GET", "new"), ("legacy", "POST", "legacy"), ("new", "POST", "new"),
    ("split", "POST", "new"),
])
def test_a_route_can_name_its_backend(make_gateway, legacy, new, kind, method, backend):
    gateway = make_gateway(legacy, new, config={"routes": [{"match": "* /login", "kind": kind}]})
    gateway.pin("u", "new")
    body = b"x" if method == "POST" else None
    assert gateway.fetch(method, "/login", body=body, user="u").backend == backend
    assert len(legacy.begun + new.begun) == 1


def test_the_first_route_that_matches_wins(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"routes": [
        {"match": "GET /a/{name}", "kind": "new"}, {"match": "* /a/**", "kind": "legacy"}]})
    assert gateway.get("/a/b").backend == "new"
    assert gateway.get("/a/b/c").backend == "legacy"
    assert gateway.get("/a").backend == "legacy"


def test_a_method_that_is_not_safe_can_be_a_read(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"routes": [{"match": "PROPFIND /**", "kind": "read"}]})
    assert gateway.fetch("PROPFIND", "/dir/", headers=[("Depth", "1")], body=b"<propfind/>", user="u").status == 200
    assert legacy.requests[0].body == b"<propfind/>"
    assert new.begun == []
