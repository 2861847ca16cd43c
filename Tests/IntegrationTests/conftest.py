"""Fixtures: each makes what a test asks for and takes it down afterwards."""

import itertools
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from support.backend import Backend
from support.cluster import Cluster
from support.gateway import BINARY, Gateway
from support.nginx import Nginx, webdav as webdav_server
from support.postgres import PostgresServer
from support.recorder import Recorder
from support.store import RecordingStore


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for gateway in getattr(item, "gateways", []):
            report.sections.append((f"log of {gateway.directory}", gateway.log()[-8000:]))


@pytest.fixture(scope="session", autouse=True)
def binary():
    assert pathlib.Path(BINARY).exists(), f"{BINARY} is missing: make build"
    return BINARY


@pytest.fixture
def scratch():
    """A short path of its own, removed afterwards."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="cutover-test-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def legacy():
    yield from _scripted(Backend())


@pytest.fixture
def new():
    yield from _scripted(Backend())


@pytest.fixture
def legacy_store():
    yield from _scripted(RecordingStore())


@pytest.fixture
def new_store():
    yield from _scripted(RecordingStore())


@pytest.fixture
def recorders():
    """Two backends as processes of their own that really deduplicate: (legacy, new)."""
    made = [Recorder(), Recorder()]
    yield made
    for recorder in made:
        recorder.close()


def _scripted(backend):
    yield backend
    backend.stop()
    assert backend.violations == [], "the gateway sent a backend something that HTTP forbids"


@pytest.fixture
def make_gateway(request, scratch):
    """Makes and starts gateways: `make_gateway(legacy, new, percent=…, config=…, plan=…, start=…)`."""
    made = request.node.gateways = []
    numbers = itertools.count(1)

    def make(legacy, new, percent=None, config=None, plan=None, start=True, **options):
        directory = scratch / f"gateway-{next(numbers)}"
        directory.mkdir()
        urls = [side if isinstance(side, str) else side.url for side in (legacy, new)]
        gateway = Gateway(directory, *urls, config=config, plan=plan, **options)
        made.append(gateway)
        if start:
            gateway.start()
            if percent is not None:
                gateway.set_percent(percent)
        return gateway

    yield make
    for gateway in made:
        gateway.kill()


@pytest.fixture(scope="session")
def shared_postgres():
    """The PostgreSQL of all tests that do it no harm. It does not sync: they do not kill it."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def mortal_postgres():
    server = PostgresServer(syncs=True)
    yield server
    server.close()


@pytest.fixture
def postgres(mortal_postgres):
    """A PostgreSQL to be killed and restarted, whatever an earlier test of the file has left of it."""
    return mortal_postgres.start()


@pytest.fixture
def make_cluster(request, scratch):
    """Makes and starts gateways on one store: `make_cluster(legacy, new, count=…, percent=…, config=…, server=…)`."""
    request.node.gateways = []
    made = []

    def make(legacy, new, count=2, percent=None, server=None, start=True, **options):
        directory = scratch / f"cluster-{len(made) + 1}"
        directory.mkdir()
        urls = [side if isinstance(side, str) else side.url for side in (legacy, new)]
        server = server or request.getfixturevalue("shared_postgres")
        cluster = Cluster(directory, *urls, server, count, **options)
        made.append(cluster)
        request.node.gateways += cluster
        if start:
            cluster.start()
            if percent is not None:
                cluster.set_percent(percent)
        return cluster

    yield make
    for cluster in made:
        cluster.kill()


@pytest.fixture
def gateway(make_gateway, legacy, new):
    """A gateway before two scripted backends, percent 0, no shadow reads."""
    return make_gateway(legacy, new)


@pytest.fixture
def make_nginx(scratch):
    made = []

    def make(name, dav=False, **options):
        server = webdav_server(scratch / name) if dav else Nginx(scratch / name, **options)
        made.append(server)
        return server.start()

    yield make
    for server in made:
        server.stop()


@pytest.fixture
def curl():
    """Runs curl: `curl(url, *arguments)` → its standard output as bytes."""

    def run(url, *arguments):
        done = subprocess.run(["curl", "-sS", "--max-time", "30", *arguments, url], capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
