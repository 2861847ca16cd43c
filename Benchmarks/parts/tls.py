"""Processor time per request with TLS towards the clients and none towards the backends, beside nginx."""

import statistics

import configurations
import loads
import proxies
from rounds import alternate, side_by_side
from support.gateway import free_port
from support.tls import Authority
from tables import Section, at_most, paragraphs, table

TARGET = 0.9
WORK = "TLS in, plain out, keep-alive"


def certified(directory):
    """The files of an ECDSA P-256 certificate for localhost."""
    return Authority(directory / "authority").sign("localhost", "127.0.0.1").files


def start_gateway(directory, legacy, new):
    directory.mkdir()
    listen = [{"address": "127.0.0.1:0", "tls": certified(directory)}]
    return proxies.start_gateway("get", directory, legacy, new, settings={"listen": listen})


def start_nginx(directory, legacy, new):
    directory.mkdir()
    port, files = free_port(), certified(directory)
    configurations.NGINX_LOCATIONS["tls"] = (
        f"listen 127.0.0.1:{port} ssl; ssl_certificate {files['certificate_file']};"
        f" ssl_certificate_key {files['key_file']}; ssl_protocols TLSv1.2 TLSv1.3;"
        f" {configurations.NGINX_LOCATIONS['get']}")
    proxy = proxies.start_nginx("tls", directory / "server", legacy, new)
    proxy.port = port
    return proxy


def measure(options):
    """For each proxy by round: microseconds per request and requests per second."""
    with side_by_side({"cutover": start_gateway, "nginx": start_nginx}) as (_, running):
        def load(proxy, seconds):
            return loads.wrk(proxy.port, "GET", seconds, options.connections, scheme="https")

        for proxy in running.values():
            load(proxy, 1)

        def one(proxy):
            seen, spent = proxy.spent(lambda: load(proxy, options.seconds))
            if seen.failed:
                print(f"  port {proxy.port}: {seen.failed} answers were no success or never came", flush=True)
            return spent / max(seen.requests, 1) * 1e6, seen.rate

        return alternate(running, options.rounds, one)


def run(options):
    seen = measure(options)
    typical = {name: statistics.median(cost for cost, _ in rounds) for name, rounds in seen.items()}
    rows = []
    for name, rounds in seen.items():
        costs = [cost for cost, _ in rounds]
        rate = statistics.median(rate for _, rate in rounds)
        rows.append((name, f"{typical[name]:.1f} µs", f"{typical[name] / typical['nginx']:.2f}",
                     f"{min(costs):.1f} – {max(costs):.1f} µs", f"{rate:,.0f}"))
    ratio = statistics.median(own[0] / other[0] for own, other in zip(seen["cutover"], seen["nginx"]))
    text = (
        "As the row \"GET, split by user, metrics on\" above, but the clients speak TLS 1.3: ECDSA P-256,"
        f" {options.connections} connections that are kept, so what is measured is records and not handshakes. Both use"
        f" OpenSSL; {options.rounds} alternating rounds of {options.seconds} s, medians. wrk decrypts on the same"
        " machine, and is not counted.")
    header = ("proxy", "CPU per request", "to nginx", "rounds from – to", "requests/s")
    return Section("TLS in, plain out", paragraphs(text, table(header, rows)), (at_most(WORK, "nginx", TARGET, ratio),))
