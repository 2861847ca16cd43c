"""The commands (contract §2): what they print, and how they end."""

import json
import re

import pytest

from support.gateway import cutover

PLAN = {"name": "p", "stages": [{"name": "start", "percent": 0, "shadow": "0%"},
                                {"name": "half", "percent": 50, "shadow": "0%"}]}
COMMANDS = ["serve", "check", "status", "promote", "rollback", "pause", "resume", "set-percent", "explain", "pin",
            "unpin", "mismatches", "journal", "events", "hash", "compare", "bucket", "demo", "version"]

BAD = """\
listen: 127.0.0.1:8080
worker: 2
backends:
  legacy: {url: "http://127.0.0.1:7001", timeout: 10 parsecs}
  new: {url: "ftp://127.0.0.1:7002"}
user:
  algorithm: murmur
shadow: {percent: 120}
routes:
  - {match: "POST changes", kind: write}
"""


@pytest.fixture
def planned(make_gateway, legacy, new):
    return make_gateway(legacy, new, plan=PLAN)


@pytest.fixture
def bad(scratch):
    path = scratch / "bad.yaml"
    path.write_text(BAD)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    text = cutover(command, "--help").stdout
    assert "xample" in text and f"cutover {command}" in text


def test_help_lists_the_commands():
    text = cutover("--help").stdout
    assert [command for command in COMMANDS if command not in text] == []


@pytest.mark.parametrize("arguments", [
    ["nonsense"], ["bucket"], ["set-percent"], ["pin", "u"], ["serve", "--nonsense"]])
def test_wrong_usage_ends_with_2(arguments):
    done = cutover(*arguments, check=False)
    assert done.returncode == 2 and done.stderr.strip()


def test_check_reports_all_errors_with_line_value_and_suggestion(bad):
    done = cutover("check", "--config", bad, check=False)
    assert done.returncode == 1
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(str(bad))]
    found = {int(re.match(r".*?:(\d+): ", line)[1]): line for line in lines}
    assert sorted(found) == [2, 4, 5, 7, 8, 10]
    assert "worker" in found[2] and "did you mean workers?" in found[2]
    assert "backends.legacy.timeout" in found[4] and '"10 parsecs"' in found[4] and "accepted:" in found[4]
    assert "backends.new.url" in found[5] and "user.algorithm" in found[7] and "murmur3" in found[7]
    assert "shadow.percent" in found[8] and "routes" in found[10]


def test_check_accepts_what_is_right(planned):
    assert cutover("check", "--config", planned.config_file).returncode == 0


@pytest.mark.parametrize("plan", [
    {"name": "p", "stages": []},
    {"name": "p", "stages": [{"name": "a", "percent": 50}, {"name": "b", "percent": 10}]},
    {"name": "p", "stages": [{"name": "a", "percent": 0}, {"name": "a", "percent": 10}]},
    {"name": "p", "stages": [{"name": "a", "percent": 101}]},
    {"name": "p", "stages": [{"name": "a", "percents": 1}]},
])
def test_a_plan_that_cannot_work_is_refused(make_gateway, legacy, new, plan):
    gateway = make_gateway(legacy, new, plan=plan, start=False)
    gateway.start(wait=False)
    assert gateway.process.wait(20) == 1
    assert str(gateway.plan_file) in gateway.log()
    assert cutover("check", "--config", gateway.config_file, check=False).returncode == 1


def test_serve_refuses_what_check_refuses(bad):
    done = cutover("serve", "--config", bad, check=False)
    assert done.returncode == 1
    assert f"{bad}:2: worker" in done.stdout + done.stderr


@pytest.mark.parametrize("text", ["", "{", "- a\n- b\n", "a: [", "\t: x", "listen: *nowhere", "\x00\xff"])
def test_files_that_are_no_configuration_get_an_error_and_no_crash(scratch, text):
    path = scratch / "odd.yaml"
    path.write_text(text, encoding="latin-1")
    done = cutover("check", "--config", path, check=False)
    assert done.returncode == 1 and str(path) in done.stdout + done.stderr


def test_a_file_that_is_missing_is_named(scratch):
    done = cutover("check", "--config", scratch / "none.yaml", check=False)
    assert done.returncode in (1, 2) and "none.yaml" in done.stderr + done.stdout


def test_status_is_for_people_and_for_machines(planned):
    assert json.loads(planned.command("status", "--json").stdout)["rollout"]["stage"] == "start"
    text = planned.command("status").stdout
    assert "start" in text and "legacy" in text


def test_commands_that_move_traffic_print_before_and_after(planned):
    for arguments in (["set-percent", "12.5"], ["promote"], ["rollback"]):
        text = planned.command(*arguments).stdout
        assert re.search(r"→|->", text), text
    text = planned.command("set-percent", "12.5").stdout
    assert "12.5" in text
    assert planned.status()["rollout"]["percent"] == 12.5
    planned.command("promote", "--to", "half")
    assert planned.status()["rollout"]["stage"] == "half"


@pytest.mark.parametrize("arguments", [
    ["promote"], ["rollback"], ["set-percent", "12.5"], ["pause"], ["pin", "ann", "new"]])
def test_every_step_can_be_tried_first(planned, arguments):
    before = planned.status()["rollout"]
    text = planned.command(*arguments, "--dry-run", "--reason", "to see").stdout
    assert text.splitlines()[-1] == "dry run: nothing was changed"
    assert "→" in text or "unchanged" in text
    after = planned.status()["rollout"]
    assert {key: after[key] for key in before} == before
    assert len(planned.read("events")["items"]) == 1, "what was only tried is no event"


def test_the_reason_of_a_step_is_printed_and_kept(planned):
    text = planned.command("promote", "--reason", "canary quiet since noon").stdout
    assert text.startswith("percent 0 → 50, stage start → half") and "\nreason: canary quiet since noon\n" in text
    assert planned.read("events")["items"][0]["reason"] == "canary quiet since noon"
    assert "canary quiet since noon" in planned.command("events").stdout


def test_a_refusal_says_what_helps(planned):
    planned.command("promote")
    done = planned.command("promote", check=False)
    assert done.returncode == 1 and "stage half is the last one of the plan" in done.stderr
    done = planned.command("journal", "replay", "7", check=False)
    assert done.returncode == 1 and "`cutover journal --parked` lists what can be sent again" in done.stderr
    done = cutover("pause", "--admin", planned.admin_url, check=False, CUTOVER_TOKEN="wrong")
    assert done.returncode == 1 and "the token from CUTOVER_TOKEN does not do" in done.stderr
    assert "--token-file" in done.stderr and "wrong" not in done.stderr


def test_a_refused_command_ends_with_1(planned):
    done = planned.command("promote", "--to", "nowhere", check=False)
    assert done.returncode == 1 and "nowhere" in done.stderr
    assert planned.command("set-percent", "101", check=False).returncode in (1, 2)


def test_pin_explain_unpin(planned):
    planned.command("pin", "ann", "new")
    facts = json.loads(planned.command("explain", "ann", "--json").stdout)
    assert (facts["side"], facts["reason"]) == ("new", "pinned-new")
    assert "pinned" in planned.command("explain", "ann").stdout
    planned.command("unpin", "ann")
    assert json.loads(planned.command("explain", "ann", "--json").stdout)["reason"] == "outside-percent"


def test_a_token_can_come_from_a_file_or_the_environment(planned, scratch):
    file = scratch / "token"
    file.write_text(planned.token() + "\n")
    cutover("set-percent", "5", "--admin", planned.admin_url, "--token-file", file)
    cutover("set-percent", "6", CUTOVER_ADMIN=planned.admin_url, CUTOVER_TOKEN=planned.token())
    assert planned.status()["rollout"]["percent"] == 6
    done = cutover("set-percent", "7", check=False, CUTOVER_ADMIN=planned.admin_url, CUTOVER_TOKEN="wrong")
    assert done.returncode == 1 and planned.status()["rollout"]["percent"] == 6


def test_a_gateway_that_is_not_there_is_an_error_that_says_where(scratch):
    done = cutover("status", "--admin", "http://127.0.0.1:9", check=False, CUTOVER_DATA=str(scratch))
    assert done.returncode == 1 and "127.0.0.1:9" in done.stderr


def test_bucket_prints_the_contracts_line():
    line = cutover("bucket", "42", "--json").stdout.strip()
    row = json.loads(line)
    assert list(row) == ["user", "algorithm", "bucket", "percent_needed"]
    assert row["percent_needed"] == pytest.approx((row["bucket"] + 1) / 100)
    assert len(cutover("bucket", "a", "b", "c", "--json").stdout.splitlines()) == 3
