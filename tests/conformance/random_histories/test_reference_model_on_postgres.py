"""The same comparison with the plain model, on PostgreSQL: fewer histories, each takes ten times as long."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.conformance.random_histories.test_reference_model import SOME, StoreAndModel
from tests.simulation.database import ServerStore
from tests.support.world import KINDS

pytestmark = pytest.mark.server


class ServerAndModel(StoreAndModel):
    """Every rule does one thing to both and compares the answers."""

    made_store = ServerStore
    follows_before_revive = True


def test_a_refused_revive_leaves_the_followed_end() -> None:
    both = ServerAndModel()
    both.begin([("page", 0, 0.0, 0)])
    both.submit(2, [("page", 0, 0.0, 0)], (2, 1, 2, 600.0))
    both.advance(700.0)
    both.claim(2, set(KINDS))
    both.same_rows()
    both.revive([1], None)
    both.same_rows()
    assert both.model.jobs["t2"].state == "failed"
    both.teardown()


def test_the_store_does_what_the_plain_model_does() -> None:
    run_state_machine_as_test(ServerAndModel, settings=settings(SOME, max_examples=3))


@pytest.mark.nightly
@pytest.mark.timeout(6_000)
def test_the_store_does_what_the_plain_model_does_in_many_more_histories() -> None:
    run_state_machine_as_test(ServerAndModel, settings=settings(SOME, max_examples=300, stateful_step_count=80))
