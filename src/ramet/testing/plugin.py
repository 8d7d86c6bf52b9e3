"""pytest fixtures. Ask for them in a ``conftest.py``: ``pytest_plugins = ["ramet.testing.plugin"]``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from ramet.engine.client.client import Client
from ramet.testing.fixtures import FakeClock, fresh_client


@pytest.fixture
def fake_clock() -> FakeClock:
    """Time that passes only when the test says so."""
    return FakeClock()


@pytest.fixture
def fresh_ramet(fake_clock: FakeClock, tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Client]]:
    """``async with fresh_ramet(app) as client:`` on a fresh database, by the ``fake_clock``.

    It needs no plug-in for async fixtures.
    """
    return partial(fresh_client, clock=fake_clock, folder=tmp_path)
