"""Writes many thousands of requests over a few keep-alive connections, as fast as the gateway takes them."""

import asyncio
import collections


class _Writer(asyncio.Protocol):
    """One connection: keeps `depth` requests on their way and counts the statuses that come back."""

    def __init__(self, requests, statuses, depth, done):
        self.requests, self.statuses, self.depth, self.done = requests, statuses, depth, done
        self.buffer, self.outstanding = b"", 0

    def connection_made(self, transport):
        self.transport = transport
        self._send()

    def _send(self):
        batch = []
        while self.outstanding < self.depth and (request := next(self.requests, None)) is not None:
            batch.append(request)
            self.outstanding += 1
        if batch:
            self.transport.write(b"".join(batch))
        elif self.outstanding == 0 and not self.done.done():
            self.done.set_result(None)
            self.transport.close()

    def data_received(self, data):
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            at = head.find(b"\r\ncontent-length:")
            length = int(head[at + 17:].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.buffer) < end + 4 + length:
                break
            self.statuses[int(head[9:12])] += 1
            self.buffer = self.buffer[end + 4 + length:]
            self.outstanding -= 1
        self._send()

    def connection_lost(self, error):
        if not self.done.done():
            self.done.set_exception(error or ConnectionError(f"closed with {self.outstanding} answers to come"))


async def _run(address, requests, connections, depth):
    loop, statuses, waiting = asyncio.get_running_loop(), collections.Counter(), []
    for _ in range(connections):
        done = loop.create_future()
        waiting.append(done)
        await loop.create_connection(lambda done=done: _Writer(requests, statuses, depth, done), *address)
    await asyncio.gather(*waiting)
    return statuses


def flood(address, requests, connections=48, depth=4):
    """Sends `requests` (an iterator of bytes) and returns how often each status was answered."""
    return asyncio.run(_run(address, iter(requests), connections, depth))
