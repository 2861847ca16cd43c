"""One greedy request does not keep the others of its worker waiting."""

import os
import socket
import threading

import pytest

from support.backend import reply
from support.waiting import eventually
from support.wire import request_bytes

PIECE = 64 << 20
REQUESTS, ALLOWANCE = 100, 512 << 20


class Download:
    """A client that takes bytes as fast as the kernel can throw them away, on a thread of its own, and counts them."""

    def __init__(self, gateway, target):
        self.received = 0
        self.client = gateway.connect()
        self.client.send(request_bytes("GET", target))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        room = bytearray(4 << 20)
        try:
            while count := self.client.socket.recv_into(room, len(room), socket.MSG_TRUNC):
                self.received += count
        except OSError:
            pass

    def end(self):
        self.client.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self.client.close()


@pytest.fixture
def pour():
    """A step of an answer that sends without end, and without copying."""
    memory = os.memfd_create("piece")
    os.truncate(memory, PIECE)
    os.posix_fallocate(memory, 0, PIECE)

    def step(reader):
        sent = 0
        while True:
            sent = (sent + os.sendfile(reader.socket.fileno(), memory, sent, PIECE - sent)) % PIECE

    yield step
    os.close(memory)


def test_small_requests_are_answered_while_a_fast_download_runs(make_gateway, legacy, new, pour):
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (1 << 50)
    legacy.answer = lambda request: [endless, pour] if request.target == "/endless" else reply(b"small")
    gateway = make_gateway(legacy, new, config={"workers": 1})
    download = Download(gateway, "/endless")
    try:
        eventually(lambda: download.received > PIECE, "the download runs", 5)
        before = download.received
        for _ in range(REQUESTS):
            assert gateway.get("/small").body == b"small"
        passed = download.received - before
        assert passed < ALLOWANCE, f"{passed >> 20} MiB of the download went first"
        eventually(lambda: download.received > before + passed, "the download goes on", 5)
    finally:
        download.end()
