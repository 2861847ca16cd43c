"""Where a command's text goes: a full disk, a closed descriptor, a terminal of few lines and columns."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

import pytest

from support.gateway import BINARY


@pytest.mark.parametrize("redirection, words", [
    (">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
@pytest.mark.parametrize("command", ["status", "version", "events"])
def test_a_text_that_cannot_be_written_is_said_in_one_line(gateway, command, redirection, words):
    where = "" if command == "version" else f"--admin {gateway.admin_url}"
    done = subprocess.run(
        ["sh", "-c", f"{BINARY} {command} {where} {redirection}"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == f"cutover: cannot write to standard output: {words}\n"


def test_a_pipe_that_nobody_reads_any_more_is_silent(gateway):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [BINARY, "status", "--admin", gateway.admin_url], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert done.returncode != 0 and done.stderr == b""


def watched(gateway, rows, columns):
    """The first frame of `status --watch` on a terminal of that size, line by line, without its control sequences."""
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
    process = subprocess.Popen(
        [BINARY, "status", "--watch", "--admin", gateway.admin_url], stdout=theirs, stdin=theirs, env=environment)
    os.close(theirs)
    seen, deadline = b"", time.monotonic() + 30
    try:
        while b"\x1b[J" not in seen:
            assert time.monotonic() < deadline, seen
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 65536)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    frame = seen.split(b"\x1b[J")[0].decode()
    return [line.replace("\x1b[K", "").replace("\r", "").removeprefix("\x1b[?7l") for line in frame.split("\n")][:-1]


@pytest.mark.parametrize("rows, columns", [(24, 80), (16, 40)])
def test_a_watched_status_fits_its_terminal_and_shows_the_backends(gateway, rows, columns):
    lines = watched(gateway, rows, columns)
    assert len(lines) <= rows - 1
    assert [line for line in lines if len(line) > columns] == []
    for words in ("backend  health", "legacy   up", "new      up", "stage    none"):
        assert any(line.startswith(words) for line in lines), (words, lines)
