"""What `check` sees of the files that a configuration names, and `serve` with it."""

import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml

from support.gateway import BINARY, cutover
from support.tls import Authority

ROOT = pathlib.Path(__file__).parents[2]


def config(**more):
    backends = {"legacy": {"url": "http://127.0.0.1:1"}, "new": {"url": "http://127.0.0.1:2"}}
    return {"data": "data", "backends": backends, **more}


def written(scratch, settings):
    (scratch / "cutover.yaml").write_text(json.dumps(settings, indent=1))
    return scratch / "cutover.yaml"


@pytest.mark.parametrize(("file", "said"), [
    ("missing/access.log", "no directory for"), ("here", "a directory, not a file:"),
    ("plain/access.log", "cannot be reached (Not a directory)"), ("data/deeper/access.log", "no directory for"),
])
def test_a_file_of_the_access_log_that_cannot_be_made_is_named_by_check_and_serve(scratch, file, said):
    (scratch / "here").mkdir()
    (scratch / "plain").write_text("")
    path = written(scratch, config(access_log={"file": file}, nonsense=1))
    for command in ("check", "serve"):
        done = cutover(command, "--config", path, check=False)
        text = done.stdout + done.stderr
        line = next(line for line in text.splitlines() if "access_log.file" in line)
        assert done.returncode == 1 and f'access_log.file: {said} "{scratch}/{file}"' in line
        assert line.startswith(f"{path}:") and "accepted: a file that can be written" in line
        # All errors at once.
        assert "nonsense: unknown key" in text


def test_a_directory_or_file_of_the_access_log_that_is_read_only_is_named(scratch):
    (scratch / "closed").mkdir(mode=0o500)
    (scratch / "kept.log").touch(mode=0o400)
    # The superuser's right to write everywhere would hide it.
    prefix = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    for file, said in (("closed/access.log", "a directory that cannot be written (Permission denied) holds"),
                       ("kept.log", "cannot be written (Permission denied)")):
        path = written(scratch, config(access_log={"file": file}))
        done = subprocess.run([*prefix, BINARY, "check", "--config", path], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and f'access_log.file: {said} "{scratch}/{file}"' in done.stdout, done.stdout


@pytest.mark.parametrize("file", ["access.log", "data/access.log", "stdout"])
def test_check_makes_nothing_and_takes_what_the_start_makes(scratch, file):
    path = written(scratch, config(access_log={"file": file}))
    assert cutover("check", "--config", path).returncode == 0
    assert [entry.name for entry in scratch.iterdir()] == ["cutover.yaml"]


@pytest.mark.parametrize("new", [
    {"url": "htps://new"}, {"url": "http://new"}, {"url": "https://new", "nonsense": 1}, {},
    {"url": "https://new", "tls": {"nonsense": 1}},
])
def test_another_fault_of_a_backend_does_not_hide_that_of_its_authority(scratch, new):
    (scratch / "ca.pem").write_text("hunter2")
    settings = config()
    settings["backends"]["new"] = {**new, "tls": {**new.get("tls", {}), "ca_file": "ca.pem"}}
    text = cutover("check", "--config", written(scratch, settings), check=False).stdout
    assert len(text.splitlines()) == 2 and "hunter2" not in text
    assert "backends.new.tls.ca_file: no certificates in PEM can be read from" in text


# The examples of docs/configuration.md

EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/configuration.md").read_text(), re.MULTILINE | re.DOTALL)


def test_there_is_an_example_of_each_section_that_has_to_do_with_the_edges():
    sections = {key for example in EXAMPLES for key in yaml.safe_load(example)}
    assert sections >= {"listen", "admin", "user", "trusted_proxies", "backends", "limits", "timeouts", "access_log",
                        "tracing", "plan"}


def named_files(value):
    """Every file that an example names, by its key."""
    if isinstance(value, list):
        return [found for item in value for found in named_files(item)]
    if not isinstance(value, dict):
        return []
    found = [(key, file) for key, file in value.items() if key.endswith("_file")]
    return found + [found for item in value.values() for found in named_files(item)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split(":")[0])
def test_an_example_is_valid_as_it_stands(scratch, example):
    """Beside nothing but the backends, where it has none, and with files where it says that they are."""
    settings = yaml.safe_load(example)
    authority = Authority(scratch / "authority")
    own = authority.sign("example.com")
    contents = {"certificate_file": own.certificate.read_bytes(), "key_file": own.key.read_bytes(),
                "ca_file": authority.file.read_bytes(), "client_ca_file": authority.file.read_bytes(),
                "secret_file": b"0123456789abcdef0123456789abcdef\n",
                "jwks_file": b'{"keys":[{"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}'}
    for key, file in named_files(settings):
        (scratch / file).parent.mkdir(exist_ok=True)
        (scratch / file).write_bytes(contents[key])
    if "access_log" in settings:
        (scratch / settings["access_log"]["file"]).parent.mkdir()
    if "plan" in settings:
        (scratch / settings["plan"]).parent.mkdir()
        (scratch / settings["plan"]).write_text((ROOT / settings["plan"]).read_text())
    text = example if "backends" in settings else example + json.dumps(config()["backends"]).join(["backends: ", "\n"])
    (scratch / "cutover.yaml").write_text(text)
    said = cutover("check", "--config", scratch / "cutover.yaml").stdout
    assert "warning" not in said, said
