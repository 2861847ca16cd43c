"""The proxies that are measured side by side, each on one thread, before the same two nginx backends."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Tests" / "IntegrationTests"))

from support.gateway import Gateway, free_port  # noqa: E402
from support.nginx import Nginx  # noqa: E402
from support.waiting import eventually  # noqa: E402

ANSWER = ('{"id":4711,"title":"' + "x" * 40 + '","items":[' + ",".join(
    '{"n":%d,"text":"some words"}' % index for index in range(33)) + "]}").ljust(1024)
TICK = os.sysconf("SC_CLK_TCK")

_POOLS = """
    upstream legacy {{ server 127.0.0.1:{legacy}; keepalive 256; keepalive_requests 10000000; }}
    upstream new {{ server 127.0.0.1:{new}; keepalive 256; keepalive_requests 10000000; }}
    split_clients "$http_x_user_id" $side {{ 50% legacy; * new; }}
    map $side $other {{ legacy new; new legacy; }}
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Request-Id $request_id;
"""
_LOCATIONS = {
    "get": "location / { proxy_pass http://$side; }",
    "shadow": "location / { mirror /mirror; mirror_request_body off; proxy_pass http://$side; }"
    " location = /mirror { internal; proxy_pass_request_body off; proxy_set_header Content-Length \"\";"
    " proxy_pass http://$other$request_uri; }",
    "write": "location / { mirror /mirror; mirror_request_body on; proxy_pass http://$side; }"
    " location = /mirror { internal; proxy_pass http://$other$request_uri; }",
}
_HAPROXY = """
global
    nbthread 1
    maxconn 4096
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    http-reuse always
    option forwardfor
frontend in
    bind 127.0.0.1:{port}
    acl to_new req.hdr(X-User-Id),crc32,mod(2) eq 1
    use_backend new if to_new
    default_backend legacy
backend legacy
    server legacy 127.0.0.1:{legacy}
backend new
    server new 127.0.0.1:{new}
"""


def backend(directory):
    """An nginx that answers everything with the same kilobyte of JSON."""
    server = f"location / {{ default_type application/json; return 200 '{ANSWER}'; }}"
    return Nginx(directory, server=server).start()


class Proxy:
    """A process under measurement."""

    def __init__(self, process, port, stop):
        self.process, self.port, self.stop = process, port, stop

    def processor_seconds(self):
        """User and system time of the process and its children so far."""
        return sum(seconds(pid) for pid in [self.process.pid, *children(self.process.pid)])


def children(parent):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found


def seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def terminate(process):
    process.send_signal(signal.SIGTERM)
    process.wait(20)


def start_nginx(case, directory, legacy, new):
    server = Nginx(directory, server=_LOCATIONS[case], http=_POOLS.format(legacy=legacy.port, new=new.port)).start()
    return Proxy(server.process, server.port, server.stop)


def start_haproxy(case, directory, legacy, new):
    if case != "get":
        return None  # It has no mirror of its own.
    directory.mkdir()
    port = free_port()
    path = directory / "haproxy.cfg"
    path.write_text(_HAPROXY.format(port=port, legacy=legacy.port, new=new.port))
    process = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-q", "-f", str(path)])
    return Proxy(process, port, lambda: terminate(process))


def start_relay(case, directory, legacy, new):
    directory.mkdir()
    binary = directory / "relay"
    subprocess.run(["gcc", "-O2", "-o", binary, HERE / "relay.c"], check=True)
    port = free_port()
    ports = [port, legacy.port] if case == "get" else [port, legacy.port, new.port]
    process = subprocess.Popen([binary, *map(str, ports)])
    return Proxy(process, port, lambda: terminate(process))


def start_gateway(case, directory, legacy, new, settings=None, **options):
    directory.mkdir(exist_ok=True)
    config = {"workers": 1, "shadow": {"percent": 100 if case == "shadow" else 0, "in_flight_max": 1024}}
    gateway = Gateway(directory, legacy.url, new.url, config={**config, **(settings or {})}, **options)
    gateway.data = pathlib.Path(gateway.config["data"])
    gateway.start()
    gateway.set_percent(50)
    proxy = Proxy(gateway.process, gateway.port, gateway.stop)
    proxy.gateway = gateway
    return proxy


STARTERS = {"cutover": start_gateway, "nginx": start_nginx, "haproxy": start_haproxy, "relay": start_relay}


def wait_for_port(port):
    def answers():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    eventually(answers, f"port {port} answers")


def settle_processor(proxy, limit=10.0):
    """Waits until a proxy has nothing left to do, so that its work is counted in its own round."""
    deadline = time.monotonic() + limit
    last = -1.0
    while proxy.processor_seconds() != last and time.monotonic() < deadline:
        last = proxy.processor_seconds()
        time.sleep(0.25)
