#!/usr/bin/env python3
"""How many changes a second the sync service takes: batches as a copy of history sends them.

    Benchmarks/sync.py PROGRAM [--records 400000] [--batch 500] [--connections 4]

Every record is new: 60 % highlights, 25 % notes, 15 % documents, of one user after the other, with keys derived
from record and revision. The batches are made before the clock runs. Prints changes a second, the processor time
that the service took for each, and its memory at half and at the end. One JSON object on the last line."""

import argparse
import http.client
import json
import os
import pathlib
import queue
import re
import subprocess
import tempfile
import threading
import time
import uuid


def batches(records, size):
    made, number = [], 0
    while number < records:
        changes = []
        for _ in range(size):
            number += 1
            record = str(uuid.UUID(int=hash((number, "record")) & (1 << 128) - 1, version=4))
            kind = "highlight" if number % 20 < 12 else "note" if number % 20 < 17 else "document"
            payload = {"text": f"What was marked in the text, number {number}, of some length. " * 2, "color": "yellow",
                       "documentId": f"doc-{number // 40}", "position": number * 7 % 100_000}
            changes.append({
                "id": f"b-{number}", "userId": f"user-{number // 350}", "recordId": record, "deviceId": "backfill",
                "revision": 1, "type": kind, "payload": payload, "idempotencyKey": f"backfill:{record}:1",
                "createdAt": "2023-05-06T07:08:09.123Z", "updatedAt": "2024-05-06T07:08:09.123Z",
                "recordName": record.upper(), "container": "iCloud.example.reader"})
        made.append(json.dumps({"changes": changes}, separators=(",", ":")).encode())
    return made


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) // 1024


def send(work, port, failures):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    while True:
        try:
            body = work.get_nowait()
        except queue.Empty:
            return
        connection.request("POST", "/changes", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        if answer.status != 200 or b'"retried":0' not in data:
            failures.append((answer.status, data[:300]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--store")
    wanted = parser.parse_args()
    bodies = batches(wanted.records, wanted.batch)
    with tempfile.TemporaryDirectory(prefix="cutover-bench-") as directory:
        command = [wanted.program, "serve", "--listen", "127.0.0.1:0", "--data", f"{directory}/sync", "--slow", "1h"]
        if wanted.store:
            command += ["--store", wanted.store]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
            port = int(re.search(r":(\d+)\s*$", service.stderr.readline()).group(1))
            work, failures, elapsed, memory = queue.SimpleQueue(), [], 0.0, []
            before = processor_seconds(service.pid)
            half = len(bodies) // 2
            for part in (bodies[:half], bodies[half:]):
                for body in part:
                    work.put(body)
                threads = [threading.Thread(target=send, args=(work, port, failures))
                           for _ in range(wanted.connections)]
                began = time.monotonic()
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                elapsed += time.monotonic() - began
                memory.append(memory_mib(service.pid))
            spent = processor_seconds(service.pid) - before
            service.terminate()
        assert not failures, failures[0]
    records = len(bodies) * wanted.batch
    print(f"{records} changes in {elapsed:.1f} s: {records / elapsed:,.0f} a second; "
          f"{spent / records * 1e6:.1f} µs of a processor each; "
          f"memory {memory[0]} MiB at half, {memory[1]} MiB at the end")
    print(json.dumps({"records": records, "per_second": round(records / elapsed),
                      "processor_microseconds": round(spent / records * 1e6, 1), "memory_mib": memory}))


if __name__ == "__main__":
    main()
