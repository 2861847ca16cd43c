"""What hostile clients do many times over, and a well-behaved one that must notice nothing of it."""

import collections
import os
import pathlib
import resource
import socket
import struct
import threading
import time

from .wire import WireError, request_bytes


def allow_many_descriptors():
    """This process may open as many as the system lets it; returns how many that are."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Bystander(threading.Thread):
    """A client that asks again and again until `finish`, which fails if any answer was wrong or late.

    On one connection, or each time on a `fresh` one.
    """

    def __init__(self, gateway, fresh=False):
        super().__init__(daemon=True)
        self.gateway, self.fresh = gateway, fresh
        self.answers, self.longest, self.surprises = 0, 0.0, []
        self.stopping = threading.Event()
        self.start()

    def run(self):
        connection = None
        while not self.stopping.is_set():
            begun = time.monotonic()
            try:
                connection = connection or self.gateway.connect()
                answer = connection.request("GET", "/bystander")
                if answer.status != 200:
                    self.surprises.append(answer)
            except (OSError, WireError) as error:
                self.surprises.append(error)
                connection = None
            self.answers += 1
            self.longest = max(self.longest, time.monotonic() - begun)
            if self.fresh and connection:
                connection.close()
                connection = None
            self.stopping.wait(0.02)

    def finish(self, longest=5.0):
        self.stopping.set()
        self.join(30)
        assert self.surprises == [], self.surprises[:3]
        assert self.answers > 0, "the bystander was never served"
        assert self.longest < longest, f"the bystander waited {self.longest:.1f} s for an answer"


class Crowd:
    """Many connections of one kind. Leaving the `with` closes them."""

    def __init__(self, gateway, timeout=20.0):
        self.address, self.timeout, self.sockets = gateway.address, timeout, collections.deque()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        while self.sockets:
            self.sockets.pop().close()

    def add(self, count, sources=("127.0.0.1",), data=b"", most=None, resets=False):
        """Connects `count` times, from each source in turn; `most` of them stay open, with `resets` none."""
        for number in range(count):
            client = socket.socket()
            # Many connections from one address: its port is chosen when the other end is known.
            client.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
            client.settimeout(self.timeout)
            client.bind((sources[number % len(sources)], 0))
            client.connect(self.address)
            if resets:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()
                continue
            try:
                if data:
                    client.sendall(data)
            except OSError:
                pass
            self.sockets.append(client)
            if most and len(self.sockets) > most:
                self.sockets.popleft().close()
        return self

    def say(self, data):
        """Sends on every connection that is still open; those that are not are forgotten. Returns how many are."""
        for _ in range(len(self.sockets)):
            client = self.sockets.popleft()
            try:
                client.sendall(data)
                self.sockets.append(client)
            except OSError:
                client.close()
        return len(self.sockets)

    def ended(self):
        """How many the other end has ended."""
        count = 0
        for client in self.sockets:
            client.setblocking(False)
            try:
                while client.recv(65536):
                    pass
                count += 1
            except BlockingIOError:
                pass
            except OSError:
                count += 1
            client.settimeout(self.timeout)
        return count


def connections(gateway):
    return gateway.metrics()("cutover_client_connections")


def hits(gateway, limit):
    return gateway.metrics()("cutover_limit_hits_total", limit=limit)


def descriptors(gateway):
    return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))


def processor_seconds(gateway):
    """What the process has used of the processors so far."""
    fields = pathlib.Path(f"/proc/{gateway.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_turned_away(client):
    """Whether a connection is closed without an answer to what it asks."""
    try:
        client.send(request_bytes("GET", "/"))
        client.response()
        return False
    except (OSError, WireError):
        return True
