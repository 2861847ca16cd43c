"""Clients may use up their share of the descriptors, never those of the backends, the store and the operator."""

import contextlib


def test_idle_clients_leave_descriptors_for_backends_and_for_the_way_back(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, start=False, config={"workers": 1})
    gateway.prefix = ["prlimit", "--nofile=256:256"]
    gateway.start()
    gateway.set_percent(50)
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(gateway.connect())
        assert first.request("GET", "/", user="u").status == 200
        for _ in range(250):
            stack.enter_context(gateway.connect())
        for method in ("GET", "PUT"):
            assert first.request(method, "/x", body=None if method == "GET" else b"x", user="u").status == 200
        gateway.change("POST", "rollout/rollback", {"reason": "too many clients"})
        assert gateway.status()["rollout"]["percent"] == 0
        assert gateway.metrics()("cutover_limit_hits_total", limit="client_connections") > 0
