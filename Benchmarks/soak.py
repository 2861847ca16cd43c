"""Mixed traffic for a long time while backends come and go, the percent moves, and the gateway is reloaded and
replaced; nothing acknowledged may be lost. An nginx that retries nothing stands beside it before the same backend, with
clients of the same kinds, and is reloaded and replaced at the same moments.

Ends with 1 when a write is missing, an answer was wrong, the gateway's clients saw more errors than those of nginx, or
memory or descriptors kept growing.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import proxies
from soak_clients import Front, Store, Trouble
from support.gateway import Gateway, free_port
from support.nginx import Nginx
from support.store import CHANGE_ROUTES
from support.tls import Authority, client_context
from support.upgrade import upgrade

# Of the whole time: programs are replaced only before, so that one process lives long enough to show what grows.
REPLACED_UNTIL = 0.4
# What is kept of old writes is pruned within the run.
PLAN = {"name": "soak", "rollback_window": "5m", "stages": [{"name": "any", "percent": 0}]}
MEMORY_GROWTH = 24 << 20
DESCRIPTOR_GROWTH = 16


class Context:
    """How clients speak TLS, and how they do where they want HTTP/2."""

    def __init__(self, authority):
        self.plain, self.for_http2 = client_context(authority), client_context(authority)
        self.for_http2.set_alpn_protocols(["h2"])

    def wrap_socket(self, *arguments, **options):
        """As of `ssl.SSLContext`."""
        return self.plain.wrap_socket(*arguments, **options)


class ReferenceNginx(Nginx):
    """One worker, nothing is tried again."""

    def __init__(self, directory, backend, files):
        self.secure = free_port()
        server = f"""
            listen 127.0.0.1:{self.secure} ssl http2;
            ssl_certificate {files["certificate_file"]}; ssl_certificate_key {files["key_file"]};
            location / {{
                proxy_pass {backend}; proxy_http_version 1.1; proxy_next_upstream off; proxy_buffering off;
                proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
            }}"""
        http = "map $http_upgrade $connection_upgrade { default upgrade; '' ''; } "
        super().__init__(directory, server=server, http=http)
        text = self.configuration.read_text()
        # Only a daemon lets itself be replaced.
        text = text.replace("daemon off;", "daemon on;\nworker_shutdown_timeout 2s;")
        self.configuration.write_text(text)

    def start(self):
        subprocess.run(["/usr/sbin/nginx", "-p", str(self.directory), "-c", str(self.configuration),
                        "-e", str(self.directory / "error.log")], check=True)
        proxies.wait_for_port(self.secure)
        return self

    @property
    def master(self):
        return int((self.directory / "nginx.pid").read_text())

    def reload(self):
        os.kill(self.master, signal.SIGHUP)

    def upgrade(self):
        """As nginx.org describes it: a second master, and the first one leaves."""
        old = self.master
        os.kill(old, signal.SIGUSR2)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            time.sleep(0.05)
            if (self.directory / "nginx.pid").exists() and (self.directory / "nginx.pid").read_text().strip() not in (
                    "", str(old)):
                break
        os.kill(old, signal.SIGQUIT)

    def end(self):
        os.kill(self.master, signal.SIGTERM)


def grown(samples, reduce):
    """How much more the last quarter has than the second one: in the first everything finds its size."""
    quarter = max(1, len(samples) // 4)
    return reduce(samples[-quarter:]) - reduce(samples[quarter:2 * quarter] or samples)


def shown(front):
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(front.done.items()))
    return (f"{front.name}: {sum(front.done.values())} exchanges ({kinds}); {front.refused} answers without a backend, "
            f"{len(front.broken)} broken, {len(front.cut)} cut by a backend, {len(front.wrong)} wrong")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    options = arguments.parse_args()
    print(f"seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cutover-soak-"))
    legacy, new = Store(), Store()
    authority = Authority(directory / "authority")
    files, context = authority.sign("localhost", "127.0.0.1").files, Context(authority)
    secure = free_port()
    config = {"listen": [{"address": "127.0.0.1:0"}, {"address": f"127.0.0.1:{secure}", "tls": files}],
              "routes": CHANGE_ROUTES, "shadow": {"percent": 100}, "timeouts": {"drain": "2s"},
              "writes": {"idempotency_retention": "5m"}}
    gateway = Gateway(directory, legacy.url, new.url, config=config, plan=PLAN).start()
    nginx = ReferenceNginx(directory / "nginx", legacy.url, files).start()
    proxies.wait_for_port(secure)
    port = next(line.rsplit(":", 1)[1] for line in gateway.log().splitlines()
                if "listening on http://" in line)
    trouble = Trouble(dice, legacy, new)
    ours = Front("cutover", ("127.0.0.1", int(port)), ("127.0.0.1", secure), context, trouble).start()
    theirs = Front("nginx", ("127.0.0.1", nginx.port), ("127.0.0.1", nginx.secure), context, trouble).start()
    begin, memory, descriptors, upgrades, reloads = time.monotonic(), [], [], 0, 0
    end = begin + options.minutes * 60
    while time.monotonic() < end:
        time.sleep(min(5, max(0.1, end - time.monotonic())))
        for store in (legacy, new):
            store.forget()
            store.applied.clear()
        gateway.set_percent(dice.choice([0, 1, 10, 50, 100]))
        trouble.make()
        if dice.random() < 0.2:
            gateway.process.send_signal(signal.SIGHUP)
            nginx.reload()
            reloads += 1
        if dice.random() < 0.2 and time.monotonic() < begin + REPLACED_UNTIL * (end - begin):
            nginx.upgrade()
            upgrade(gateway)
            upgrades += 1
            memory.clear()
            descriptors.clear()
        memory.append(gateway.resident_bytes())
        descriptors.append(len(os.listdir(f"/proc/{gateway.process.pid}/fd")))
        print(f"{time.monotonic() - begin:.0f} s: {memory[-1] >> 20} MiB, {descriptors[-1]} descriptors, "
              f"{reloads} reloads, {upgrades} upgrades; {len(ours.broken)} broken, {len(ours.wrong)} wrong, "
              f"{ours.refused} without a backend (nginx {len(theirs.broken)}, {len(theirs.wrong)}, {theirs.refused})",
              flush=True)
    ours.finish()
    theirs.finish()
    gateway.settle(120)
    missing = [path for path, body in ours.acknowledged.items()
               for store in (legacy, new) if store.documents.get(path) != body]
    more = grown(memory, statistics.median)
    # Connections come and go, many of them after an outage: what is open at the quietest moment tells of a leak.
    opened = grown(descriptors, min)
    gateway.stop()
    nginx.end()
    for line in [*ours.wrong[:20], *ours.broken[:20], *missing[:20], *[f"nginx: {text}" for text in theirs.broken[:5]]]:
        print(line)
    for front in (ours, theirs):
        print(shown(front))
        for what, found in (("refused while a backend failed", front.refusals), ("unexplained", front.unexplained)):
            print(f"  {what}: {', '.join(f'{count} {key}' for key, count in found.most_common()) or 'nothing'}")
    print(f"{len(missing)} writes missing; memory grew by {more / (1 << 20):.1f} MiB and descriptors by {opened} in "
          f"the {len(memory) * 5 // 60} minutes since the last of {upgrades} upgrades; {reloads} reloads; "
          f"seed {options.seed}")
    # A tunnel is the business of one side: where new is down it is refused as nginx refuses one where its backend is.
    refused = sum(count for what, count in ours.refusals.items() if not what.startswith("Tunnel"))
    worse = (len(ours.broken) > len(theirs.broken)
             or refused * sum(theirs.done.values()) > theirs.refused * sum(ours.done.values()))
    kept = more > MEMORY_GROWTH or opened > DESCRIPTOR_GROWTH
    failed = bool(missing or ours.wrong or ours.unexplained or worse or kept)
    shutil.rmtree(directory, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
