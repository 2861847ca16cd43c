"""Proxies that run side by side and are measured in turn, so that other work on the machine disturbs all alike."""

import contextlib
import pathlib
import statistics
import tempfile

import proxies


@contextlib.contextmanager
def scratch():
    """A directory for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="cutover-bench-", ignore_cleanup_errors=True) as name:
        yield pathlib.Path(name)


@contextlib.contextmanager
def backends(directory, make=proxies.backend):
    """The two of them: (legacy, new)."""
    with contextlib.ExitStack() as stack:
        made = []
        for name in ("legacy", "new"):
            made.append(make(directory / name))
            stack.callback(made[-1].stop)
        yield tuple(made)


@contextlib.contextmanager
def side_by_side(starters, make_backend=proxies.backend):
    """Starts proxies by name, each by `start(directory, legacy, new)`, and leaves out those that do not know the case.

    :return: the two backends, and the proxies by name
    """
    with scratch() as directory, backends(directory, make_backend) as pair, contextlib.ExitStack() as stack:
        running = {}
        for number, (name, start) in enumerate(starters.items()):
            proxy = start(directory / f"proxy-{number}", *pair)
            if proxy is not None:
                stack.callback(proxy.stop)
                running[name] = proxy
        yield pair, running


def starters(case, names=tuple(proxies.STARTERS)):
    """Starters of these proxies for one case."""
    def bound(name):
        return lambda directory, legacy, new: proxies.STARTERS[name](case, directory, legacy, new)

    return {name: bound(name) for name in names}


def alternate(subjects, rounds, measure):
    """For each subject by name what `measure(subject)` returned in each round; another one begins each round."""
    seen, order = {name: [] for name in subjects}, list(subjects)
    for _ in range(rounds):
        for name in order:
            seen[name].append(measure(subjects[name]))
        order.append(order.pop(0))
    return seen


def medians(seen):
    """The median of each column, by name."""
    return {name: [statistics.median(column) for column in zip(*rows)] for name, rows in seen.items()}
