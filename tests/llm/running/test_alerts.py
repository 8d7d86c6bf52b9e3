"""A long job raises no alert about itself: neither its size nor its ceiling is a loop."""

from __future__ import annotations

import pytest

from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.providers.base import Mode
from tests.llm.running.conftest import DEAR, SLOT_SECONDS, Desk, question

pytestmark = pytest.mark.parametrize("mode", list(Mode))
TEXTS = [f"word {number}" for number in range(30)]


async def fired(desk: Desk) -> set[tuple[str, str]]:
    """Run a job to its end; pattern and subject of every alert that fired meanwhile."""
    found = set()
    while await desk.live():
        await desk.slot()
        found |= {(str(alert.pattern), alert.subject) for alert in await desk.client.check_alerts()}
        desk.clock.advance(SLOT_SECONDS)
    return found


async def test_a_job_with_money_enough_fires_none(desk: Desk) -> None:
    await desk.submit(TEXTS)
    assert await fired(desk) == set()
    assert await desk.results() == {text: text.upper() for text in TEXTS}


async def test_a_job_at_its_ceiling_fires_none_but_of_its_money(desk: Desk) -> None:
    await desk.submit(TEXTS, max_cost=4 * reserve_amount(question(TEXTS[0]), DEAR, 1.0))
    for pattern, subject in await fired(desk):
        assert (pattern, "(cost)" in subject) == ("budget", True), subject
    answers = await desk.results()
    answered = {text for text, answer in answers.items() if answer == text.upper()}
    assert set() < answered < set(TEXTS) == set(answers), "the ceiling kept some out"
