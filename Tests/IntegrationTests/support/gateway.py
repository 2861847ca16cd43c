"""The gateway under test: the built binary with its own configuration, data directory and ports."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

from .metrics import Metrics
from .waiting import eventually
from .wire import Connection, request_bytes

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("CUTOVER_BINARY", str(ROOT / ".build/release/cutover"))


def merged(base, extra):
    """`extra` laid over `base`, mappings key by key."""
    result = dict(base)
    for key, value in extra.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def free_port():
    """A port that was free a moment ago, for what cannot pick its own."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def quoted(text):
    """A path segment."""
    return urllib.parse.quote(text, safe="")


class Gateway:
    """One instance. The defaults shadow nothing and wait briefly, so that a test says what it is about."""

    def __init__(self, directory, legacy, new, config=None, plan=None, environment=None, prefix=(), pass_fds=()):
        self.directory = pathlib.Path(directory)
        self.data = self.directory / "data"
        self.config_file = self.directory / "cutover.yaml"
        self.plan_file = self.directory / "plan.yaml"
        self.log_file = self.directory / "gateway.log"
        self.environment, self.prefix, self.pass_fds = dict(environment or {}), list(prefix), pass_fds
        self.serve_arguments = ["--config", str(self.config_file)]
        self.process = self.port = self.admin_port = None
        self.host = self.admin_host = "127.0.0.1"
        # How the admin listener is verified where it speaks TLS (`ssl.SSLContext`).
        self.admin_context = None
        base = {
            "listen": "127.0.0.1:0", "admin": {"listen": "127.0.0.1:0"}, "data": str(self.data), "workers": 2,
            "user": {"from": [{"header": "X-User-Id"}], "salt": "test"},
            "backends": {"legacy": {"url": legacy, "timeout": "5s"}, "new": {"url": new, "timeout": "5s"}},
            "shadow": {"percent": 0}, "timeouts": {"drain": "1s"},
            "writes": {"retry_min": "20ms", "retry_max": "200ms"},
        }
        if plan is not None:
            self.plan_file.write_text(json.dumps(plan, indent=1))
            base["plan"] = str(self.plan_file)
        self.config = merged(base, config or {})

    # Life

    def start(self, wait=True):
        # JSON is the subset of YAML that the contract accepts.
        self.config_file.write_text(json.dumps(self.config, indent=1))
        environment = {**os.environ, **self.environment}
        log = open(self.log_file, "ab")
        self.process = subprocess.Popen(
            [*self.prefix, BINARY, "serve", *self.serve_arguments],
            stdout=subprocess.PIPE, stderr=log, env=environment, cwd=self.directory,
            pass_fds=self.pass_fds)
        log.close()
        self._lines, self._ready = [], threading.Event()
        arguments = (self.process.stdout, self._lines, self._ready)
        threading.Thread(target=self._follow, args=arguments, daemon=True).start()
        if wait:
            self.wait_until_ready()
        return self

    def _follow(self, stream, lines, ready):
        """Reads what one process prints; a process that was replaced must not speak for the new one."""
        with open(self.log_file, "ab") as log:
            for line in stream:
                log.write(line)
                log.flush()
                text = line.decode(errors="replace").strip()
                lines.append(text)
                if match := re.fullmatch(r"cutover: listening on https?://(.*):(\d+)", text):
                    self.host, self.port = match[1], int(match[2])
                elif match := re.fullmatch(r"cutover: admin on https?://(.*):(\d+)", text):
                    self.admin_host, self.admin_port = match[1], int(match[2])
                elif text == "cutover: ready":
                    ready.set()
        ready.set()

    @property
    def is_ready(self):
        """Whether this process has said that it is."""
        return "cutover: ready" in self._lines

    def wait_until_ready(self, seconds=30):
        assert self._ready.wait(seconds), f"the gateway said nothing in {seconds} s\n{self.log()}"
        assert self.is_ready, f"the gateway ended with {self.process.wait(10)}\n{self.log()}"
        eventually(lambda: self.admin("GET", "/readyz")[0] == 200, "GET /readyz says 200")

    def stop(self, seconds=15):
        """SIGTERM, and its exit status; it is killed only when it does not end by itself."""
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the gateway did not end within {seconds} s of SIGTERM\n{self.log()}") from None
        finally:
            self.process = None

    def kill(self):
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self):
        """Starts again on the same data, with new ports."""
        self.kill()
        return self.start()

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    # Traffic

    @property
    def address(self):
        return (self.host, self.port)

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    @property
    def admin_url(self):
        scheme = "https" if self.admin_context else "http"
        return f"{scheme}://{self.admin_host}:{self.admin_port}"

    def connect(self, **options):
        return Connection(self.address, **options)

    def fetch(self, method, target, headers=(), body=None, user=None):
        """One request on a connection of its own."""
        with self.connect() as connection:
            connection.send(request_bytes(method, target, headers, body, user=user))
            return connection.response(method)

    def get(self, target, user=None, headers=()):
        return self.fetch("GET", target, headers, user=user)

    # Operator

    def token(self, name="admin"):
        return (self.data / f"{name}.token").read_text().strip()

    def admin(self, method, path, body=None, token=None, headers=()):
        """A call of the admin listener: (status, decoded JSON or text, headers)."""
        request = urllib.request.Request(self.admin_url + path, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        for name, value in headers:
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=20, context=self.admin_context) as answer:
                status, text, fields = answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            status, text, fields = error.code, error.read().decode(), error.headers
        is_json = (fields.get("Content-Type") or "").endswith(("/json", "+json"))
        return status, json.loads(text) if is_json and text else text, fields

    def read(self, path):
        """GET of the API, which has to succeed."""
        status, body, _ = self.admin("GET", "/api/v1/" + path)
        assert status == 200, (path, status, body)
        return body

    def change(self, method, path, body=None):
        """A change through the API, which has to succeed."""
        status, answer, _ = self.admin(method, "/api/v1/" + path, body, token=self.token())
        assert 200 <= status < 300, (path, status, answer)
        return answer

    def set_percent(self, percent):
        return self.change("POST", "rollout/percent", {"percent": percent})

    def pin(self, user, side):
        return self.change("PUT", f"users/{quoted(user)}/pin", {"side": side})

    def status(self):
        return self.read("status")

    def metrics(self):
        status, text, _ = self.admin("GET", "/metrics")
        assert status == 200
        return Metrics(text)

    def settle(self, seconds=20):
        """Waits until no leg is outstanding."""
        eventually(lambda: sum(self.status()["journal"]["pending"].values()) == 0, "all legs hold", seconds)

    def command(self, *arguments, check=True):
        """Runs an operator command against this gateway; its completed process."""
        return cutover(*arguments, "--admin", self.admin_url, check=check, CUTOVER_DATA=str(self.data))

    # Process

    def resident_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")


def cutover(*arguments, check=True, **environment):
    """Runs the binary with these arguments."""
    done = subprocess.run(
        [BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
    assert not check or done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
    return done
