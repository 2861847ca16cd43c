"""A client of server-sent events over chunked HTTP/1.1, that sees the difference between an end and a break."""

import json

from .wire import Connection, Truncated


class Event:
    def __init__(self, name, text, seq):
        self.name, self.text, self.id = name, text, seq

    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"<{self.name} {self.id} {self.text[:200]}>"


class EventStream:
    """One stream of the admin listener. `answer` is its head; a refusal has its body read."""

    def __init__(self, gateway, query="", headers=(), receive_buffer=None, timeout=30.0):
        address = (gateway.admin_host, gateway.admin_port)
        self.connection = Connection(address, timeout=timeout, receive_buffer=receive_buffer)
        lines = [f"GET /api/v1/stream{query} HTTP/1.1", "Host: localhost", *headers]
        self.connection.send("\r\n".join(lines).encode() + b"\r\n\r\n")
        self.answer = self.connection.head()
        self.text, self.comments, self.retry = "", [], None
        if self.answer.status != 200:
            self.connection._read_body(self.answer, "GET")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def _chunk(self):
        """The next piece; empty at the end of the stream."""
        reader = self.connection.reader
        line = reader.line()
        if line is None:
            raise Truncated("closed without the last chunk")
        data = reader.exactly(int(line, 16))
        assert reader.exactly(2) == b"\r\n"
        return data

    def event(self):
        """The next event; None when the stream has ended as it should."""
        while True:
            while "\n\n" not in self.text:
                data = self._chunk()
                if not data:
                    return None
                self.text += data.decode()
            block, self.text = self.text.split("\n\n", 1)
            fields = {}
            for line in block.split("\n"):
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
            if "" in fields:
                self.comments.append(fields[""])
            if "retry" in fields:
                self.retry = int(fields["retry"])
            if "data" in fields:
                return Event(fields["event"], fields["data"], fields.get("id"))

    def next(self, name, check=lambda event: True):
        """The next event of this name for which `check` holds."""
        while (event := self.event()) is not None:
            if event.name == name and check(event):
                return event
        raise AssertionError(f"the stream ended before a {name}")

    def to_its_end(self):
        """All events until the stream ends as it should."""
        events = []
        while (event := self.event()) is not None:
            events.append(event)
        return events
