"""`cutover store migrate`: the journal of one gateway becomes that of a shared store, whatever happens on the way."""

import json
import os
import signal
import subprocess
import tempfile

import pytest

from support.gateway import BINARY, cutover
from support.journal_fill import fill
from support.store import CHANGE_ROUTES, change
from support.waiting import eventually

KEEPER = """
directory=$1
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
if [ "$(id -u)" = 0 ]; then
    chown postgres "$directory"
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
else
    as=
fi
cd "$directory"
$as "$bin/initdb" -D "$directory/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1
$as "$bin/postgres" -D "$directory/data" -c listen_addresses= -c unix_socket_directories="$directory" \\
    -c fsync=off >>log 2>&1 </dev/null &
server=$!
cat
kill -QUIT "$server"
wait "$server"
cd /
rm -rf "$directory"
"""


class Postgres:
    """A server with one database, gone with this process."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="cutover-postgres-", dir="/tmp")
        self.keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "keeper", self.directory], stdin=subprocess.PIPE, start_new_session=True)
        eventually(lambda: self.run("SELECT 1", check=False).returncode == 0, "PostgreSQL answers", 90)

    @property
    def url(self):
        return f"postgresql://postgres@/postgres?host={self.directory}"

    def run(self, text, check=True):
        done = subprocess.run(
            ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url, "-c", text], capture_output=True, text=True,
            timeout=60)
        assert not check or done.returncode == 0, (text, done.stderr)
        return done

    def value(self, text):
        return self.run(text).stdout.strip()

    def session(self):
        """psql that reads from a pipe: what it began stays open."""
        return subprocess.Popen(
            ["psql", "-XqAt", "-d", self.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self):
        self.keeper.stdin.close()
        self.keeper.wait(60)


@pytest.fixture
def postgres():
    server = Postgres()
    yield server
    server.close()


def post(gateway, body, key=None, user=None):
    headers = [("Content-Type", "application/json")] + ([("Idempotency-Key", key)] if key else [])
    return gateway.fetch("POST", "/changes", headers, body, user=user)


def arguments(gateway, postgres):
    return ["store", "migrate", "--from", "sqlite", "--to", postgres.url, "--data", str(gateway.data)]


def test_a_gateway_goes_on_in_a_shared_store_where_it_stopped(make_gateway, legacy_store, new_store, postgres):
    gateway = make_gateway(legacy_store, new_store, config={"routes": CHANGE_ROUTES})
    gateway.set_percent(0.5)
    gateway.pin("anna", "legacy")
    new_store.stop()
    first = post(gateway, change("u", "r", 1), key="k")
    post(gateway, change("u", "r", 2))
    post(gateway, change("v", "s", 1))
    eventually(lambda: gateway.status()["journal"]["pending"]["new"] == 3, "the legs to new are outstanding")
    before = gateway.read("events")["items"]

    running = cutover(*arguments(gateway, postgres), check=False)
    assert running.returncode == 1 and "in use by process" in running.stderr and "stop the gateway" in running.stderr
    assert gateway.stop() == 0
    moved = cutover(*arguments(gateway, postgres))
    assert "moved: " in moved.stdout and "change" in moved.stdout
    again = cutover(*arguments(gateway, postgres), "--json", check=False)
    assert again.returncode == 1 and "is not empty: it holds 3 changes" in json.loads(again.stdout)["detail"]
    assert json.loads(cutover(*arguments(gateway, postgres), "--verify", "--json").stdout)["differing"] == 0

    gateway.config["store"] = postgres.url
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


def test_killed_half_way_nothing_is_there_and_it_can_be_run_again(gateway, postgres):
    gateway.stop()
    fill(gateway.data / "journal.sqlite", 5_000, 500)
    # Makes the schema, so that a table of it can be held.
    gateway.config["store"] = postgres.url
    gateway.start()
    gateway.stop()
    postgres.run(
        "SET search_path TO cutover; TRUNCATE gateway, gateway_group, event, rollout, change, counter;"
        "INSERT INTO counter VALUES ('version', 0), ('announcement', 0)")
    holder = postgres.session()
    holder.stdin.write("BEGIN; LOCK TABLE cutover.change_body IN EXCLUSIVE MODE;\n")
    holder.stdin.flush()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%change_body%'"
    eventually(lambda: postgres.value("SELECT count(*) FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation = "
                                      "'cutover.change_body'::regclass") == "1", "the table is held")
    # It has written the changes by then, and waits with their bodies.
    process = subprocess.Popen([BINARY, *arguments(gateway, postgres)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually(lambda: postgres.value(waiting) == "1", "it is half-way")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    holder.communicate("ROLLBACK;\n")
    assert postgres.value("SELECT count(*) FROM cutover.change") == "0"
    report = json.loads(cutover(*arguments(gateway, postgres), "--json").stdout)
    assert report["done"] and report["differing"] == 0
    rows = {table["table"]: table["rows"] for table in report["tables"]}
    assert rows["change"] == rows["change_body"] == 5_000
    assert postgres.value("SELECT count(*) FROM cutover.change") == "5000"


def test_what_cannot_be_moved_is_refused_in_words(gateway, scratch, postgres):
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
    status, words = refused("--from", "sqlite", "--to", f"postgresql://postgres@/absent?host={postgres.directory}")
    assert status == 1 and "absent" in words
    data = ["--data", str(scratch / "elsewhere")]
    status, words = refused("--from", "sqlite", "--to", postgres.url)
    assert status == 1 and "holds no embedded store" in words
    assert not (scratch / "elsewhere").exists()


def test_the_store_of_a_configuration_is_the_target(gateway, postgres):
    gateway.stop()
    gateway.config["store"] = postgres.url
    gateway.config_file.write_text(json.dumps(gateway.config))
    words = ["store", "migrate", "--from", "sqlite", "--to", "postgres", "--config", str(gateway.config_file)]
    assert "nothing was changed" in cutover(*words, "--dry-run").stdout
    assert postgres.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'cutover'") == "0"
    assert "moved: " in cutover(*words).stdout
