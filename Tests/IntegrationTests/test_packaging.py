"""The Debian package, its unit and the container file: what they install is there, works, and is closed as it says."""

import gzip
import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

from support.gateway import BINARY, ROOT, Gateway
from support.waiting import eventually

PACKAGING = ROOT / "packaging"


def output(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return pathlib.Path(
        output(ROOT / "scripts/package-deb", BINARY, tmp_path_factory.mktemp("package")).splitlines()[-1])


@pytest.fixture(scope="module")
def installed(package, tmp_path_factory):
    """The package's files below a directory of their own."""
    root = tmp_path_factory.mktemp("root")
    output("dpkg-deb", "-x", package, root)
    return root


def field(package, name):
    return output("dpkg-deb", "-f", package, name).strip()


def names(text):
    return {part.split()[0] for part in text.split(",")}


def test_the_package_says_what_it_is_and_needs(package):
    version = output(BINARY, "version").split()[1]
    assert package.name == f"cutover_{version}_{field(package, 'Architecture')}.deb"
    assert field(package, "Version") == version
    needed = names(field(package, "Depends"))
    assert {"libc6", "libcurl4", "libpq5", "libsqlite3-0", "libyaml-0-2", "adduser"} <= needed
    assert set(output("dpkg-deb", "-I", package, "conffiles").split()) == {
        "/etc/cutover/cutover.yaml", "/etc/cutover/rollout/staged.yaml"}


def test_the_changelog_is_one_that_debian_reads(package, installed):
    text = gzip.decompress((installed / "usr/share/doc/cutover/changelog.gz").read_bytes())
    read = output("dpkg-parsechangelog", "--file", "-", input=text.decode())
    assert f"Version: {field(package, 'Version')}" in read.splitlines()
    ours = gzip.decompress((installed / "usr/share/doc/cutover/CHANGELOG.md.gz").read_bytes())
    assert ours.startswith(b"# Changelog")


def test_everything_is_owned_by_root_and_writable_by_nobody_else(package):
    for line in output("dpkg-deb", "--contents", package).splitlines():
        mode, owner = line.split()[:2]
        assert owner == "root/root" and mode[5] == mode[8] == "-" and "s" not in mode, line


def test_the_example_configuration_is_valid_where_it_is_installed(installed):
    said = output(installed / "usr/bin/cutover", "check", "--config", installed / "etc/cutover/cutover.yaml")
    assert "valid; plan my-migration with 6 stages" in said


def test_the_installed_gateway_gets_ready_with_the_example_configuration(installed, scratch, legacy, new):
    gateway = Gateway(
        scratch, legacy.url, new.url,
        prefix=["/bin/sh", "-c", 'shift; exec "$0" "$@"', str(installed / "usr/bin/cutover")])
    # What another gateway on this machine may have taken already.
    gateway.serve_arguments = [
        "--config", str(installed / "etc/cutover/cutover.yaml"), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
        "--data", str(gateway.data), "--legacy", legacy.url, "--new", new.url]
    try:
        gateway.start()
        assert gateway.get("/", user="u").backend == "legacy"
        assert gateway.status()["rollout"]["stage"] == "dual-write"
        assert gateway.stop() == 0
    finally:
        gateway.kill()


def test_the_units_are_valid_and_name_what_the_package_installs(installed):
    units = installed / "usr/lib/systemd/system"
    # Where they would be, with what they call.
    text = (units / "cutover.service").read_text()
    for line in re.findall(r"^Exec\w+=(.*)$", text, re.MULTILINE):
        program = line.split()[0]
        assert (installed / program[1:]).exists() or pathlib.Path(program).exists(), line
        for word in line.split():
            if word.startswith("/etc/"):
                assert (installed / word[1:]).exists(), line
    here = units / "verified"
    here.mkdir()
    (here / "cutover.service").write_text(text.replace("/usr/bin/cutover", str(installed / "usr/bin/cutover")))
    (here / "cutover.socket").write_text((units / "cutover.socket").read_text())
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", here / "cutover.service", here / "cutover.socket"],
        capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_makes_the_directory_where_the_documents_put_the_access_log():
    text = (ROOT / "docs/configuration.md").read_text()
    shown = set(re.findall(r"/var/log/(\w+)/access\.log", text))
    unit = (PACKAGING / "cutover.service").read_text()
    assert shown == set(re.findall(r"^LogsDirectory=(.*)$", unit, re.MULTILINE)) == {"cutover"}


def test_the_unit_leaves_the_gateway_little_to_harm():
    """Of ten points of exposure at most two; a service without any such line has 9.6."""
    output("systemd-analyze", "security", "--offline=true", "--threshold=20", PACKAGING / "cutover.service")


def test_maintainer_scripts_are_shell_and_leave_the_journal(installed):
    for name in ("postinst", "prerm", "postrm"):
        output("sh", "-n", PACKAGING / "debian" / name)
    assert "rm " not in (PACKAGING / "debian/postrm").read_text()
    # The program of a running gateway is replaced without a stop.
    assert "--signal=USR2" in (PACKAGING / "debian/postinst").read_text()


def system_calls(name):
    """All system calls of one of systemd's sets, or the one of this name."""
    found = set() if name.startswith("@") else {name}
    if found:
        return found
    for line in output("systemd-analyze", "syscall-filter", name).splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            found |= system_calls(word)
        elif word and not word.startswith("#"):
            found.add(word)
    return found


def test_a_whole_life_needs_no_system_call_that_the_unit_forbids(make_gateway, legacy, new, scratch):
    """Start, reads, writes, a reload, an upgrade and a stop, under strace."""
    text = (PACKAGING / "cutover.service").read_text()
    allowed = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", text, re.MULTILINE):
        for word in line.removeprefix("~").split():
            allowed = allowed - system_calls(word) if line.startswith("~") else allowed | system_calls(word)
    trace = scratch / "trace"
    gateway = make_gateway(
        legacy, new, prefix=["strace", "-f", "-qq", "-o", str(trace)], config={"timeouts": {"drain": "5s"}})
    assert gateway.fetch("PUT", "/a", (), b"text", user="u").status == 200
    assert gateway.get("/a", user="u").status == 200
    child = int(pathlib.Path(f"/proc/{gateway.process.pid}/task/{gateway.process.pid}/children").read_text())
    os.kill(child, signal.SIGHUP)
    eventually(lambda: "configuration reloaded" in gateway.log(), "it reloads", 60)
    os.kill(child, signal.SIGUSR2)
    eventually(lambda: gateway.log().count("cutover: ready") == 2, "another program takes over", 120)
    assert gateway.get("/a", user="u").status == 200
    process = gateway.process
    os.kill(child, signal.SIGTERM)
    assert process.wait(60) == 0
    called = trace.read_text(errors="replace")
    used = set(re.findall(r"^\d+ +(?:<\.\.\. )?([a-z]\w*)(?:\(| resumed)", called, re.MULTILINE))
    assert {"epoll_wait", "sendto", "execve"} <= used
    # SQLite gives its files to the database's owner, but only as root, which the unit's process is not.
    assert used - allowed - {"fchown"} == set()
    assert not re.findall(r"^.*(?:mmap|mprotect)\(.*PROT_WRITE\|PROT_EXEC.*$", called, re.MULTILINE)


def test_the_container_has_every_library_and_no_power(package):
    text = (ROOT / "Containerfile").read_text()
    run = text.split("\nFROM ")[-1]
    packages = set(re.findall(r"[\w.+-]+", run.split("--no-install-recommends")[1].split("&&")[0]))
    assert names(field(package, "Depends")) - {"adduser"} <= packages
    assert re.search(r"^USER \d+:\d+$", run, re.MULTILINE) and re.search(r"^STOPSIGNAL SIGTERM$", run, re.MULTILINE)
    health = re.search(r'^HEALTHCHECK .*CMD \["cutover", (.*)\]$', run, re.MULTILINE)[1]
    assert health.startswith('"status"')
    # Nothing runs where the command asks: it says so by its exit status.
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        asked = [word.strip('"') for word in health.split(", ")]
        done = subprocess.run(
            [BINARY, *asked, "--admin", "http://127.0.0.1:%d" % nobody.getsockname()[1]],
            capture_output=True, timeout=30)
    assert done.returncode == 1
