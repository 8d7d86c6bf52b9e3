"""What a model adds to companies, pages and scores; each within its bounds, and only where it was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from ramet import Context
from ramet.jobs.ai.steps import analysed, discovered, filled
from ramet.jobs.companies.facts import CompanyFacts, WebPage
from ramet.jobs.matching.score import score_of
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings, Profile
from ramet.jobs.text.posting_text import read_posting
from ramet.testing import fresh_client
from tests.jobs.ai.fake_model import SETTINGS, Model, Said, app_doing, run, speaking

PROFILE = Profile(name="Ana", technologies={"Python": "required"})
WITH_MODEL = JobsSettings(model=SETTINGS, profile=PROFILE)
POSTING = Posting(
    url="https://a.example/1", title="Python Engineer", description="Requirements: Python. " * 30, company="Acme"
)
WORDS = {"reasons": ["they work on ferries", "they write it down"], "explanation": "Ferries. It fits."}


async def doing(act: Callable[[Context], Awaitable[Any]], *said: Said) -> tuple[Any, Model]:
    """What came of it, and the model that was there."""
    kept: list[Any] = []

    async def once(ctx: Context) -> None:
        kept.append(await act(ctx))

    app = app_doing(once)
    with speaking(*said) as model:
        async with fresh_client(app) as client:
            await run(app, client)
    return kept[0], model


async def analysis(settings: JobsSettings, *said: Said, threshold: float | None = None) -> tuple[Any, Model]:
    reading = read_posting(POSTING)
    score = score_of(POSTING, reading, None, settings, 0.0)
    score = score if threshold is None else replace(score, threshold=threshold)
    return await doing(lambda ctx: analysed(ctx, POSTING, reading, score, settings), *said)


@pytest.mark.parametrize(("wanted", "points"), [(4, 4), (100, 10), (-100, -10)])
async def test_a_model_moves_a_score_by_ten_points_at_most_and_says_why(wanted: float, points: float) -> None:
    told, model = await analysis(WITH_MODEL, {**WORDS, "adjustment": wanted})
    assert told["points"] == points
    assert [part["points"] for part in told["adjustments"]] == [points, 0]
    assert [part["reason"] for part in told["adjustments"]] == WORDS["reasons"]
    assert (told["method"], told["explanation"]) == ("model:large", WORDS["explanation"])
    assert [request.model for request in model.asked] == ["large"]


async def test_a_model_that_fails_moves_no_score() -> None:
    told, _ = await analysis(WITH_MODEL, "no JSON at all")
    assert (told["points"], told["adjustments"], told["method"]) == (0, [], "rules")
    assert told["note"].startswith("model: ")


@pytest.mark.parametrize(
    ("settings", "threshold"),
    [
        (JobsSettings(profile=PROFILE), None),  # no model
        (JobsSettings(model=SETTINGS), None),  # no profile
        (WITH_MODEL, 100),  # far below its threshold
    ],
)
async def test_a_score_that_is_not_worth_it_is_not_paid_for(settings: JobsSettings, threshold: float | None) -> None:
    told, model = await analysis(settings, {**WORDS, "adjustment": 5}, threshold=threshold)
    assert told is None
    assert not model.asked


PAGES = [WebPage("https://acme.example/", "<p>We make things that float, and those who sail them trust us.</p>")]
ABOUT = (
    "Acme makes everything that floats, from buoys to ferries, and has done so for longer than anybody can tell. " * 2
)


async def test_a_model_fills_in_what_the_rules_left_too_short_and_says_so() -> None:
    facts = CompanyFacts(
        name="Acme", about="We float.", culture="We write things down. " * 5, methods={"about": "meta"}
    )
    told, model = await doing(
        lambda ctx: filled(ctx, facts, PAGES, WITH_MODEL), {"about": ABOUT, "culture": "x", "industry": "Shipping"}
    )
    assert told.about == " ".join(ABOUT.split())
    assert told.methods["about"] == "model:small"
    assert told.culture == facts.culture
    assert [request.model for request in model.asked] == ["small"]


async def test_of_a_company_that_the_rules_know_well_no_model_is_asked() -> None:
    facts = CompanyFacts(name="Acme", about=ABOUT, culture="We write things down. " * 5)
    told, model = await doing(lambda ctx: filled(ctx, facts, PAGES, WITH_MODEL), {"about": "Something else. " * 20})
    assert told == facts
    assert not model.asked


async def test_a_model_that_fails_leaves_a_company_as_the_rules_saw_it() -> None:
    facts = CompanyFacts(name="Acme", about="We float.")
    told, _ = await doing(lambda ctx: filled(ctx, facts, PAGES, WITH_MODEL), "I cannot")
    assert told.about == facts.about
    assert told.methods["note"].startswith("model: ")


ROWS = "".join(f'<div class="zz"><b>Engineer {n}</b><a href="/p/{n}">more</a></div>' for n in range(4))
LIST = f"<html><body><section>{ROWS}</section></body></html>"
SELECTORS = {"item": "div.zz", "title": "b", "url": "a@href"}


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        (SELECTORS, True),
        ({**SELECTORS, "item": "div.nothing"}, False),
        ({**SELECTORS, "item": "((("}, False),
        ("no selectors", False),
    ],
)
async def test_selectors_of_a_model_are_taken_when_the_page_proves_them(said: Said, taken: bool) -> None:
    told, _ = await doing(lambda ctx: discovered(ctx, LIST, "https://acme.example/jobs", WITH_MODEL), said)
    assert (told is not None) == taken
