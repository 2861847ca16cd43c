"""What a connection holds while it is idle."""

from support.waiting import eventually
from support.wire import request_bytes

MEBIBYTE = 1 << 20
CLIENTS = 20


def test_idle_clients_do_not_hold_the_body_of_their_last_write(make_gateway, legacy, new):
    gateway = make_gateway(legacy, new)
    clients = [gateway.connect() for _ in range(CLIENTS)]
    try:
        for client in clients:
            assert client.request("GET", "/").status == 200
        before = gateway.resident_bytes()
        for index, client in enumerate(clients):
            client.send(request_bytes("PUT", f"/{index}", body=bytes(4 * MEBIBYTE), user=f"u{index}"))
            assert client.response("PUT").status == 200
            # What the gateway may keep for the second leg is not the matter here.
            gateway.settle(5)
            legacy.forget()
            new.forget()
        eventually(lambda: gateway.resident_bytes() - before < 24 * MEBIBYTE,
                   f"{CLIENTS} idle clients hold less than a third of their bodies", 3)
    finally:
        for client in clients:
            client.close()
