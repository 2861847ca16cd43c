"""Heap allocations per 1,000 requests against a kept number: the hot path must not grow fat unnoticed.

The kept numbers are in allocations.json. A measurement above them fails. When work on the hot path makes one much
smaller, write the smaller number down.
"""

import pytest

from support import allocations


@pytest.mark.parametrize("name", allocations.CASES)
def test_allocations_per_1000_requests_stay_within_the_kept_number(make_gateway, make_nginx, scratch, name):
    legacy, new = (make_nginx(side, server=allocations.SERVER) for side in ("legacy", "new"))
    counter = allocations.Counter(scratch)
    gateway = make_gateway(legacy, new, config=allocations.configuration(name), environment=counter.environment)
    fewest = allocations.fewest_per_1000_requests(name, gateway, counter)
    kept = allocations.KEPT[name]
    print(f"{name}: {fewest} allocations per {allocations.REQUESTS} requests, kept {kept}")
    assert fewest <= kept
