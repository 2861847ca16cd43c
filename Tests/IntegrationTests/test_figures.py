"""The figures against an independent count: what the backends did and what the clients saw (contract §10)."""

import collections
import math
import time

import pytest

from support.backend import CLOSE, HANG, reply
from support.parallel import in_parallel
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually
from support.wire import Truncated, request_bytes

# Long enough that no ordinary answer takes it on a busy machine; the breaker keeps out of the way.
TIMEOUT_SECONDS = 3
BREAKER = {"min_requests": 1_000_000}
CONFIG = {
    "backends": {"legacy": {"timeout": f"{TIMEOUT_SECONDS}s"}, "new": {"timeout": f"{TIMEOUT_SECONDS}s"}},
    "fallback": {"breaker": BREAKER},
}
USERS = [f"user{number}" for number in range(24)]
ANSWERS = {
    "ok": lambda: reply(),
    "5xx": lambda: reply(b"broken", 503),
    "404": lambda: reply(b"absent", 404),
    "hang": lambda: [HANG],
    "broken": lambda: [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart", CLOSE],
    "nonsense": lambda: [b"nonsense\r\n\r\n", CLOSE],
}
FAILURES = {"5xx", "hang", "broken", "nonsense"}


class Seen:
    """What a client saw of one request."""

    def __init__(self, user, target):
        self.user, self.target, self.status, self.why, self.is_own, self.is_broken = user, target, 0, "", False, False

    @property
    def is_error(self):
        return self.status >= 500 or self.is_broken

    @property
    def fallback(self):
        """The reason of a fallback that legacy answered; one that nobody answered is none."""
        return self.why.removeprefix("fallback-") if self.why.startswith("fallback-") and not self.is_own else None


def ask(gateway, user, target, method="GET", body=None):
    seen = Seen(user, target)
    with gateway.connect() as client:
        client.send(request_bytes(method, target, body=body, user=user))
        answer = client.head()
        seen.status, seen.why = answer.status, answer["Cutover-Reason"] or ""
        seen.is_own = answer["Content-Type"] == "application/problem+json"
        try:
            client.reader.exactly(int(answer["Content-Length"]))
        except Truncated:
            seen.is_broken = True
    return seen


def behave(backend, place):
    """Has a backend answer a target `/LEGACY/NEW/n` as its own word of it says."""
    backend.answer = lambda request: ANSWERS[request.target.split("/")[place]]()


def sides(gateway, users):
    return {user: gateway.read(f"users/{user}")["side"] for user in users}


def ratio(part, whole):
    return {"value": part / whole if whole else None, "samples": whole}


def told(figures, name, *keys):
    """A figure of `status` without what a gate says about it."""
    found = figures[name]
    for key in keys:
        found = found[key]
    return {"value": found["value"], "samples": found["samples"]}


def by_reason(figures):
    """The fallbacks by reason; every reason is there."""
    found = figures["fallback_rate"]["by_reason"]
    assert {"connect", "timeout", "5xx", "404"} <= found.keys()
    return collections.Counter({reason: count for reason, count in found.items() if count})


class Count:
    """Numbers by backend: all, and those that failed."""

    def __init__(self):
        self.all, self.failed = collections.Counter(), collections.Counter()

    def add(self, backend, is_failed):
        self.all[backend] += 1
        self.failed[backend] += is_failed

    def ratio(self, *backends):
        return ratio(sum(self.failed[b] for b in backends), sum(self.all[b] for b in backends))


MIX = [
    ("ok", "ok"), ("ok", "5xx"), ("5xx", "ok"), ("ok", "404"), ("404", "404"), ("ok", "broken"), ("broken", "5xx"),
    ("ok", "nonsense"), ("nonsense", "ok"), ("5xx", "5xx"), ("404", "ok")]
SLOW = [("ok", "hang"), ("hang", "ok"), ("hang", "5xx")]


@pytest.mark.parametrize("causes", [["connect", "timeout", "5xx", "404"], []], ids=["fallback", "no fallback"])
def test_reads_are_told_as_backends_and_clients_count_them(make_gateway, legacy, new, causes):
    gateway = make_gateway(
        legacy, new, percent=50, config={**CONFIG, "fallback": {"on": causes, "breaker": BREAKER}})
    behave(legacy, 1)
    behave(new, 2)
    side = sides(gateway, USERS)
    wanted = [(user, f"/{one}/{two}/{user}") for user in USERS for one, two in MIX]
    wanted += [(user, f"/{one}/{two}/{user}") for user in USERS[:8] for one, two in SLOW]
    seen = in_parallel(lambda one: ask(gateway, *one), wanted)
    new.stop()
    down = {f"/ok/ok/down-{user}" for user in USERS}
    seen += in_parallel(lambda user: ask(gateway, user, f"/ok/ok/down-{user}"), USERS)
    at = Count()
    for name, backend, place in (("legacy", legacy, 1), ("new", new, 2)):
        for target in {request.target for request in backend.begun}:
            at.add(name, target.split("/")[place] in FAILURES)
    for one in seen:
        if one.target in down and side[one.user] == "new":
            at.add("new", True)
    clients = Count()
    for one in seen:
        clients.add(side[one.user], one.is_error)
    assert min(at.failed["legacy"], at.failed["new"], clients.failed["legacy"], clients.failed["new"]) > 0
    fallbacks = collections.Counter(one.fallback for one in seen if one.fallback)
    assert set(fallbacks) == set(causes)

    # A request is booked when its last byte has gone out: a moment after the client may have it.
    eventually(lambda: gateway.metrics()("cutover_client_answers_total", kind="read") == len(seen), "all are booked")
    figures, metrics = gateway.status()["metrics"], gateway.metrics()
    for name in ("legacy", "new"):
        assert told(figures, "read_error_rate", "by_backend", name) == at.ratio(name)
        assert metrics("cutover_reads_total", backend=name, result="error") == at.failed[name]
        assert metrics("cutover_reads_total", backend=name) == at.all[name]
        assert metrics("cutover_read_error_ratio", backend=name) == at.ratio(name)["value"]
        assert metrics("cutover_figure_samples", figure="read_error_ratio", backend=name) == at.all[name]
        assert told(figures, "read_error_rate", "client_by_side", name) == clients.ratio(name)
        answers = {result: metrics("cutover_client_answers_total", kind="read", side=name, result=result)
                   for result in ("ok", "error")}
        assert answers == {"ok": clients.all[name] - clients.failed[name], "error": clients.failed[name]}
    assert told(figures, "read_error_rate", "client") == clients.ratio("legacy", "new")
    of_new = sum(side[one.user] == "new" for one in seen)
    assert told(figures, "fallback_rate") == ratio(sum(fallbacks.values()), of_new)
    assert by_reason(figures) == fallbacks
    assert figures["fallback_rate"]["by_kind"] == {"read": sum(fallbacks.values()), "write": 0}
    assert metrics("cutover_fallback_ratio") == sum(fallbacks.values()) / of_new
    for reason in figures["fallback_rate"]["by_reason"]:
        assert metrics("cutover_fallbacks_total", kind="read", reason=reason) == fallbacks[reason]


def test_of_a_client_that_leaves_nothing_is_told(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    legacy.answer = lambda request: [HANG]
    client = gateway.connect()
    client.send(request_bytes("GET", "/", user="u"))
    eventually(lambda: legacy.begun, "the request arrives")
    client.close()
    eventually(lambda: gateway.metrics()("cutover_requests_total", code="499") == 1, "it has left")
    assert gateway.metrics()("cutover_client_answers_total") == 0
    assert told(gateway.status()["metrics"], "read_error_rate", "client") == {"value": None, "samples": 0}


# Writes

def p95(durations):
    return sorted(durations)[math.ceil(0.95 * len(durations)) - 1]


def lies_between(found, low, high):
    """Within the stated resolution of 1/32 around what is known to be its range."""
    assert low * (1 - 1 / 32) <= found <= high * (1 + 1 / 32), (low, found, high)


def test_the_write_p95_is_what_clients_measured(make_gateway, legacy, new):
    """A write took at least what its backend waited, and at most until its client had the answer to what it asked next
    on the same connection: true on the busiest machine, and narrow on an idle one."""
    took = {}

    def slowly(name, fast, slow):
        def answer(request):
            if request.method == "PUT":
                time.sleep(slow if request.target.endswith("9") else fast)
                took.setdefault((name, request.target), time.monotonic() - request.at)
            return reply()
        return answer

    legacy.answer, new.answer = slowly("legacy", 0.004, 0.08), slowly("new", 0.01, 0.2)
    gateway = make_gateway(legacy, new, percent=50, config=CONFIG)
    side = sides(gateway, USERS)
    waited = {}

    def write(user):
        with gateway.connect() as client:
            for number in range(10):
                target = f"/{user}/{number}"
                begun = time.monotonic()
                assert client.request("PUT", target, body=b"x", user=user).status == 200
                assert client.request("GET", "/", user=user).status == 200
                waited[target] = time.monotonic() - begun

    in_parallel(write, USERS, workers=4)
    gateway.settle()
    figures, metrics = gateway.status()["metrics"], gateway.metrics()
    targets = {name: [target for target in waited if side[target.split("/")[1]] == name] for name in ("legacy", "new")}
    assert all(len(found) >= 40 for found in targets.values())
    for name, found in targets.items():
        low = p95([took[name, target] for target in found])
        high = p95([waited[target] for target in found])
        for key in ("by_backend", "leg_by_backend"):
            assert told(figures, "write_p95_seconds", key, name)["samples"] == len(found)
            lies_between(told(figures, "write_p95_seconds", key, name)["value"], low, high)
        assert metrics("cutover_write_p95_seconds", backend=name) == pytest.approx(
            told(figures, "write_p95_seconds", "by_backend", name)["value"])
        assert metrics("cutover_client_write_duration_seconds_count", backend=name) == len(found)
        assert metrics("cutover_write_duration_seconds_count", backend=name, leg="authoritative") == len(found)
        assert metrics("cutover_writes_total", backend=name, leg="authoritative", result="ok") == len(found)
        assert metrics("cutover_client_answers_total", kind="write", side=name, result="ok") == len(found)
    total = told(figures, "write_p95_seconds", "total")
    assert total["samples"] == len(waited) == metrics("cutover_writes_received_total")
    owner = {target: side[target.split("/")[1]] for target in waited}
    lies_between(total["value"], p95([took[owner[target], target] for target in waited]), p95(list(waited.values())))


def test_what_new_made_a_client_wait_for_is_charged_to_new(make_gateway, legacy, new):
    new.answer = lambda request: [HANG]
    gateway = make_gateway(
        legacy, new, percent=100, config={**CONFIG, "writes": {"retry_min": "10s", "retry_max": "30s"}})
    assert ask(gateway, "u", "/x", "PUT", b"x").fallback == "timeout"
    eventually(lambda: gateway.metrics()("cutover_client_answers_total", kind="write") == 1, "it is booked")
    figures = gateway.status()["metrics"]
    assert told(figures, "write_p95_seconds", "by_backend", "new")["value"] >= TIMEOUT_SECONDS * (1 - 1 / 32)
    assert told(figures, "write_p95_seconds", "by_backend", "legacy") == {"value": None, "samples": 0}
    assert told(figures, "write_p95_seconds", "leg_by_backend", "legacy")["value"] < TIMEOUT_SECONDS
    assert told(figures, "write_p95_seconds", "client_errors_by_side", "new") == {"value": 0, "samples": 1}
    assert figures["fallback_rate"]["by_kind"] == {"read": 0, "write": 1}


@pytest.mark.parametrize("causes", [["connect", "timeout", "5xx"], []], ids=["fallback", "no fallback"])
def test_writes_that_fail_are_told_as_clients_count_them(make_gateway, legacy, new, causes):
    gateway = make_gateway(
        legacy, new, percent=50, config={**CONFIG, "fallback": {"on": causes, "breaker": BREAKER}})
    behave(legacy, 1)
    behave(new, 2)
    # A user writes once: whoever has legs outstanding to new is served by legacy meanwhile.
    wanted = [(f"{user}-{one}-{two}", f"/{one}/{two}/{user}", "PUT", b"x") for user in USERS
              for one, two in [("ok", "ok"), ("5xx", "ok"), ("ok", "nonsense"), ("ok", "5xx")]]
    side = sides(gateway, [one[0] for one in wanted])
    seen = in_parallel(lambda one: ask(gateway, *one), wanted)
    clients, fallbacks = Count(), collections.Counter(one.fallback for one in seen if one.fallback)
    for one in seen:
        clients.add(side[one.user], one.is_error)
    assert clients.failed["legacy"] > 0 and (clients.failed["new"] > 0) == (causes == [])
    eventually(lambda: gateway.metrics()("cutover_client_answers_total", kind="write") == len(seen), "all are booked")
    figures, metrics = gateway.status()["metrics"], gateway.metrics()
    for name in ("legacy", "new"):
        assert told(figures, "write_p95_seconds", "client_errors_by_side", name) == clients.ratio(name)
        assert metrics("cutover_client_answers_total", kind="write", side=name, result="error") == clients.failed[name]
        # Who waited in vain has waited: no write is missing from the p95.
        assert told(figures, "write_p95_seconds", "by_backend", name)["samples"] == clients.all[name]
    assert figures["fallback_rate"]["by_kind"] == {"read": 0, "write": sum(fallbacks.values())}
    assert by_reason(figures) == fallbacks
    assert told(figures, "fallback_rate") == ratio(sum(fallbacks.values()), clients.all["new"])


def test_conflicts_are_told_by_who_noticed_and_each_write_once(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})

    def post(record, revision, key):
        return gateway.fetch("POST", "/changes", body=change("u", record, revision, key=key)).status

    sent = [post(f"plain-{number}", 1, f"plain-{number}") for number in range(11)]
    assert sent == [200] * 11
    # The gateway knows a newer revision; so does legacy, past the gateway; so does new, and the client is not told.
    refused = [post(f"plain-{number}", 1, f"again-{number}") for number in range(3)]
    for number in range(2):
        legacy_store.records[f"older-{number}"] = {"revision": 9}
    refused += [post(f"older-{number}", 2, f"older-{number}") for number in range(2)]
    assert refused == [409] * 5
    for number in range(4):
        new_store.records[f"ahead-{number}"] = {"revision": 9}
    assert [post(f"ahead-{number}", 2, f"ahead-{number}") for number in range(4)] == [200] * 4
    gateway.settle()
    by_source = {"gateway": 3, "legacy": 2, "new": 4}
    figures, metrics = gateway.status()["metrics"], gateway.metrics()
    assert figures["conflict_rate"]["by_source"] == by_source
    assert told(figures, "conflict_rate") == ratio(9, 20)
    assert {source: metrics("cutover_conflicts_total", source=source) for source in by_source} == by_source
    assert metrics("cutover_conflict_ratio") == 9 / 20
    assert (metrics("cutover_conflicted_writes_total"), metrics("cutover_writes_received_total")) == (9, 20)
    # What clients were told about: a conflict is an answer, no error.
    assert told(figures, "write_p95_seconds", "client_errors_by_side", "legacy") == ratio(0, 20)


def test_shadow_reads_are_told_as_the_answers_compare(make_gateway, legacy, new):
    """The targets say what new answers; legacy answers the same each time."""
    gateway = make_gateway(legacy, new, config={"shadow": {"percent": 100, "recheck_after": "10ms"}})
    again = set()

    def answer(request):
        word = request.target.split("/")[1]
        if word == "once" and request.target not in again:
            again.add(request.target)
            word = "other"
        return {"other": reply(b'{"ok":false}'), "error": reply(b"", 500)}.get(word, reply())

    new.answer = answer
    counts = {"same": 7, "other": 3, "once": 2, "error": 2}
    for word, count in counts.items():
        for number in range(count):
            assert gateway.get(f"/{word}/{number}", user="u").status == 200
    shadow = eventually(
        lambda: next((s for s in [gateway.status()["shadow"]] if s["compared"] == 12), None), "all are compared")
    expected = {"compared": 12, "matched": 7, "mismatched": 3, "transient": 2, "dropped": 0}
    assert {name: shadow[name] for name in expected} == expected
    metrics = gateway.metrics()
    found = {result: metrics("cutover_shadow_reads_total", result=result)
             for result in ("match", "mismatch", "transient", "error", "dropped")}
    assert found == {"match": 7, "mismatch": 3, "transient": 2, "error": 2, "dropped": 0}
    assert metrics("cutover_mismatch_ratio") == 3 / 12
    assert metrics("cutover_figure_samples", figure="mismatch_ratio", backend="all") == 12
    # Legacy has answered each read, and was asked again for the recheck: its reads are those of the clients.
    assert metrics("cutover_reads_total", backend="legacy") == 14 < len(legacy.requests)
    assert metrics("cutover_reads_total", backend="new") == 0


# No sample

GAUGES = [
    ("cutover_read_error_ratio", {"backend": "legacy"}), ("cutover_read_error_ratio", {"backend": "new"}),
    ("cutover_write_p95_seconds", {"backend": "legacy"}), ("cutover_write_p95_seconds", {"backend": "new"}),
    ("cutover_conflict_ratio", {}), ("cutover_fallback_ratio", {}), ("cutover_mismatch_ratio", {})]


def values(tree):
    """Every `value` in a tree of figures."""
    if isinstance(tree, dict):
        for key, found in tree.items():
            yield from [found] if key == "value" else values(found)


def knows_nothing(gateway):
    metrics = gateway.metrics()
    return (set(values(gateway.status()["metrics"])) == {None}
            and all(math.isnan(metrics(name, **labels)) for name, labels in GAUGES))


def test_no_sample_is_no_value_and_never_0_also_after_a_restart(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    behave(legacy, 1)
    assert knows_nothing(gateway)
    for target in ["/ok", "/ok", "/5xx", "/ok"]:
        ask(gateway, "u", target)
    eventually(lambda: gateway.metrics()("cutover_reads_total", backend="legacy") == 4, "all are booked")
    figures = gateway.status()["metrics"]
    assert told(figures, "read_error_rate", "by_backend", "legacy") == ratio(1, 4)
    assert told(figures, "read_error_rate", "by_backend", "new") == {"value": None, "samples": 0}
    assert figures["write_p95_seconds"]["value"] is figures["conflict_rate"]["value"] is None
    gateway.restart()
    assert knows_nothing(gateway)
    assert all(figure["verdict"] != "pass" for figure in gateway.status()["metrics"].values())
    # What comes first after a restart is told as it is, and not thinned by a window that is not full.
    ask(gateway, "u", "/5xx")
    eventually(lambda: gateway.metrics()("cutover_read_error_ratio", backend="legacy") == 1, "it is told")
    assert told(gateway.status()["metrics"], "read_error_rate", "client") == ratio(1, 1)


def test_what_is_older_than_the_window_is_forgotten_and_leaves_no_0_behind(make_gateway, legacy, new):
    plan = {"name": "p", "window": "2s", "stages": [{"name": "all", "percent": 0, "shadow": "0%"}]}
    gateway = make_gateway(legacy, new, plan=plan)
    behave(legacy, 1)
    ask(gateway, "u", "/5xx")
    eventually(lambda: knows_nothing(gateway), "the window has passed")
    metrics = gateway.metrics()
    assert metrics("cutover_reads_total", backend="legacy", result="error") == 1
    assert metrics("cutover_window_seconds") == 2 <= metrics("cutover_window_covered_seconds")
