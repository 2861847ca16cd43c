"""How a command says why it was refused (contract §2)."""

import pytest

PLAN = {"name": "p", "stages": [{"name": "only", "percent": 0}]}


@pytest.mark.parametrize(("arguments", "path", "body"), [
    (["promote"], "rollout/promote", {}),
    (["journal", "replay", "4711"], "journal/replay", {"seqs": [4711]}),
], ids=["promote", "replay"])
def test_a_refusal_names_each_reason_once(make_gateway, legacy, new, arguments, path, body):
    gateway = make_gateway(legacy, new, plan=PLAN)
    status, problem, _ = gateway.admin("POST", "/api/v1/" + path, body, token=gateway.token())
    assert status == 409 and problem["reasons"]
    done = gateway.command(*arguments, check=False)
    assert done.returncode == 1
    for reason in problem["reasons"]:
        assert done.stderr.count(reason) == 1, done.stderr
