"""Memory of many idle keep-alive clients, each of which has sent one request."""

import os
import resource
import time

import loads
import processes
import proxies
from rounds import alternate, medians, side_by_side, starters
from tables import Section, at_most, mebibytes, paragraphs, table

TARGET = 1.5
CLIENTS = 10_000
SPARE = 1_000
# The relay has a connection to the backend for each client, and an nginx as a backend takes a thousand.
RELAYED = 900


def descriptors_for(clients):
    """As many clients as there may be descriptors; a proxy needs some of its own."""
    needed = clients + SPARE
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if os.geteuid() == 0:
        hard = max(hard, needed)  # root may raise it, for itself and for what it starts
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(clients, max(hard - SPARE, hard // 2))


def measure(clients, options):
    """By proxy: its clients, and in bytes PSS before, growth of PSS, and RSS with all clients."""
    chosen = {name: (start, clients) for name, start in starters("get", ("cutover",)).items()}
    chosen["nginx"] = (lambda directory, legacy, new: proxies.start_nginx(
        "get", directory, legacy, new, connections=clients + SPARE)), clients
    chosen["relay"] = starters("get", ("relay",))["relay"], min(clients, RELAYED)

    def one(subject):
        start, count = subject
        # Each round has a fresh process: memory that a process has once had, it may keep.
        with side_by_side({"it": start}) as (_, running):
            proxy = running["it"]
            loads.requests(proxy.port, seconds=0.5)
            proxy.settle()
            before = processes.memory_bytes(proxy.process.pid)
            with loads.held(proxy.port, count):
                proxy.settle()
                # Idle is who has been silent for a while: the gateway looks for free memory some seconds later.
                time.sleep(0.5 if options.quick else 6)
                return (count, before, processes.memory_bytes(proxy.process.pid) - before,
                        processes.memory_bytes(proxy.process.pid, "Rss"))

    return medians(alternate(chosen, min(options.rounds, 3), one))


def run(options):
    clients = descriptors_for(500 if options.quick else CLIENTS)
    seen = measure(clients, options)
    base = sum(seen["nginx"][1:3])
    rows = [(name, f"{count:,}", mebibytes(before), mebibytes(before + growth),
             f"{(before + growth) / base:.2f}" if count == clients else "–", mebibytes(growth),
             f"{growth / count:,.0f} B", mebibytes(rss))
            for name, (count, before, growth, rss) in seen.items()]
    text = (
        f"{clients:,} clients connect, from eight addresses of the loopback, send one GET each, read the answer and"
        " stay; memory is looked at six seconds later."
        " What counts is the proportional share (PSS) of all processes of a proxy with all of them there. nginx"
        f" has `worker_connections {clients + SPARE}`, for which it takes memory at its start; one worker each. The"
        f" relay keeps a connection to the backend for each client, and less than 100 B; it has {RELAYED} clients."
        " Memory of the kernel (sockets) is in none of the columns.")
    header = ("proxy", "clients", "before", "with all", "to nginx", "growth", "growth per client", "RSS with all")
    growth = seen["cutover"][2] / max(1, seen["nginx"][2])
    total = sum(seen["cutover"][1:3]) / base
    return Section(
        "Memory of idle clients", paragraphs(text, table(header, rows), f"Growth alone: {growth:.2f} × nginx."),
        (at_most(f"memory with {clients:,} idle keep-alive clients", "nginx", TARGET, total),))
