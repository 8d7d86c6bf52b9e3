"""A web of the test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pipelines.jobs.world.world import World, leading_to


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The web, empty; what this process and its children fetch is asked there."""
    with leading_to(World(), monkeypatch.setenv) as world:
        yield world
