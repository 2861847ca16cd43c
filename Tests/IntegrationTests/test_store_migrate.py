"""`cutover store migrate`: the journal of one gateway becomes that of a shared store, whatever happens on the way."""

import json
import os
import signal
import subprocess

import pytest

from support.gateway import BINARY, cutover
from support.journal_fill import fill
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually


class Database:
    """One database, reached by the server's socket."""

    def __init__(self, server):
        self.server, self.name = server, server.make_database()

    @property
    def url(self):
        return self.server.url(self.name, by_socket=True)

    def run(self, text):
        return self.server.query(self.name, text)

    def value(self, text):
        return self.run(text)[0][0]

    def session(self):
        """psql that reads from a pipe: what it began stays open."""
        return subprocess.Popen(["psql", "-XqAt", "-d", self.url], stdin=subprocess.PIPE, text=True)


@pytest.fixture
def database(shared_postgres):
    return Database(shared_postgres)


def post(gateway, body, key=None, user=None):
    headers = [("Content-Type", "application/json")] + ([("Idempotency-Key", key)] if key else [])
    return gateway.fetch("POST", "/changes", headers, body, user=user)


def arguments(gateway, database):
    return ["store", "migrate", "--from", "sqlite", "--to", database.url, "--data", str(gateway.data)]


def test_a_gateway_goes_on_in_a_shared_store_where_it_stopped(make_gateway, legacy_store, new_store, database):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    gateway.set_percent(0.5)
    gateway.pin("anna", "legacy")
    new_store.stop()
    first = post(gateway, change("u", "r", 1), key="k")
    post(gateway, change("u", "r", 2))
    post(gateway, change("v", "s", 1))
    eventually(lambda: gateway.status()["journal"]["pending"]["new"] == 3, "the legs to new are outstanding")
    before = gateway.read("events")["items"]

    running = cutover(*arguments(gateway, database), check=False)
    assert running.returncode == 1 and "in use by process" in running.stderr and "stop the gateway" in running.stderr
    assert gateway.stop() == 0
    moved = cutover(*arguments(gateway, database))
    assert "moved: " in moved.stdout and "change" in moved.stdout
    again = cutover(*arguments(gateway, database), "--json", check=False)
    assert again.returncode == 1 and "is not empty: it holds 3 changes" in json.loads(again.stdout)["detail"]
    assert json.loads(cutover(*arguments(gateway, database), "--verify", "--json").stdout)["differing"] == 0

    gateway.config["store"] = database.url
    new_store.start()
    gateway.start()
    gateway.settle(60)
    assert sorted(new_store.applied) == [("r", 1), ("r", 2), ("s", 1)]
    assert [item for item in new_store.applied if item[0] == "r"] == [("r", 1), ("r", 2)]
    repeat = post(gateway, change("u", "r", 1), key="k")
    assert repeat["Idempotent-Replayed"] == "true" and (repeat.status, repeat.body) == (first.status, first.body)
    assert post(gateway, change("u", "r", 1, text="other")).status == 409
    assert gateway.status()["rollout"]["percent"] == 0.5
    assert gateway.read("users/anna")["pin"] is not None
    after = gateway.read("events")["items"]
    assert after[-len(before):] == before
    assert max(row["seq"] for row in gateway.read("journal")["items"]) == 3
    assert post(gateway, change("u", "t", 1)).status < 300
    assert max(row["seq"] for row in gateway.read("journal")["items"]) == 4


def test_killed_half_way_nothing_is_there_and_it_can_be_run_again(gateway, database):
    gateway.stop()
    fill(gateway.data / "journal.sqlite", 5_000, 500)
    # Makes the schema, so that a table of it can be held.
    gateway.config["store"] = database.url
    gateway.start()
    gateway.stop()
    database.run(
        "SET search_path TO cutover; TRUNCATE gateway, gateway_group, event, rollout, change, counter, history;"
        "INSERT INTO counter VALUES ('version', 0), ('announcement', 0)")
    holder = database.session()
    holder.stdin.write("BEGIN; LOCK TABLE cutover.change_body IN EXCLUSIVE MODE;\n")
    holder.stdin.flush()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%change_body%'"
    eventually(lambda: database.value("SELECT count(*) FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation = "
                                      "'cutover.change_body'::regclass") == "1", "the table is held")
    # It has written the changes by then, and waits with their bodies.
    process = subprocess.Popen([BINARY, *arguments(gateway, database)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually(lambda: database.value(waiting) == "1", "it is half-way")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    holder.communicate("ROLLBACK;\n")
    assert database.value("SELECT count(*) FROM cutover.change") == "0"
    report = json.loads(cutover(*arguments(gateway, database), "--json").stdout)
    assert report["done"] and report["differing"] == 0
    rows = {table["table"]: table["rows"] for table in report["tables"]}
    assert rows["change"] == rows["change_body"] == 5_000
    assert database.value("SELECT count(*) FROM cutover.change") == "5000"


def test_what_cannot_be_moved_is_refused_in_words(gateway, scratch, database):
    gateway.stop()
    data = ["--data", str(gateway.data)]

    def refused(*words):
        done = cutover("store", "migrate", *words, *data, check=False)
        return done.returncode, done.stderr

    secret = "postgresql://postgres:tell-nobody@localhost/x"
    status, words = refused("--from", "sqlite", "--to", secret)
    assert status == 2 and "PGPASSFILE" in words and "tell-nobody" not in words
    status, words = refused("--from", "postgres", "--to", "sqlite")
    assert status == 2 and "not moved back" in words
    status, words = refused("--from", "sqlite", "--to", "postgres")
    assert status == 2 and "--config" in words
    status, words = refused("--from", "sqlite", "--to", database.server.url("absent", by_socket=True))
    assert status == 1 and "absent" in words
    data = ["--data", str(scratch / "elsewhere")]
    status, words = refused("--from", "sqlite", "--to", database.url)
    assert status == 1 and "holds no embedded store" in words
    assert not (scratch / "elsewhere").exists()


def test_the_store_of_a_configuration_is_the_target(gateway, database):
    gateway.stop()
    gateway.config["store"] = database.url
    gateway.config_file.write_text(json.dumps(gateway.config))
    words = ["store", "migrate", "--from", "sqlite", "--to", "postgres", "--config", str(gateway.config_file)]
    assert "nothing was changed" in cutover(*words, "--dry-run").stdout
    assert database.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'cutover'") == "0"
    assert "moved: " in cutover(*words).stdout
