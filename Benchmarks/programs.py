"""The C programs of this folder, compiled on first use, and gone when the harness ends."""

import atexit
import functools
import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


@functools.cache
def _folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cutover-programs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def program(name):
    """The path of a compiled program."""
    path = _folder() / name
    subprocess.run(
        ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", path, HERE / f"{name}.c"], check=True)
    return path
