"""What is done to a proxy: requests by wrk or by load.c, connections that are held, long bodies, bare system calls."""

import contextlib
import json
import pathlib
import re
import subprocess
from typing import NamedTuple

from programs import program

HERE = pathlib.Path(__file__).resolve().parent


class Load(NamedTuple):
    """What one round has seen; waits in microseconds."""
    requests: int
    rate: float
    failed: int
    p50: float = 0
    p99: float = 0
    max: float = 0


def wrk(port, method, seconds, connections, scheme="http"):
    """As many requests as the connections take, without pauses."""
    done = subprocess.run(
        ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s", "--script",
         HERE / "requests.lua", f"{scheme}://127.0.0.1:{port}/", "--", method],
        capture_output=True, text=True, check=True)
    total = int(re.search(r"(\d+) requests in", done.stdout)[1])
    rate = float(re.search(r"Requests/sec:\s*([\d.]+)", done.stdout)[1])
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", done.stdout)
    return Load(total, rate, (int(wrong[1]) if wrong else 0) + (sum(map(int, sockets.groups())) if sockets else 0))


def _arguments(port, options):
    return [program("load"), str(port), *(str(word) for pair in options.items() for word in pair)]


def requests(port, **options):
    """Runs load.c with its options; with a `rate` the loop is open, without one as fast as the connections take."""
    done = subprocess.run(_arguments(port, options), stdout=subprocess.PIPE, text=True, check=True)
    seen = json.loads(done.stdout)
    return Load(seen["requests"], seen["requests"] / max(seen["seconds"], 1e-9), seen["failed"], seen["p50"],
                seen["p99"], seen["max"])


@contextlib.contextmanager
def held(port, connections):
    """That many clients, each of which has sent one request, has its answer, and stays."""
    command = _arguments(port, {"connections": connections, "requests": connections, "sources": 8})
    with subprocess.Popen([*command, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        seen = json.loads(line) if line else {}
        if seen.get("requests") != connections or seen["failed"]:
            raise RuntimeError(f"{connections} clients were to be answered: {line.strip() or 'load ended'}")
        yield
        process.stdin.close()


def transfer(port, direction, size, count, threads):
    """Moves long bodies `down` or `up`; bytes moved and seconds."""
    command = [program("transfer"), str(port), direction, str(size), str(count), str(threads)]
    seen = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return seen["bytes"], seen["seconds"]


def bare_calls(legs, seconds, request=250, answer=1180):
    """(system calls, microseconds of processor time) of a request without a proxy; the sizes are those of the rows."""
    command = [program("calls"), str(legs), str(seconds), str(request), str(answer)]
    seen = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return seen["calls"], seen["microseconds"]
