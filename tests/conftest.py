"""What every test starts from: a scrubbed environment, no network, known folders."""

from __future__ import annotations

import faulthandler
import os
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = Path(__file__).parents[2] / "shared"
PATIENCE = 120  # seconds
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--browser", action="store_true", help="run tests in Chromium")
    parser.addoption("--update-golden", action="store_true", help="write golden files")


def pytest_unconfigure() -> None:
    """A process that has run its tests and does not end says why, and ends."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--browser"):
        return
    skip = pytest.mark.skip(reason="drives Chromium: give --browser")
    for item in items:
        if "browser" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of facts, samples and data that is not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("needs the reference folder ../shared, which is not here")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache folder during the tests: not the real one."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an object store.

    There is one for all tests: fsspec keeps its clients, which know one address.
    """
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, no downloads, a fixed build date."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_TOKEN")) or name.startswith("HELMSITE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HELMSITE_OFFLINE", "1")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1750000000")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only addresses of this machine can be reached."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "localhost"
        if host not in LOOPBACK:
            raise OSError(f"a test tried to reach {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)
