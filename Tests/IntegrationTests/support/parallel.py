"""Runs calls at the same time."""

from concurrent.futures import ThreadPoolExecutor


def in_parallel(function, arguments, workers=16):
    """`[function(a) for a in arguments]`, on threads; raises what a call raised."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, arguments))
