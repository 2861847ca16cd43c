"""The whole story with a real client and real servers: rclone copies thousands of real files through a rollout."""

import pathlib
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from support.waiting import eventually

FILES = 2200
LARGEST = 1 << 20
USERS = 8
CONFIG = {
    "routes": [{"match": "PROPFIND /**", "kind": "read"}], "shadow": {"percent": 100, "recheck_after": "200ms"},
    "fallback": {"breaker": {"min_requests": 20, "open_for": "500ms"}},
}


def real_files(target):
    """Copies real files, links resolved, into one folder a user; returns how many."""
    count = 0
    for source in (pathlib.Path("/usr/share/doc"), pathlib.Path("/usr/share")):
        for path in sorted(source.rglob("*")):
            if count == FILES:
                return count
            parts = path.relative_to("/usr/share").parts
            # nginx leaves names that begin with a dot out of its listings.
            if not path.is_file() or path.stat().st_size > LARGEST or any(part.startswith(".") for part in parts):
                continue
            copy = target.joinpath(f"user-{count % USERS}", *parts)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            count += 1
    return count


def rclone(command, gateway, source, user, *more):
    return subprocess.run(
        ["rclone", command, str(source / user), f":webdav:/{user}", "--webdav-url", gateway.url, "--webdav-vendor",
         "other", "--header", f"X-User-Id: {user}", "--config", "/dev/null", "--transfers", "4", "--checkers", "4",
         "--retries", "5", "--log-level", "NOTICE", *more], capture_output=True, text=True, timeout=600)


def files_below(root):
    return sum(1 for path in root.rglob("*") if path.is_file())


def test_a_tree_of_real_files_survives_a_rollout(make_gateway, make_nginx, scratch):
    source = scratch / "source"
    assert real_files(source) >= 2000
    legacy, new = make_nginx("legacy", dav=True), make_nginx("new", dav=True)
    gateway = make_gateway(legacy, new, percent=0, config=CONFIG)
    users = [f"user-{index}" for index in range(USERS)]

    with ThreadPoolExecutor(2) as pool:
        copies = [pool.submit(rclone, "copy", gateway, source, user) for user in users]
        for step, percent in enumerate((1, 10, 50, 100, 0), start=1):
            share = FILES * step // 6
            eventually(lambda: files_below(legacy.root) >= share or all(copy.done() for copy in copies),
                       f"{share} files", 300)
            gateway.set_percent(percent)
            if percent == 50:
                new.stop()
                time.sleep(1)
                new.start()
        for copy in copies:
            done = copy.result()
            assert done.returncode == 0, done.stderr
    gateway.settle(120)

    status = gateway.status()
    assert status["journal"]["parked"] == 0, gateway.command("journal", "--parked").stdout
    for ours, theirs in ((source, legacy.root), (legacy.root, new.root)):
        same = subprocess.run(["diff", "-r", ours, theirs], capture_output=True, text=True)
        assert (same.returncode, same.stdout) == (0, "")
    # At 50 some users read from either side.
    gateway.set_percent(50)
    for user in users:
        checked = rclone("check", gateway, source, user, "--download")
        assert checked.returncode == 0, checked.stderr
