"""Openings that the world's boards have: made up, or the real texts of the corpus varied."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

DAY = 86_400.0
LONG_AGO = datetime(2026, 11, 1, 9, 30, tzinfo=UTC).timestamp()
TEXT = """We build the software that ferries run on, and look for somebody who builds it with us.
Requirements:
- 5+ years of experience with Python and PostgreSQL
- Docker, Kubernetes and AWS in production
- Clear words, written and spoken
What you will do: design services, keep them running, and help others to do so."""


@dataclass(frozen=True)
class Opening:
    """One opening, whatever board it is on."""

    id: str
    title: str
    location: str = "Portland, OR"
    text: str = TEXT
    """Plain, on lines."""
    posted_at: float = LONG_AGO
    """Unix seconds."""
    workplace: str | None = None
    """``remote``, ``hybrid``, ``onsite``."""
    salary: tuple[int, int, str] | None = None
    """From, to, currency; a year."""
    employment_type: str = "Full-time"
    listed: bool = True

    @property
    def number(self) -> int | str:
        """The id as vendors have it that number theirs."""
        return int(self.id) if self.id.isdigit() else self.id

    @property
    def html(self) -> str:
        """The text as a page has it."""
        return "".join(f"<p>{html.escape(line)}</p>" for line in self.text.splitlines() if line.strip())

    @property
    def posted(self) -> str:
        """ISO 8601, UTC."""
        return datetime.fromtimestamp(self.posted_at, UTC).isoformat()

    @property
    def city(self) -> str:
        """The first part of the location."""
        return self.location.partition(",")[0].strip()

    @property
    def region(self) -> str:
        """The second."""
        return self.location.partition(",")[2].partition(",")[0].strip()


TITLES = (
    "Senior Python Engineer", "Staff Platform Engineer", "Backend Developer", "Site Reliability Engineer",
    "Data Engineer", "Frontend Engineer", "Sales Manager", "Principal Software Engineer", "QA Analyst", "Recruiter",
)  # fmt: skip
PLACES = ("Portland, OR", "Remote, US", "Berlin, Germany", "New York, NY", "Portland, ME", "London, United Kingdom")


def made_up(count: int, *, first: int = 1) -> list[Opening]:
    """So many openings, each with a title of its own; always the same ones."""
    return [
        Opening(
            id=str(100_000 + number),
            title=f"{TITLES[number % len(TITLES)]} {number}",
            location=PLACES[number % len(PLACES)],
            posted_at=LONG_AGO - number % 9 * DAY,
            workplace=("remote", "hybrid", "onsite", None)[number % 4],
            salary=(150_000, 190_000, "USD") if number % 3 == 0 else None,
        )
        for number in range(first, first + count)
    ]


def varied(models: Sequence[Opening], count: int) -> Iterator[Opening]:
    """So many openings after these models, none like another: other numbers, ids and words, the same substance."""
    for number in range(count):
        model = models[number % len(models)]
        round_ = number // len(models)
        yield replace(
            model,
            id=f"{number:08x}-{len(models):04x}-4000-8000-{number * 2_654_435_761 % 2**48:012x}",
            title=f"{model.title} ({round_})" if round_ else model.title,
            text=f"{model.text}\n\nReference {number}: team {number * 7919 % 104_729}, desk {number * 31 % 977}.",
        )
