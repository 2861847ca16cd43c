"""What a connection holds while it is idle."""

from support.waiting import eventually

MEBIBYTE = 1 << 20
BODY = bytes(4 * MEBIBYTE)
CLIENTS = 20


def test_idle_clients_do_not_hold_the_body_of_their_last_write(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"workers": 1})

    def write(client, index):
        assert client.request("PUT", f"/{index}", body=BODY, user=f"u{index}").status == 200
        # What the gateway keeps for the second leg is not the matter here.
        gateway.settle(5)
        legacy.forget()
        new.forget()

    with gateway.connect() as first:
        # What the allocator and the pools keep for the next write is the same for one client and for many.
        for index in range(CLIENTS):
            write(first, index)
        before = gateway.resident_bytes()
        clients = [gateway.connect() for _ in range(CLIENTS)]
        try:
            for index, client in enumerate(clients):
                write(client, index)
            eventually(lambda: gateway.resident_bytes() - before < 24 * MEBIBYTE,
                       f"{CLIENTS} idle clients hold less than a third of their bodies", 3)
        finally:
            for client in clients:
                client.close()


def test_a_backlog_that_is_settled_leaves_no_memory_behind(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new, config={"writes": {"retry_max": "100ms"}})

    def backlog():
        new.stop()
        for index in range(64):
            user = f"u{index}"
            assert gateway.fetch("PUT", f"/{index}", body=bytes(512 * 1024), user=user).status == 200
            # What lives on lies between what does not.
            assert gateway.fetch("PUT", f"/{index}/small", body=b"x", user=user).status == 200
        new.start()
        gateway.settle(60)
        legacy.forget()
        new.forget()

    assert gateway.fetch("PUT", "/first", body=b"x", user="u").status == 200
    before = gateway.resident_bytes()
    backlog()
    eventually(lambda: gateway.resident_bytes() - before < 16 * MEBIBYTE, "half of the bodies are given back", 30)
