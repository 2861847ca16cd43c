"""The admin listener against what its own OpenAPI document promises (Schemathesis)."""

import pathlib
import subprocess

from support.gateway import ROOT
from test_admin import PLAN

SCHEMATHESIS = ROOT / "build/venv/bin/st"
CONFIG = pathlib.Path(__file__).with_name("schemathesis.toml")


def test_every_answer_is_one_that_the_document_promises(make_gateway, legacy_store, new_store):
    gateway = make_gateway(legacy_store, new_store, plan=PLAN)
    for index in range(5):
        assert gateway.fetch("PUT", f"/x/{index}", body=b"{}", user="u").status < 300
    assert SCHEMATHESIS.exists(), "scripts/setup test makes it"
    command = [
        SCHEMATHESIS, "--config-file", CONFIG, "--no-color", "run", f"{gateway.admin_url}/api/v1/openapi.json",
        "--header", f"Authorization: Bearer {gateway.token()}",
        # It never ends; test_stream.py is about it.
        "--exclude-path", "/stream",
        # The eleventh wrong token within a minute gets 429, which that check takes for an open door; the unit tests of
        # the admin API try every operation without a token, with a wrong one and with a viewer's.
        "--checks", "all", "--exclude-checks", "ignored_auth",
        "--phases", "examples,coverage,fuzzing", "--max-examples", "30",
        "--continue-on-failure", "--seed", "4", "--request-timeout", "30", "--output-truncate", "false",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=gateway.directory)
    assert done.returncode == 0, "\n".join(line[:500] for line in (done.stdout + done.stderr).splitlines()[-300:])
    operations = sum(len(item) for item in gateway.read("openapi.json")["paths"].values())
    # All but the stream, and the document itself, which it has read to begin with.
    assert f"Tested: {operations - 2}\n" in done.stdout, done.stdout[-2000:]
    # It is the same gateway, and still in its right mind.
    assert gateway.process.poll() is None and gateway.status()["rollout"]["plan"] == "my-migration"
