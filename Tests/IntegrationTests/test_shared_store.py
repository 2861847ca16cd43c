"""Several gateways on one PostgreSQL are one to the outside: rollout, keys, revisions, order, read your writes."""

import random
import threading
import time

import pytest

from support.backend import reply
from support.parallel import in_parallel
from support.store import CHANGE_ROUTES, change
from support.torture import RECORD_ROUTES, Load, Mover, absent_on_both, prove, seed
from support.waiting import eventually

# Contract §5: on every instance that shares a store within 1 s. Noticing it takes a request to each of them as well.
IN_FORCE_SECONDS = 1.0
NOTES = [{"match": f"{method} /notes/{{record}}", "kind": "write"} for method in ("PUT", "DELETE")]
PLAN = {
    "name": "shared", "promote": "manual",
    "stages": [
        {"name": "dual-write", "percent": 0, "shadow": "0%"},
        {"name": "half", "percent": 50, "shadow": "0%"},
        {"name": "full", "percent": 100, "shadow": "0%"},
    ],
}


@pytest.fixture
def pair(make_cluster, legacy_store, new_store):
    """Two gateways with a plan before two backends that keep what they are given."""
    return make_cluster(legacy_store, new_store, plan=PLAN, config={"routes": CHANGE_ROUTES})


def side(gateway, user):
    """The side that `explain` names and an answer comes from, when both say the same."""
    explained = gateway.read(f"users/{user}")["side"]
    served = gateway.get("/notes/none", user=user).backend
    return explained if explained == served else None


def seconds_until(check, what, patience=15.0):
    began = time.monotonic()
    eventually(check, what, patience)
    return time.monotonic() - began


def quickest(measure, count=3):
    """The best of several: one slow one may be the machine's fault, three are the gateway's."""
    taken = []
    for _ in range(count):
        taken.append(measure())
        if taken[-1] <= IN_FORCE_SECONDS:
            break
    return min(taken)


# The state of the rollout


def test_a_percent_set_on_one_is_in_force_on_the_other_within_a_second(pair):
    one, other = pair
    pair.set_percent(0)

    def measure():
        one.set_percent(100)
        up = seconds_until(lambda: side(other, "u") == "new", "the other serves from new")
        other.set_percent(0)
        return max(up, seconds_until(lambda: side(one, "u") == "legacy", "the first serves from legacy"))

    assert quickest(measure) <= IN_FORCE_SECONDS


def test_a_pin_set_on_one_is_in_force_on_the_other_within_a_second(pair):
    one, other = pair

    def measure():
        one.pin("pinned", "new")
        up = seconds_until(lambda: side(other, "pinned") == "new", "the pin holds at the other")
        other.change("DELETE", "users/pinned/pin")
        return max(up, seconds_until(lambda: side(one, "pinned") == "legacy", "it is gone at the first"))

    assert quickest(measure) <= IN_FORCE_SECONDS


def test_promote_and_rollback_move_the_stage_on_all_within_a_second(pair):
    one, other = pair

    def stage(gateway):
        rollout = gateway.read("rollout")
        return rollout["stage"], rollout["percent"], rollout["state"]

    def measure():
        one.change("POST", "rollout/promote", {"to": "half"})
        up = seconds_until(lambda: stage(other) == ("half", 50, "running"), "the other is in stage half")
        other.change("POST", "rollout/promote", {"to": "full"})
        one_up = seconds_until(lambda: stage(one) == ("full", 100, "complete"), "the first is in stage full")
        assert {side(gateway, f"u{n}") for gateway in pair for n in range(5)} == {"new"}
        other.change("POST", "rollout/rollback", {})
        return max(up, one_up, seconds_until(lambda: stage(one)[1:] == (0, "rolled_back"), "the rollback is known"))

    assert quickest(measure) <= IN_FORCE_SECONDS
    assert {side(gateway, f"u{n}") for gateway in pair for n in range(5)} == {"legacy"}


def test_what_was_set_on_one_survives_restarts_of_all(pair):
    one, other = pair
    one.set_percent(37.5)
    other.pin("pinned", "new")
    for gateway in pair:
        gateway.kill()
    other.start()
    one.start()
    for gateway in pair:
        assert gateway.read("rollout")["percent"] == 37.5
        user = gateway.read("users/pinned")
        assert (user["pin"], user["side"]) == ("new", "new")
    generations = {gateway.read("rollout")["generation"] for gateway in pair}
    assert len(generations) == 1


def test_one_that_was_down_finds_what_was_changed_meanwhile(pair):
    one, other = pair
    other.kill()
    one.set_percent(100)
    one.pin("pinned", "legacy")
    other.start()
    assert side(other, "u") == "new" and side(other, "pinned") == "legacy"


def agreed(pair):
    """The rollout, when both gateways say the same of it."""
    one, other = [gateway.read("rollout") for gateway in pair]
    if one == other:
        return one
    print("differ:", {key: (one[key], other[key]) for key in one if one[key] != other[key]})
    return None


def test_commands_at_both_at_once_make_one_history(pair):
    def command(number):
        gateway = pair[number % 2]
        body = {"percent": (number + 1) / 4}
        status, answer, _ = gateway.admin("POST", "/api/v1/rollout/percent", body, token=gateway.token())
        return status, answer

    answers = in_parallel(command, range(24), workers=6)
    assert {status for status, _ in answers} <= {200, 409, 412, 503}, answers
    accepted = sum(status == 200 for status, _ in answers)
    assert accepted >= 2

    last = eventually(lambda: agreed(pair), "both say the same")
    histories = [gateway.read("events?limit=1000")["items"] for gateway in pair]
    assert [event["seq"] for event in histories[0]] == [event["seq"] for event in histories[1]]
    percents = [event for event in reversed(histories[0]) if event["action"] == "set-percent"]
    assert len(percents) == accepted
    chain = [(event["before"]["percent"], event["after"]["percent"]) for event in percents]
    assert [before for before, _ in chain[1:]] == [after for _, after in chain[:-1]], chain
    # The last command wins: everybody is in the state of the last event.
    assert last["percent"] == chain[-1][1]


def test_an_old_generation_is_412_wherever_it_was_changed(pair):
    one, other = pair
    generation = one.read("rollout")["generation"]
    other.set_percent(10)
    eventually(lambda: one.read("rollout")["generation"] > generation, "the first knows of the change")
    headers = [("If-Match", f'"{generation}"')]
    status, _, _ = one.admin("POST", "/api/v1/rollout/percent", {"percent": 20}, token=one.token(), headers=headers)
    assert status == 412


# Keys and revisions


def test_the_same_key_at_both_is_one_write(pair, legacy_store, new_store):
    def put(gateway):
        return gateway.fetch("PUT", "/notes/7", [("Idempotency-Key", "k1")], b"text", user="u")

    answers = in_parallel(put, [pair[0], pair[1]] * 8)
    assert {answer.status for answer in answers} <= {200, 409}
    assert all(answer["Retry-After"] for answer in answers if answer.status == 409)
    assert sum(answer.status == 200 and "Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    # A repeat gets the first answer, wherever it comes.
    for gateway in pair:
        again = eventually(lambda gateway=gateway: (a := put(gateway)).status == 200 and a, "the repeat is answered")
        assert again["Idempotent-Replayed"] == "true" and again.json() == {"stored": True}
    pair.settle()
    assert legacy_store.applied == new_store.applied == [("/notes/7", b"text")]


def test_a_key_of_one_for_another_request_is_422_at_the_other(pair):
    one, other = pair
    key = [("Idempotency-Key", "k2")]
    assert one.fetch("PUT", "/notes/8", key, b"one", user="u").status == 200
    assert other.fetch("PUT", "/notes/8", key, b"another", user="u").status == 422


def test_a_key_that_is_under_way_at_one_is_409_at_the_other(make_cluster, legacy, new):
    one, other = make_cluster(legacy, new)
    held = threading.Event()
    legacy.answer = lambda request: [held, reply()] if request.method == "PUT" else reply()
    first = threading.Thread(target=one.fetch, args=("PUT", "/notes/9", [("Idempotency-Key", "k3")], b"x", "u"))
    first.start()
    eventually(lambda: legacy.to("/notes/9", "PUT"), "legacy has the first")
    second = other.fetch("PUT", "/notes/9", [("Idempotency-Key", "k3")], b"x", user="u")
    held.set()
    first.join()
    assert second.status == 409 and second["Retry-After"]


def test_the_same_revision_at_both_is_one_409(pair, legacy_store, new_store):
    for revision in range(1, 11):
        bodies = [change("u", "r", revision, text, key=f"{text}-{revision}") for text in ("left", "right")]
        answers = in_parallel(
            lambda given: given[0].fetch("POST", "/changes", body=given[1], user="u"), list(zip(pair, bodies)))
        assert sorted(answer.status for answer in answers) == [200, 409]
        problem = next(answer for answer in answers if answer.status == 409).json()
        assert problem["current_revision"] == revision
    pair.settle()
    assert legacy_store.applied == new_store.applied == [("r", revision) for revision in range(1, 11)]
    assert legacy_store.records == new_store.records


# Order


@pytest.mark.parametrize("trouble", ["slow", "failing"])
def test_writers_at_both_have_one_order_per_record(make_cluster, recorders, trouble):
    legacy, new = recorders
    # A breaker that stays open for longer than a read waits for legacy would make that read stale, and say so.
    breaker = {"breaker": {"min_requests": 10, "window": "1s", "open_for": "200ms"}}
    cluster = make_cluster(*recorders, percent=50, config={"routes": RECORD_ROUTES, "fallback": breaker})
    load, mover = Load(cluster, seed(), users=3, clients_per_user=4, records=2, wander=0.1), Mover(cluster, seed())
    dice = random.Random(load.seed)
    for _ in range(4):
        side_in_trouble = dice.choice([legacy, new])
        if trouble == "slow":
            side_in_trouble.mode(delay=dice.choice([0.01, 0.05]))
        else:
            # Legacy has no fallback: while it fails, its users get its 5xx and repeat.
            side_in_trouble.mode(status=502)
            time.sleep(0.5)
            side_in_trouble.mode(status=None)
        load.go_on(40, 60)
        for recorder in recorders:
            recorder.mode(delay=0.0)
    mover.finish()
    load.go_on(50, 60)
    load.finish()
    stale = sum(gateway.metrics()("cutover_stale_reads_total") for gateway in cluster)
    print(f"{stale:.0f} reads were counted as stale")
    prove(cluster, load, *recorders, excused=absent_on_both)


# Read your writes


def test_a_fallback_at_one_is_read_at_the_other_by_the_very_next_request(make_cluster, legacy_store, new_store):
    # The breaker would move everybody to legacy, for another reason.
    calm = {"fallback": {"breaker": {"min_requests": 100_000}}}
    cluster = make_cluster(legacy_store, new_store, percent=100, config={"routes": NOTES, **calm})
    fails = set()
    new_store.refuse = lambda request: (
        reply(b"{}", 503) if request.method == "PUT" and request.target in fails else None)
    links = [gateway.connect() for gateway in cluster]
    stale = []
    for number in range(200):
        writer, reader = (links[number % 2], links[1 - number % 2])
        # Every user has one record that new refuses for the moment.
        user, target, text = f"u{number % 20}", f"/notes/{number % 20}", f"text {number}".encode()
        fails.add(target)
        written = writer.request("PUT", target, body=text, user=user)
        assert written.status == 200, written
        read = reader.request("GET", target, user=user)
        if read.body != text:
            stale.append((number, read.status, read.body, read.backend, read.why, written.backend, written.why))
        fails.discard(target)
    for link in links:
        link.close()
    assert stale == [], f"{len(stale)} of 200 reads were stale: {stale[:5]}"
    cluster.settle()
    assert legacy_store.documents == new_store.documents


def test_who_counts_as_behind_for_a_moment_too_long_reads_no_older_than_what_new_has_acknowledged(
        make_cluster, legacy_store, new_store):
    cluster = make_cluster(legacy_store, new_store, percent=100, config={
        "routes": NOTES, "fallback": {"breaker": {"min_requests": 1000}}})
    one, other = cluster
    refused, holds, stale, behind = threading.Event(), threading.Event(), [], 0

    def refuse(request):
        if request.method != "PUT" or not request.target.endswith("/b"):
            return None
        if refused.is_set():
            return reply(b"{}", 503)
        holds.set()
        return None

    def late(request):
        if request.method == "PUT" and request.target.endswith("/a"):
            time.sleep(0.05)

    new_store.refuse, legacy_store.refuse = refuse, late
    for number in range(20):
        user, text = f"u{number}", f"text {number}".encode()
        refused.set()
        holds.clear()
        assert one.fetch("PUT", f"/notes/{number}/b", body=b"b", user=user).backend == "legacy"
        # Until the other one has seen that legacy has it.
        time.sleep(0.4)
        refused.clear()
        # The first gateway sees at once that new has it, the other one only when it looks again.
        assert holds.wait(20)
        written = one.fetch("PUT", f"/notes/{number}/a", body=text, user=user)
        read = other.get(f"/notes/{number}/a", user=user)
        behind += written.backend == "new" and read.why == "behind"
        if read.body != text:
            stale.append((number, read.status, read.body, read.backend, read.why))
    assert stale == [], f"{len(stale)} of 20 reads were stale: {stale[:5]}"
    assert behind > 0, "no read was one of those that this is about"


def test_the_percent_going_up_and_down_costs_nobody_their_own_writes(make_cluster, recorders):
    legacy, new = recorders
    legacy.mode(delay=0.004)
    new.mode(delay=0.008)
    cluster = make_cluster(*recorders, percent=0, config={"routes": NOTES})
    number = seed()
    print(f"seed {number}")
    stale, rounds, stopping = [], [0], threading.Event()

    def client(index):
        dice = random.Random(number * 100 + index)
        links = [gateway.connect() for gateway in cluster]
        while not stopping.is_set():
            text = f"{index} {rounds[0]}".encode()
            target, user = f"/notes/{index}", f"u{index}"
            writer = dice.randrange(2)
            headers = [("Idempotency-Key", f"{index}-{dice.random()}"), ("X-Write", "w")]
            written = links[writer].request("PUT", target, headers, text, user=user)
            if written.status == 200:
                for _ in range(3):
                    time.sleep(dice.choice([0, 0, 0.005]))
                    read = links[1 - writer].request("GET", target, user=user)
                    if read.body != text:
                        stale.append((index, written.backend, written.why, read.backend, read.why, read.body, text))
            rounds[0] += 1
        for link in links:
            link.close()

    threads = [threading.Thread(target=client, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    dice = random.Random(number)
    moves, deadline = 0, time.monotonic() + 60
    while (rounds[0] < 600 or moves < 20) and time.monotonic() < deadline:
        gateway = cluster[dice.randrange(2)]
        status, _, _ = gateway.admin(
            "POST", "/api/v1/rollout/percent", {"percent": 100 if moves % 2 == 0 else 0}, token=gateway.token())
        moves += status == 200
    stopping.set()
    for thread in threads:
        thread.join(30)
    print(f"{rounds[0]} rounds, {moves} moves")
    assert moves >= 10 and rounds[0] >= 200
    assert stale == [], f"seed {number}: {len(stale)} stale reads of {rounds[0]} rounds: {stale[:4]}"
    cluster.settle()


# What the operator sees


def test_status_and_metrics_speak_of_the_shared_store(pair):
    for gateway in pair:
        store = gateway.status()["store"]
        assert (store["kind"], store["connected"], store["stale"]) == ("postgresql", True, False)
        eventually(lambda gateway=gateway: gateway.status()["store"]["members"] == 2, "both are members")
        metrics = gateway.metrics()
        assert metrics("cutover_store_members") == 2
        assert metrics("cutover_store_connected") == metrics("cutover_store_lease_held") == 1
        assert metrics("cutover_store_fenced_total") == metrics("cutover_store_taken_over_total") == 0
        assert metrics("cutover_store_last_contact_timestamp_seconds") > 0
        assert metrics.matching("cutover_store_announcements_total", result="late") == [0]
        assert metrics.matching("cutover_store_watched") == [0]


def test_a_gateway_that_leaves_is_no_member_any_more(pair):
    one, other = pair
    assert one.stop() == 0
    eventually(lambda: other.status()["store"]["members"] == 1, "the other one is alone", 10)


def test_either_lists_what_both_have_written(pair):
    for number, gateway in enumerate(pair):
        assert gateway.fetch("PUT", f"/notes/of-{number}", body=b"x", user=f"u{number}").status == 200
    pair.settle()
    for gateway in pair:
        rows = gateway.read("journal")["items"]
        assert [row["target"] for row in rows] == ["/notes/of-1", "/notes/of-0"]


def test_a_parked_leg_of_a_gateway_that_is_gone_is_replayed_at_the_other(pair, new_store):
    one, other = pair
    new_store.refuse = lambda request: reply(b"{}", 400) if request.method == "PUT" else None
    assert one.fetch("PUT", "/notes/poison", body=b"x", user="u").status == 200
    eventually(lambda: one.status()["journal"]["parked"] == 1, "the leg is parked")
    assert one.stop() == 0
    row = eventually(lambda: other.read("journal?parked=true")["items"], "the other lists it")[0]
    assert row["legs"]["new"]["state"] == "parked"
    new_store.refuse = lambda request: None
    other.change("POST", "journal/replay", {"seqs": [row["seq"]]})
    eventually(lambda: new_store.documents.get("/notes/poison") == b"x", "new has it")
    eventually(lambda: other.status()["journal"]["parked"] == 0, "nothing is parked any more")
    other.settle()


def test_gateways_reach_the_store_by_its_unix_socket_too(make_cluster, legacy_store, new_store):
    cluster = make_cluster(legacy_store, new_store, by_socket=True, config={"routes": NOTES})
    assert cluster[0].fetch("PUT", "/notes/1", body=b"x", user="u").status == 200
    cluster.settle()
    assert new_store.documents == {"/notes/1": b"x"}
