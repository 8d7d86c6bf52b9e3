"""Real postings of the corpus, read as the pipeline reads them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from ramet.jobs.posting import Posting
from ramet.jobs.text.posting_text import Reading, read_posting
from tests.jobs.corpus import corpus_file

HOUR = 3_600.0


class Case(NamedTuple):
    """A posting with the clock at which it is looked at."""

    posting: Posting
    reading: Reading
    now: float
    original_score: float | None
    """What the original gave it, where it was kept."""


@cache
def matches() -> tuple[Case, ...]:
    """The listings that the original kept for this user, an hour after each was posted."""
    return tuple(_case(row, row["postedDate"], row["matchScore"]) for row in _rows("listings/matches_dev.jsonl"))


@cache
def listings() -> tuple[Case, ...]:
    """Listings of all kinds, an hour after each was posted; those without a date that can be read at once have none."""
    return tuple(_case(row, row["posted_date"], None) for row in _rows("listings/listings_dev.jsonl"))


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in corpus_file(name).read_text(encoding="utf-8").splitlines()]


def _case(row: dict[str, Any], posted: str | None, score: float | None) -> Case:
    try:
        moment = datetime.fromisoformat(posted or "")
    except ValueError:
        posted_at = None
    else:
        posted_at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    posting = Posting(
        url=row["url"],
        title=row["title"],
        company=row.get("company_name"),
        location=row["location"],
        description=row["description"],
        salary=row.get("salary_range"),
        posted_at=posted_at,
    )
    return Case(posting, read_posting(posting), (posted_at or 0.0) + HOUR, score)
