"""A web of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ramet.jobs.app import fetchers
from tests.jobs.world.world import World, leading_to


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """The web, empty; what this process and its children fetch is asked there."""
    with leading_to(World(), monkeypatch.setenv) as world:
        yield world
        await fetchers.close()
