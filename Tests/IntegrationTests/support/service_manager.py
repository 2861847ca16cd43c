"""A played service manager: what systemd does for a unit of Type=notify with sockets, without systemd."""

import socket
import threading
import time

from .waiting import eventually


class ServiceManager:
    """Receives the datagrams of `NOTIFY_SOCKET`; `told` holds each as a dictionary."""

    def __init__(self, directory, abstract=False):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = f"{directory}/notify"
        self.name = "@" + path if abstract else path
        self.socket.bind("\0" + path if abstract else path)
        self.told = []
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self):
        while True:
            try:
                text = self.socket.recv(65536).decode()
            except OSError:
                return
            message = dict(line.split("=", 1) for line in text.split("\n"))
            message["at"] = time.monotonic()
            self.told.append(message)

    def times(self, key):
        """How often it was told this."""
        return sum(key in message for message in list(self.told))

    def wait_for(self, key, times=1, seconds=20):
        eventually(lambda: self.times(key) >= times, f"{key} is told {times} times, of {self.told}", seconds)
        return [message for message in self.told if key in message][times - 1]

    def close(self):
        self.socket.close()


def listener(host="127.0.0.1", port=0, family=socket.AF_INET):
    """A listening socket as a service manager opens it: for itself, without SO_REUSEPORT."""
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    made.listen(4096)
    return made


# Puts the descriptors named in its first argument at 3, 4, …, says whose they are, and runs the rest: what a service
# manager does between fork and exec.
ACTIVATE = """
import os, sys
given = [int(text) for text in sys.argv[1].split(",") if text]
for at, fd in enumerate([os.dup(fd) for fd in given]):
    # Above everything first, so that none is overwritten.
    os.dup2(fd, 200 + at)
for at in range(len(given)):
    os.dup2(200 + at, 3 + at)
    os.close(200 + at)
os.environ["LISTEN_PID"] = str(os.getpid())
os.environ.setdefault("LISTEN_FDS", str(len(given)))
os.execvp(sys.argv[2], sys.argv[2:])
"""


def activated(*sockets):
    """What makes a gateway one that gets these sockets: options of `make_gateway`."""
    passed = [socket.fileno() for socket in sockets]
    return {"prefix": ["/usr/bin/python3", "-c", ACTIVATE, ",".join(map(str, passed))], "pass_fds": passed}
