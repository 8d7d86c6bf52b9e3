"""pytest fixtures for programs on ramet, which pytest finds by itself where ramet is installed.

A module of its own, outside of the package: every pytest run imports it, also of projects that only have ramet
installed, and importing ramet would cost each of them a quarter of a second. Fixtures import what they need.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ramet import Client
    from ramet.testing import FakeClock


@pytest.fixture
def fake_clock() -> FakeClock:
    """Time that passes only when the test says so."""
    from ramet.testing import FakeClock

    return FakeClock()


@pytest.fixture
def fresh_ramet(fake_clock: FakeClock, tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Client]]:
    """``async with fresh_ramet(app) as client:`` on a fresh database, by the ``fake_clock``.

    It needs no plug-in for async fixtures.
    """
    from ramet.testing import fresh_client

    return partial(fresh_client, clock=fake_clock, folder=tmp_path)
