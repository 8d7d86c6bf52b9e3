"""A model fills in what the rules left open about a company."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ramet import Context
from ramet.jobs.ai.model import Unanswered, ask
from ramet.jobs.ai.prompts import COMPANY, CompanyReply
from ramet.jobs.companies.facts import CompanyFacts, WebPage, missing_for_good
from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.text.markup import text_of


async def filled(ctx: Context, facts: CompanyFacts, pages: Sequence[WebPage], settings: JobsSettings) -> CompanyFacts:
    """The facts, with fields from the cheap model where they are still below the thresholds; the rules' without one."""
    wanted = missing_for_good(facts, settings.company) if settings.model.reads and pages else []
    if not wanted:
        return facts
    share = settings.model.text_max // len(pages)
    data = "\n\n".join(f"{page.url}\n{text_of(page.html)[:share]}" for page in pages)
    try:
        told = await ask(ctx, COMPANY, CompanyReply, model=settings.model.cheap, data=data, settings=settings.model)
    except Unanswered as why:
        return replace(facts, methods={**facts.methods, "note": f"model: {why}"[:300]})
    found = {name: getattr(told, name, None) for name in wanted}
    kept = {name: value for name, value in found.items() if value and len(value) > len(getattr(facts, name) or "")}
    methods = {**facts.methods, **dict.fromkeys(kept, f"model:{settings.model.cheap}")}
    return replace(facts, **kept, methods=methods)
