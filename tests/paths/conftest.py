"""Each test of a rule runs on every database, as the conformance suite does."""

from __future__ import annotations

import pytest

from tests.conformance.conftest import backend, clock, world
from tests.paths.desk import Desk
from tests.world import World

__all__ = ["backend", "clock", "desk", "world"]


@pytest.fixture
def desk(world: World) -> Desk:
    """A store whose tasks are called by their names."""
    return Desk(world)
