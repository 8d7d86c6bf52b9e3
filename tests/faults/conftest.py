"""Both databases, and a server behind a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.postgres.proxy import Proxy
from tests.support.backends import BACKENDS, Backend


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    backend = BACKENDS[request.param](tmp_path)
    yield backend
    backend.close()


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    """It leads to the server of ``postgres_url``; its faults are for commits of writers."""
    parts = urlsplit(postgres_url)
    with Proxy(parts.hostname or "", parts.port or 0) as proxy:
        proxy.only_commits_with = b"ramet_writers"  # Not those of the connection that wakes workers.
        yield proxy
