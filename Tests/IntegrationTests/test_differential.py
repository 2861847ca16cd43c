"""The same odd bytes to the gateway, nginx and haproxy: all agree where requests begin and end, or it refuses."""

import re
import socket
import subprocess

import pytest

from support.backend import Backend, reply
from support.gateway import free_port
from support.nginx import Nginx
from support.waiting import eventually
from test_malformed import AMBIGUOUS, CHUNKED, HOST, POST

MARKER = b"GET /marker HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: example.test\r\n\r\n"

# What somebody might accept, and then has to read as the others do.
ODD = {
    "one after the other": POST + b"Content-Length: 5\r\n\r\nhello" + HIDDEN,
    "a length with zeros in front": POST + b"Content-Length: 0005\r\n\r\nhello" + HIDDEN,
    "the same length twice": POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + HIDDEN,
    "the same length twice in a line": POST + b"Content-Length: 5, 5\r\n\r\nhello" + HIDDEN,
    "a length in quotes": POST + b'Content-Length: "5"\r\n\r\nhello' + HIDDEN,
    "a length behind a tab": POST + b"Content-Length:\t5\t\r\n\r\nhello" + HIDDEN,
    "a length and a tail": POST + b"Content-Length: 5;x\r\n\r\nhello" + HIDDEN,
    "a fraction of a length": POST + b"Content-Length: 5.0\r\n\r\nhello" + HIDDEN,
    "a length for GET": b"GET /x HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(HIDDEN) + HIDDEN,
    "a length for HEAD": b"HEAD /x HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello" + HIDDEN,
    "a name like a length": POST + b"Content_Length: 40\r\nContent-Length: 5\r\n\r\nhello" + HIDDEN,
    "a length that Connection names": POST + b"Connection: Content-Length\r\nContent-Length: 5\r\n\r\nhello" + HIDDEN,
    "a coding that Connection names":
        POST + b"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + HIDDEN,
    "a coding in capitals": POST + b"TRANSFER-ENCODING: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + HIDDEN,
    "a coding behind a comma": POST + b"Transfer-Encoding: , chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + HIDDEN,
    "a coding in two lines":
        POST + b"Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + HIDDEN,
    "gzip and chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + HIDDEN,
    "a coding with a parameter": POST + b"Transfer-Encoding: chunked;a=b\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + HIDDEN,
    "a coding with a name of its own": POST + b"Transfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello" + HIDDEN,
    "a coding for GET": b"GET /x HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks with zeros in front": CHUNKED + b"0005\r\nhello\r\n000\r\n\r\n" + HIDDEN,
    "chunks with extensions": CHUNKED + b"5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n" + HIDDEN,
    "an extension with a line end": CHUNKED + b"5;a=\"\r\nhello\r\n0\r\n\r\n" + HIDDEN,
    "an extension with a bare LF": CHUNKED + b"5;a\nhello\r\n0\r\n\r\n" + HIDDEN,
    "a chunk size and a space": CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n" + HIDDEN,
    "a chunk that ends with LF": CHUNKED + b"5\r\nhello\n0\r\n\r\n" + HIDDEN,
    "a chunk size that ends with LF": CHUNKED + b"5\nhello\r\n0\r\n\r\n" + HIDDEN,
    "a last chunk that ends with LF": CHUNKED + b"5\r\nhello\r\n0\n\n" + HIDDEN,
    "trailers": CHUNKED + b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n" + HIDDEN,
    "a length in the trailers": CHUNKED + b"5\r\nhello\r\n0\r\nContent-Length: 40\r\n\r\n" + HIDDEN,
    "a request in the trailers": CHUNKED + b"5\r\nhello\r\n0\r\n" + HIDDEN,
    "empty lines before": b"\r\n\r\nGET /x HTTP/1.1\r\n" + HOST + b"\r\n" + HIDDEN,
    "a bare LF before": b"\nGET /x HTTP/1.1\r\n" + HOST + b"\r\n" + HIDDEN,
    "absolute form": b"GET http://example.test/x HTTP/1.1\r\n" + HOST + b"\r\n" + HIDDEN,
    "absolute form, another host": b"GET http://other.test/x HTTP/1.1\r\n" + HOST + b"\r\n" + HIDDEN,
    "expects more": POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello" + HIDDEN,
    "an upgrade to h2c": b"GET /x HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                         b"HTTP2-Settings: AAMAAABk\r\n\r\n" + HIDDEN,
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + HIDDEN,
    "an HTTP/1.0 request": b"GET /x HTTP/1.0\r\n" + HOST + b"Connection: keep-alive\r\n\r\n" + HIDDEN,
    "a version to come": b"GET /x HTTP/1.2\r\n" + HOST + b"\r\n" + HIDDEN,
    "obs-text": b"GET /x HTTP/1.1\r\n" + HOST + b"X: \xff\xfe\r\n\r\n" + HIDDEN,
    "a line of many values": b"GET /x HTTP/1.1\r\n" + HOST + b"X: " + b"a, " * 2000 + b"\r\n\r\n" + HIDDEN,
}


class Seen:
    """A server, and what its own backend has seen."""

    def __init__(self, port, backend):
        self.port, self.backend = port, backend

    def send(self, data, seconds):
        """Sends, and reads to the end, or for so long; the statuses of the answers."""
        self.backend.forget()
        received = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as client:
            try:
                client.sendall(data)
                while part := client.recv(65536):
                    received += part
            except OSError:
                pass
        return [int(status) for status in re.findall(rb"^HTTP/1\.[01] (\d{3})", received, re.M) if status[:1] != b"1"]

    def requests(self):
        """Where requests began and ended; an absolute target is the path that it names."""
        return [(r.method, re.sub(r"^http://[^/]*", "", r.target), r.body) for r in list(self.backend.requests)]


@pytest.fixture(name="backends")
def three_backends():
    made = [Backend(lambda request: reply(b"ok")) for _ in range(3)]
    yield made
    for backend in made:
        backend.stop()


@pytest.fixture(name="gateway_seen")
def gateway_as_seen(make_gateway, backends):
    # Every request goes to legacy as it comes: what is in question is where they begin and end.
    routes = [{"match": "* /**", "kind": "split"}]
    gateway = make_gateway(backends[0].url, "http://127.0.0.1:1", config={"workers": 1, "routes": routes})
    return Seen(gateway.port, backends[0])


@pytest.fixture(name="nginx_seen")
def nginx_as_seen(scratch, backends):
    server = Nginx(scratch / "nginx-proxy", server=f"""
        location / {{
            proxy_pass http://127.0.0.1:{backends[1].port};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    """)
    server.start()
    yield Seen(server.port, backends[1])
    server.stop()


@pytest.fixture(name="haproxy_seen")
def haproxy_as_seen(scratch, backends):
    port, file = free_port(), scratch / "haproxy.cfg"
    file.write_text(f"""
global
    maxconn 100
defaults
    mode http
    timeout connect 5s
    timeout client 20s
    timeout server 20s
frontend in
    bind 127.0.0.1:{port}
    default_backend out
backend out
    server out 127.0.0.1:{backends[2].port}
""")
    process = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-f", str(file)], stderr=subprocess.DEVNULL)
    seen = Seen(port, backends[2])

    def answers():
        try:
            return seen.send(MARKER, 2)
        except OSError:
            return False

    eventually(answers, "haproxy answers")
    yield seen
    process.terminate()
    process.wait(10)


def test_where_others_disagree_about_requests_the_gateway_refuses(gateway_seen, nginx_seen, haproxy_seen):
    accepted, failures = [], []
    for name, data in {**{f"ambiguous: {name}": data for name, data in AMBIGUOUS.items()}, **ODD}.items():
        statuses = gateway_seen.send(data + MARKER, 20)
        ours = gateway_seen.requests()
        if not ours and statuses and 400 <= statuses[0] < 600:
            continue
        accepted.append(name)
        for other, seen in (("nginx", nginx_seen), ("haproxy", haproxy_seen)):
            theirs_said = seen.send(data + MARKER, 5)
            theirs = seen.requests()
            # Whoever refuses where the gateway goes on has not read it otherwise; what both have read is the same.
            has_refused = any(status >= 400 for status in theirs_said)
            if theirs != ours[:len(theirs)] or (len(theirs) < len(ours) and not has_refused):
                failures.append((name, other, ours, statuses, theirs, theirs_said))
    assert failures == []
    assert [name for name in accepted if name.startswith("ambiguous")] == []
    # The comparison means something only where something was accepted.
    assert len(accepted) >= 8 and "one after the other" in accepted, accepted


def test_a_coding_goes_on_in_the_letters_that_every_backend_knows(gateway_seen):
    assert gateway_seen.send(ODD["a coding in capitals"] + MARKER, 20)[0] == 200
    assert gateway_seen.backend.requests[0]["Transfer-Encoding"] == "chunked"


def test_nginx_and_haproxy_really_disagree(nginx_seen, haproxy_seen):
    """Otherwise the requests above would be too tame to show anything."""
    different = 0
    for data in ODD.values():
        nginx_seen.send(data + MARKER, 2)
        haproxy_seen.send(data + MARKER, 2)
        different += nginx_seen.requests() != haproxy_seen.requests()
    assert different >= 5
