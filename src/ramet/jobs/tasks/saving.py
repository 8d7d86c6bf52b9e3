"""The rows of a listing and of a match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ramet import Context
from ramet.jobs import records
from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.kinds import ListingPayload
from ramet.jobs.matching.duplicates import fingerprint, text_hash
from ramet.jobs.matching.quality import quality_of
from ramet.jobs.matching.score import Score, priority_word
from ramet.jobs.posting import Posting
from ramet.jobs.records import json_of
from ramet.jobs.text.posting_text import Reading


@dataclass(frozen=True, slots=True)
class Gathered:
    """A posting and what its text says."""

    posting: Posting
    reading: Reading
    methods: Mapping[str, str] = field(default_factory=dict)
    """What made each field: a rule or a model."""

    @property
    def fingerprint(self) -> str | None:
        """Of company, title and place; None when the company is not known."""
        return fingerprint(self.posting.company, self.posting.title, self.posting.location) or None


def save_listing(
    ctx: Context,
    payload: ListingPayload,
    gathered: Gathered,
    status: str,
    settings: JobsSettings,
    *,
    filter_result: dict[str, Any] | None = None,
    match: dict[str, Any] | None = None,
    company_id: str | None = None,
    reason: str | None = None,
    same_as: str | None = None,
) -> None:
    """Fill the record in; commits with the task's end."""
    posting, reading = gathered.posting, gathered.reading
    salary = reading.salary
    quality = quality_of(
        url=posting.url, title=posting.title, company=posting.company, description=posting.description,
        location=posting.location, posted_at=posting.posted_at, requirements=reading.requirements,
        settings=settings.listing,
    )  # fmt: skip
    facts = reading.as_json()
    facts.pop("requirements", None)
    analysis = match["analysis"] if match else None
    methods = {**gathered.methods, "score": analysis["method"] if analysis else "rules"}
    ctx.write(
        records.END_LISTING,
        (
            company_id or payload.company_id, posting.company, posting.title or None, posting.location,
            posting.description or None, reading.requirements or None, posting.posted_at,
            salary.minimum if salary else None, salary.maximum if salary else None,
            salary.currency if salary else None, json_of(facts), json_of(methods), status, quality.value,
            json_of(filter_result) if filter_result else None, reason, same_as,
            json_of(match["score"]) if match else None, gathered.fingerprint,
            text_hash(posting.description, settings.listing.near_text_min), ctx.key,
            ctx.id,
        ),
    )  # fmt: skip


def save_match(
    ctx: Context,
    payload: ListingPayload,
    gathered: Gathered,
    score: Score,
    *,
    points: float,
    analysis: dict[str, Any] | None,
    settings: JobsSettings,
) -> None:
    """Keep a match; commits with the task's end."""
    told = analysis or {}
    adjustments = [*score.adjustments, *told.get("adjustments", ())]
    ctx.write(
        records.ADD_MATCH,
        (
            ctx.key, ctx.tracking_id, payload.source_id, points, score.static, priority_word(points, settings.match),
            json_of(adjustments), json_of(list(score.matched_skills)), json_of(list(score.missing_skills)),
            json_of(score.intake | told.get("intake", {})), told.get("explanation"), told.get("method", "rules"),
            gathered.posting.posted_at, ctx.now,
        ),
    )  # fmt: skip
