"""What a model adds to the reading of a posting, and what it cannot."""

from __future__ import annotations

from typing import Any

from ramet import Context
from ramet.jobs.ai.steps import extracted
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority
from ramet.jobs.text.posting_text import Reading, read_posting
from ramet.jobs.text.salaries import Salary
from ramet.testing import fresh_client
from tests.jobs.ai.fake_model import SETTINGS, Said, app_doing, run, speaking

VAGUE = Posting(
    url="https://a.example/1",
    title="Engineer",
    description="We are a team and look for somebody who likes Ferrylang. " * 10,
)
CLEAR = Posting(
    url="https://a.example/2", title="Senior Python Engineer", workplace="remote", salary="$150,000 - $180,000 a year",
    description="Requirements: 5+ years of Python, PostgreSQL and Docker. " * 5,
)  # fmt: skip
TOLD: dict[str, Any] = {
    "seniority": "Staff", "arrangement": "hybrid", "salary_min": 200_000, "salary_max": 150_000, "currency": "usd",
    "years_min": 7, "technologies": ["Ferrylang", "k8s"],
}  # fmt: skip


async def read(
    posting: Posting, *said: Said, settings: JobsSettings | None = None
) -> tuple[Reading, dict[str, str], int]:
    """The reading, what made each field, and how often a model was asked."""
    settings = settings or JobsSettings(model=SETTINGS)
    kept: list[tuple[Reading, dict[str, str]]] = []

    async def doing(ctx: Context) -> None:
        kept.append(await extracted(ctx, posting, read_posting(posting), settings))

    app = app_doing(doing)
    with speaking(*said) as model:
        async with fresh_client(app) as client:
            await run(app, client)
    return *kept[0], len(model.asked)


async def test_what_the_rules_left_unknown_is_asked_and_says_who_told() -> None:
    reading, methods, asked = await read(VAGUE, TOLD)
    assert asked == 1
    assert (reading.arrangement, reading.years_min) == (Arrangement.HYBRID, 7)
    assert reading.salary == Salary(150_000, 200_000, "USD")
    assert reading.technologies == ("ferrylang",)  # what the text does not have is none of it
    assert {name for name, who in methods.items() if who == "model:small"} >= {"arrangement", "salary", "technologies"}


async def test_what_the_rules_know_is_never_replaced() -> None:
    reading, methods, _ = await read(CLEAR, TOLD)
    assert (reading.seniority, reading.arrangement) == (Seniority.SENIOR, Arrangement.REMOTE)
    assert reading.salary is not None
    assert reading.salary.maximum == 180_000
    assert set(methods.values()) == {"rules"}


async def test_without_a_model_nothing_is_asked() -> None:
    reading, methods, asked = await read(VAGUE, TOLD, settings=JobsSettings())
    assert asked == 0
    assert reading == read_posting(VAGUE)
    assert set(methods.values()) == {"rules"}


async def test_a_model_that_fails_leaves_the_rules_and_a_note() -> None:
    reading, methods, _ = await read(VAGUE, "I cannot")
    assert reading == read_posting(VAGUE)
    assert methods["note"].startswith("model: ")


async def test_words_that_mean_nothing_here_are_left_out() -> None:
    reading, _, _ = await read(VAGUE, {"seniority": "wizard", "arrangement": "unknown", "salary_min": None})
    assert reading == read_posting(VAGUE)
