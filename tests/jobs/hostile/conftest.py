"""The desk of the running tests, on SQLite unless a test asks for the other store as well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.running.conftest import desk
from tests.support.backends import BACKENDS

__all__ = ["backend", "desk"]


@pytest.fixture
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | None]:
    """The address of a PostgreSQL database, or None for a file."""
    name = getattr(request, "param", "sqlite")
    made = BACKENDS[name](tmp_path)
    yield made.address if name == "postgres" else None
    made.close()
