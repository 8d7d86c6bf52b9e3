"""Dashboards over a fresh database, on each backend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ramet import Client
from ramet.testing import fresh_client
from tests.postgres import database_pool
from tests.web.actions_app import app


@pytest.fixture(params=["postgres", "sqlite"])
def address(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """None for a file, or the address of a database on the server of this test run."""
    url = database_pool.take() if request.param == "postgres" else None
    yield url
    if url is not None:
        database_pool.give_back(url)


@pytest.fixture
async def client(address: str | None, tmp_path: Path) -> AsyncIterator[Client]:
    """A client whose time is the test's, of an app with a few kinds."""
    async with fresh_client(app, folder=tmp_path, database=address) as client:
        yield client


@pytest.fixture
async def on_file(tmp_path: Path) -> AsyncIterator[Client]:
    """The same in a file, for what no store makes different."""
    async with fresh_client(app, folder=tmp_path) as client:
        yield client
