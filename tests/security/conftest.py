"""Fixtures of the security pass."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ramet import Client
from tests.invariants.check import violations
from tests.security.storing_app import app
from tests.support.backends import BACKENDS, Backend


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """A fresh database, once per backend."""
    backend = BACKENDS[request.param](tmp_path)
    yield backend
    backend.close()


@pytest.fixture
async def client(backend: Backend) -> AsyncIterator[Client]:
    """A client of it; afterwards nothing in the database may be out of order."""
    async with app.client(backend.address) as client:
        yield client
        found = await violations(client.store)
        assert found == [], "\n".join(found)
