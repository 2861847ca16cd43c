"""One greedy request does not keep the others of its worker waiting."""

import os
import subprocess

from support.waiting import eventually


def test_small_requests_are_answered_while_a_fast_download_runs(make_gateway, make_nginx):
    legacy, new = make_nginx("legacy"), make_nginx("new")
    (legacy.root / "small").write_text("small")
    with open(legacy.root / "endless", "wb") as file:
        os.truncate(file.fileno(), 64 << 30)  # a hole: it takes no room
    gateway = make_gateway(legacy, new, config={"workers": 1})
    assert gateway.get("/small").body == b"small"
    download = subprocess.Popen(["curl", "-sS", "-o", "/dev/null", gateway.url + "/endless"])
    try:
        eventually(lambda: gateway.metrics()("cutover_client_sent_bytes_total") > 1 << 20, "the download runs", 4)
        for _ in range(20):
            with gateway.connect(timeout=4) as client:
                assert client.request("GET", "/small").body == b"small"
        assert download.poll() is None, "the download still runs"
    finally:
        download.kill()
        download.wait()
