"""Tiers and sizes of companies, made again with the profile and settings of now: of what the look at them found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from ramet import Client, Statement
from ramet.jobs.companies.facts import CompanyFacts, Priority, priority_of
from ramet.jobs.companies.statements import headcount_in, size_category
from ramet.jobs.records import CompanyRow, json_of
from ramet.jobs.settings import JobsSettings
from ramet.jobs.text.places import Place

AT_ONCE = 400
NO_PROFILE = "there is no profile, so companies get no priority: make one with `ramet jobs init`"
KEEP_SIGNALS = """
    INSERT INTO jobs_company_signals (company_id, signals) VALUES (?, ?)
    ON CONFLICT (company_id) DO UPDATE SET signals = excluded.signals"""
RATED = """
    SELECT c.company_id, c.size, c.company_size_category, c.tech_stack, c.tier, c.priority_score, c.score_reasons,
        c.updated_at, s.signals
    FROM jobs_companies c JOIN jobs_company_signals s ON s.company_id = c.company_id
    WHERE c.company_id > ? AND c.status = 'active' ORDER BY c.company_id LIMIT ?"""
RATE = """
    UPDATE jobs_companies SET company_size_category = ?, tier = ?, priority_score = ?, score_reasons = ?, note = ?
    WHERE company_id = ? AND status = 'active' AND updated_at = ?"""
"""Unless a look at it has written since."""


def signals_of(facts: CompanyFacts) -> str:
    """Return what a tier hangs on and the company's row has no column for."""
    return json_of(
        {
            "offices": [asdict(place) for place in facts.offices], "remote_first": facts.remote_first,
            "ai_ml": facts.ai_ml, "evidence": facts.evidence,
        }
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rating:
    """A company whose tier, points or size are others now."""

    company_id: str
    size_category: str | None
    priority: Priority | None
    updated_at: float
    """Unix seconds of the row's update, when it was read."""

    def of(self, row: CompanyRow) -> CompanyRow:
        """Return its row as it is with this rating."""
        tier = self.priority.tier if self.priority else None
        return replace(row, tier=tier, company_size_category=self.size_category)


async def ratings_of(client: Client, settings: JobsSettings) -> list[Rating]:
    """Rate all companies again; those that are rated otherwise now.

    A record that an older version made has no signals: it keeps its tier until the next look at the company.
    """
    found: list[Rating] = []
    after: str | None = ""
    while after is not None:
        rows = await client.read(RATED, (after, AT_ONCE))
        found += [rating for row in rows if (rating := _rating(row, settings)) is not None]
        after = str(rows[-1][0]) if len(rows) == AT_ONCE else None
    return found


def _rating(row: tuple[Any, ...], settings: JobsSettings) -> Rating | None:
    company_id, size, category, technologies, tier, points, reasons, updated_at, stored = row
    signals = json.loads(stored)
    facts = CompanyFacts(
        tech_stack=tuple(json.loads(technologies or "[]")), remote_first=signals["remote_first"],
        ai_ml=signals["ai_ml"], offices=tuple(Place(**place) for place in signals["offices"]),
        evidence={name: tuple(texts) for name, texts in signals["evidence"].items()},
    )  # fmt: skip
    priority = priority_of(facts, settings.company, settings.profile)
    headcount = headcount_in(size or "")
    now = size_category(headcount.employees, settings.company) if headcount else category
    before = (category, tier, points, reasons)
    after = (now, *_columns(priority))
    return None if before == after else Rating(company_id, now, priority, updated_at)


def statements_of(ratings: Iterable[Rating]) -> Iterator[Statement]:
    """Return the statements that write ratings; one that is written twice changes nothing."""
    for one in ratings:
        note = None if one.priority else NO_PROFILE
        columns = (one.size_category, *_columns(one.priority), note, one.company_id, one.updated_at)
        yield Statement(RATE, columns)


def _columns(priority: Priority | None) -> tuple[str | None, float | None, str | None]:
    return (priority.tier, priority.score, json_of(priority.reasons)) if priority else (None, None, None)
