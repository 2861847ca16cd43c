"""The proxies that are measured side by side, each on one thread, before the same two backends."""

import pathlib
import signal
import socket
import subprocess
import sys

import configurations
import processes
from programs import program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Tests" / "IntegrationTests"))

from support.gateway import Gateway, free_port  # noqa: E402
from support.nginx import Nginx  # noqa: E402
from support.waiting import eventually  # noqa: E402


class Proxy:
    """A process under measurement."""

    def __init__(self, process, port, stop, gateway=None):
        self.process, self.port, self.stop, self.gateway = process, port, stop, gateway

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def processor_seconds(self):
        """User and system time of the process and its children so far."""
        return processes.processor_seconds(self.process.pid)

    def settle(self):
        processes.settle_processor(self.process.pid)

    def spent(self, work):
        """What `work()` returns, and the seconds of processor time that the proxy took for it."""
        self.settle()
        before = self.processor_seconds()
        result = work()
        self.settle()
        return result, self.processor_seconds() - before


def started(command, port):
    """A program that listens on this port and ends by SIGTERM."""
    process = subprocess.Popen([*map(str, command)])

    def stop():
        process.send_signal(signal.SIGTERM)
        process.wait(20)

    wait_for_port(port)
    return Proxy(process, port, stop)


def backend(directory):
    """An nginx that answers everything with the same kilobyte of JSON."""
    server = f"location / {{ default_type application/json; return 200 '{configurations.ANSWER}'; }}"
    return Nginx(directory, server=server).start()


def body_backend(_):
    """A program that answers with as many bytes as it is asked for, and swallows what it is sent."""
    port = free_port()
    return started([program("backend"), port], port)


def start_nginx(case, directory, legacy, new, connections=4096):
    server = Nginx(directory, server=configurations.NGINX_LOCATIONS[case],
                   http=configurations.NGINX_POOLS.format(legacy=legacy.port, new=new.port), connections=connections)
    server.start()
    return Proxy(server.process, server.port, server.stop)


def start_haproxy(case, directory, legacy, new):
    if case != "get":
        return None  # It has no mirror of its own.
    directory.mkdir()
    port = free_port()
    path = directory / "haproxy.cfg"
    path.write_text(configurations.HAPROXY.format(port=port, legacy=legacy.port, new=new.port))
    return started(["/usr/sbin/haproxy", "-db", "-q", "-f", path], port)


def start_relay(case, directory, legacy, new):
    port = free_port()
    second = [new.port] if case in ("shadow", "write") else []
    return started([program("relay"), port, legacy.port, *second], port)


def start_gateway(case, directory, legacy, new, settings=None, **options):
    directory.mkdir(exist_ok=True)
    config = {**configurations.gateway(case), **(settings or {})}
    gateway = Gateway(directory, legacy.url, new.url, config=config, **options)
    gateway.data = pathlib.Path(gateway.config["data"])
    gateway.start()
    gateway.set_percent(50)
    return Proxy(gateway.process, gateway.port, gateway.stop, gateway)


STARTERS = {"cutover": start_gateway, "nginx": start_nginx, "haproxy": start_haproxy, "relay": start_relay}


def wait_for_port(port):
    def answers():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    eventually(answers, f"port {port} answers")
