"""An admin listener that is played: the page's own document before answers that a test makes up.

For states that a real gateway reaches only after hours, and for behaviour that it must never show (a request that
hangs, text that wants to be markup). It serves the document and the headers that the real gateway gave.
"""

import copy
import http.server
import json
import math
import queue
import random
import threading
import time
import urllib.parse

OPERATOR, VIEWER = "operator-" + "0" * 24, "viewer-" + "0" * 24


def instant(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def stages():
    made = [("dual-write", 0, 0, 0), ("shadow", 0, 100, 3600), ("canary", 1, 100, 7200), ("early", 10, 100, 14400),
            ("half", 50, 100, 43200), ("full", 100, 100, 604800)]
    return [{"name": name, "percent": percent, "shadow_percent": shadow, "dual_write": True, "hold_seconds": hold}
            for name, percent, shadow, hold in made]


def gate(name, threshold, value, samples, verdict="pass", backend="new", reason="", over_legacy=None):
    return {"name": name, "threshold": threshold, "over_legacy": over_legacy, "backend": backend, "value": value,
            "samples": samples, "verdict": verdict, "reason": reason, "applies": True}


def healthy_status():
    """Canary, under load for an hour and a quarter of two, every gate passes."""
    gates = [
        gate("read_error_rate", 0.005, 0.0007, 1412, reason="0.07 % of 1,412 reads of new, limit 0.5 %",
             over_legacy=0.002),
        gate("write_p95", 0.3, 0.0184, 377, reason="18 ms over 377 writes of new, limit 300 ms", over_legacy=1.5),
        gate("conflict_rate", 0.01, 0.0011, 9120, reason="0.11 % of 9,120 writes, limit 1 %", backend=None),
        gate("fallback_rate", 0.005, 0.0006, 1789, reason="0.06 % of 1,789 requests of users on new, limit 0.5 %"),
        gate("mismatch_rate", 0.001, 0.0002, 52210, reason="0.02 % of 52,210 comparisons, limit 0.1 %", backend=None),
        gate("journal_lag", 30, 0.4, 1, reason="the oldest outstanding leg waits for 0.4 s, limit 30 s", backend=None)]

    def figure(number, **more):
        return {**{key: gates[number][key] for key in
                   ("value", "samples", "threshold", "verdict", "over_legacy", "reason", "backend")}, **more}

    return {
        "rollout": {"plan": "my-migration", "stage": "canary", "percent": 1.0, "shadow_percent": 100.0,
                    "dual_write": True, "legacy_writes": True, "state": "running", "state_reason": None,
                    "since": instant(time.time() - 4500), "generation": 12},
        "metrics": {
            "read_error_rate": figure(
                0, by_backend={"legacy": {"value": 0.0002, "samples": 52210},
                               "new": {"value": 0.0007, "samples": 1412}},
                client={"value": 0.00002, "samples": 53622}),
            "write_p95_seconds": figure(
                1, by_backend={"legacy": {"value": 0.0212, "samples": 8743}, "new": {"value": 0.0184, "samples": 377}},
                leg_by_backend={"legacy": {"value": 0.012, "samples": 9100}, "new": {"value": 0.009, "samples": 9100}},
                total={"value": 0.0211, "samples": 9120}),
            "conflict_rate": figure(2, by_source={"gateway": 9, "legacy": 1, "new": 0}),
            "fallback_rate": figure(3, by_reason={"connect": 0, "timeout": 1, "5xx": 0, "404": 0},
                                    by_kind={"read": 1, "write": 0})},
        "gates": gates,
        "next": {"stage": "early", "percent": 10.0, "mode": "manual", "hold_seconds": 7200, "held_seconds": 4380,
                 "idle_seconds": 120, "waiting_seconds": 0, "ready": False,
                 "blocked_by": ["stage canary is held for 47 min more"]},
        "shadow": {"compared": 812340, "matched": 812178, "mismatched": 12, "transient": 150, "dropped": 3},
        "journal": {"pending": {"legacy": 0, "new": 3}, "oldest_pending_seconds": {"legacy": 0, "new": 0.4},
                    "parked": 0, "missing": {"legacy": 0}, "caught_up_at": {"legacy": None},
                    "caught_up_legs": {"legacy": 0},
                    "catching_up": {"legacy": False},
                    "catch_up": {"legacy": {"rate": 0, "seconds": None}, "new": {"rate": 30.5, "seconds": 0.1}}},
        "store": {"kind": "sqlite"},
        "backends": {"legacy": {"healthy": True}, "new": {"healthy": True}},
        "window_seconds": 300, "covered_seconds": 300}


def history_row(at, seconds=10, **more):
    row = {"at": instant(at), "seconds": seconds, "instance": "a", "percent": 1.0, "stage": "canary",
           "state": "running", "generation": 12, "load_seconds": seconds, "reads": {"legacy": 1740, "new": 47},
           "read_errors": {"legacy": 0, "new": 0}, "client_errors": 0, "writes": {"legacy": 290, "new": 12},
           "write_p95_seconds": {"legacy": 0.021, "new": 0.018}, "writes_received": 302, "conflicts": 0,
           "new_requests": 59, "fallbacks": 0, "compared": 1740, "mismatched": 0,
           "pending": {"legacy": 0, "new": 2}, "parked": 0}
    row.update(more)
    return row


def ordinary_rows(now, seed=4):
    """Fifteen minutes and a window of five in tens of seconds: first shadow reads, then a canary as good as legacy."""
    draw, rows = random.Random(seed), []
    for age in range(120, 0, -1):
        canary = age < 62
        new = draw.randint(38, 60) if canary else 0
        failed = 1 if canary and draw.random() < 0.03 else 0
        legacy = round(1740 + 110 * math.sin(age / 11) + draw.randint(-60, 60))
        rows.append(history_row(
            now - age * 10, stage="canary" if canary else "shadow", percent=1.0 if canary else 0.0,
            reads={"legacy": legacy, "new": new}, read_errors={"legacy": int(draw.random() < 0.25), "new": failed},
            write_p95_seconds={"legacy": 0.021 + 0.004 * math.sin(age / 9) + 0.003 * draw.random(),
                               "new": 0.018 + 0.003 * math.sin(age / 7) + 0.003 * draw.random() if canary else None},
            conflicts=int(draw.random() < 0.35), new_requests=new + 12 if canary else 0, fallbacks=failed))
    return rows


class PlayedAdmin:
    """`status`, `stages`, `rows`, `lists` and `answers` may be changed at any time; what came is in `requests`."""

    def __init__(self, document, headers, has_stream=True):
        self.document, self.headers, self.has_stream = document, headers, has_stream
        self.status, self.stages, self.rows = healthy_status(), stages(), []
        self.lists = {"events": [], "mismatches": [], "journal": []}
        self.users = {}
        self.requests, self.streams = [], []
        # path → function(request) → (status, body); looked at before all else.
        self.answers = {}
        # Paths whose requests get no answer, and whether streams say nothing.
        self.hangs = set()
        self.is_silent = False
        self.released = threading.Event()
        self.server = self.port = None
        self.start()

    # Life

    def start(self):
        played = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_any(self):
                played.handle(self)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # A browser that breaks off is nothing to print.

        self.server = Server(("127.0.0.1", self.port or 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        for stream in self.streams:
            stream.put(None)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    # What a test does to it

    def send(self, name, data, seq=None):
        """An event for all streams that are open."""
        lines = ([f"id: {seq}"] if seq is not None else []) + [f"event: {name}", f"data: {json.dumps(data)}", "", ""]
        for stream in list(self.streams):
            stream.put("\n".join(lines).encode())

    def push(self):
        self.send("status", self.status)

    def changes(self, method=None):
        """The changes that came and were meant: without dry runs."""
        return [one for one in self.requests if one["method"] != "GET" and not (one["body"] or {}).get("dry_run")
                and method in (None, one["method"])]

    # Answering

    def handle(self, request):
        length = int(request.headers.get("Content-Length") or 0)
        raw = request.rfile.read(length)
        url = urllib.parse.urlsplit(request.path)
        seen = {"method": request.command, "path": url.path, "query": url.query,
                "body": json.loads(raw) if raw else None, "headers": dict(request.headers)}
        self.requests.append(seen)
        if url.path in self.hangs:
            self.released.wait(60)
            return
        if url.path == "/":
            return self.reply(request, 200, self.document, self.headers)
        if url.path == "/api/v1/stream" and self.has_stream:
            return self.stream(request)
        status, body = self.answer(seen)
        kind = "application/json" if status < 400 else "application/problem+json"
        self.reply(request, status, json.dumps(body).encode(), {"Content-Type": kind, "Cache-Control": "no-store"})

    @staticmethod
    def reply(request, status, body, headers):
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def stream(self, request):
        mine = queue.Queue()
        self.streams.append(mine)
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        request.wfile.write(b"retry: 2000\n\n")
        try:
            while not self.released.is_set():
                if self.is_silent:
                    time.sleep(0.05)
                    continue
                request.wfile.write(f"event: status\ndata: {json.dumps(self.status)}\n\n".encode())
                request.wfile.flush()
                deadline = time.monotonic() + 1
                while (left := deadline - time.monotonic()) > 0:
                    try:
                        piece = mine.get(timeout=left)
                    except queue.Empty:
                        break
                    if piece is None:
                        return
                    request.wfile.write(piece)
                    request.wfile.flush()
        except OSError:
            pass
        finally:
            self.streams.remove(mine)

    def answer(self, seen):
        if made := self.answers.get(seen["path"]):
            return made(seen)
        path = seen["path"].removeprefix("/api/v1/")
        if seen["method"] == "GET":
            return self.read(path, urllib.parse.parse_qs(seen["query"]))
        given = seen["headers"].get("Authorization", "")
        if given not in (f"Bearer {OPERATOR}", f"Bearer {VIEWER}"):
            return problem(401, "the token is not one of this gateway's" if given else "this needs an admin token")
        if given == f"Bearer {VIEWER}":
            return problem(403, "a viewer token may only read")
        generation = self.status["rollout"]["generation"]
        if (match := seen["headers"].get("If-Match")) and match != f'"{generation}"':
            return problem(412, f"the rollout is at generation {generation} by now")
        return self.change(path, seen["body"] or {})

    def read(self, path, query):
        if path == "status":
            return 200, self.status
        if path == "rollout":
            return 200, {**self.status["rollout"], "stages": self.stages, "next": self.status.get("next")}
        if path == "metrics/history":
            resolution = int(query["resolution"][0])
            return 200, {"items": [row for row in reversed(self.rows) if row["seconds"] == resolution], "next": None}
        if path in self.lists:
            return 200, {"items": self.lists[path], "next": None}
        if path.startswith("users/"):
            user = self.users.get(urllib.parse.unquote(path.removeprefix("users/")))
            return (200, user) if user else problem(404, "no such user")
        return problem(404, f"the API has no {path}")

    def change(self, path, body):
        rollout = self.status["rollout"]
        before, after = copy.deepcopy(rollout), copy.deepcopy(rollout)
        if path == "rollout/promote":
            failing = [f"gate {one['name']} fails: {one['reason']}" for one in self.status["gates"]
                       if one["verdict"] == "fail"]
            if failing and not body.get("force"):
                return problem(409, "; ".join(failing), failing)
            goal = self.status["next"]
            after.update(stage=goal["stage"], percent=goal["percent"], state="running")
        elif path == "rollout/rollback":
            after.update(stage="dual-write", percent=0, state="rolled_back")
        elif path == "rollout/pause":
            after.update(state="paused")
        elif path == "rollout/resume":
            after.update(state="running")
        elif path == "journal/replay":
            count = len(body.get("seqs") or self.lists["journal"])
            self.lists["journal"] = [row for row in self.lists["journal"] if row["seq"] not in (body.get("seqs") or [])]
            self.status["journal"]["parked"] = len(self.lists["journal"])
            return 200, {"replayed": count, "seqs": body.get("seqs") or []}
        else:
            return problem(404, f"the API has no {path}")
        if not body.get("dry_run"):
            after.update(generation=rollout["generation"] + 1, since=instant(time.time()))
            self.status["rollout"] = after
            self.push()
        warnings = [f"gate {one['name']}: {one['verdict']}" for one in self.status["gates"]
                    if one["verdict"] in ("insufficient", "warming_up")]
        return 200, {"before": before, "after": after, "warnings": warnings, "generation": after["generation"],
                     "actor": "admin@127.0.0.1", "reason": body.get("reason", ""), "dry_run": bool(body.get("dry_run"))}


def problem(status, detail, reasons=()):
    body = {"type": "about:blank", "title": "Refused", "status": status, "detail": detail}
    return status, {**body, "reasons": list(reasons)} if reasons else body
