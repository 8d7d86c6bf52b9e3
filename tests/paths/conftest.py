"""Each test of a rule runs on every database, as the conformance suite does."""

from __future__ import annotations

import pytest

from tests.conformance.conftest import backend, clock, world
from tests.paths.named_tasks import Desk
from tests.support.world import World

__all__ = ["backend", "clock", "desk", "world"]


@pytest.fixture
def desk(world: World) -> Desk:
    """A store whose tasks are called by their names."""
    return Desk(world)
