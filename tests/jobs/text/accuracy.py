"""How well postings are read, held against the 60 of the corpus that a strong model has read before.

What counts as right:

* seniority, arrangement: the same value;
* salary: found where one is expected and both ends are the same; false where none is expected and one is found;
* years: the same least number; rows without one expected count as false when one is found. The highest number is told
  apart, for information;
* technologies: names on both sides are made canonical by the product's table of spellings (``postgres`` and
  ``postgresql``, ``rails`` and ``ruby on rails``, ``.net core`` and ``.net`` are the same), then counted over all rows
  (micro). Names that the expectation has and the product does not know stay as they are, and count as missed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ramet.jobs.posting import Posting
from ramet.jobs.text.posting_text import Reading, read_posting
from ramet.jobs.text.technologies import canonical_technology
from tests.jobs.corpus import corpus_file


@dataclass
class Count:
    """Right among all, and a line for each that is not."""

    right: int = 0
    all: int = 0
    misses: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.right / self.all if self.all else 1.0

    def add(self, is_right: bool, miss: str) -> None:
        self.all += 1
        self.right += is_right
        if not is_right:
            self.misses.append(miss)


@dataclass
class Figures:
    """Of all rows."""

    seniority: Count = field(default_factory=Count)
    arrangement: Count = field(default_factory=Count)
    salary: Count = field(default_factory=Count)
    salary_false: list[str] = field(default_factory=list)
    years: Count = field(default_factory=Count)
    years_false: list[str] = field(default_factory=list)
    years_max: Count = field(default_factory=Count)
    employment: Count = field(default_factory=Count)
    technologies_right: int = 0
    technologies_extra: list[str] = field(default_factory=list)
    technologies_missed: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.technologies_right / (self.technologies_right + len(self.technologies_extra) or 1)

    @property
    def recall(self) -> float:
        return self.technologies_right / (self.technologies_right + len(self.technologies_missed) or 1)


def rows() -> list[dict[str, Any]]:
    """The expected listings of the corpus."""
    lines = corpus_file("listings/listings_dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def posting_of(row: dict[str, Any]) -> Posting:
    """A row as a board would have told it: the description has its markup, as far as the row has."""
    return Posting(
        url=row["url"],
        title=row["title"],
        company=row.get("company_name"),
        location=row["location"],
        description=row["description"] or "",
        salary=row.get("salary_range"),
    )


def figures_of(pairs: Iterable[tuple[dict[str, Any], Reading]]) -> Figures:
    """Hold readings against what is expected of them."""
    figures = Figures()
    for row, reading in pairs:
        expected = row["expected"]
        name = f"{row['title'][:44]} | {(row['location'] or '')[:34]}"
        found = str(reading.seniority)
        figures.seniority.add(
            found == expected["seniority"], f"{name}: {found} ({reading.seniority_word}), not {expected['seniority']}"
        )
        found = str(reading.arrangement)
        figures.arrangement.add(
            found == expected["workArrangement"],
            f"{name}: {found} ({reading.arrangement_rule}), not {expected['workArrangement']}",
        )
        figures.employment.add(
            reading.employment_type in {expected["employmentType"], None},
            f"{name}: {reading.employment_type}, not {expected['employmentType']}",
        )
        _salary(figures, name, expected, reading)
        _years(figures, name, expected, reading)
        _technologies(figures, name, expected, reading)
    return figures


def milliseconds(postings: list[Posting], rounds: int = 5) -> float:
    """CPU time of reading one posting, the best of some rounds over all."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        for posting in postings:
            read_posting(posting)
        best = min(best, time.process_time() - begin)
    return best / len(postings) * 1_000


def _salary(figures: Figures, name: str, expected: dict[str, Any], reading: Reading) -> None:
    want = (expected["salaryMin"], expected["salaryMax"])
    found = None if reading.salary is None else (reading.salary.minimum, reading.salary.maximum)
    if want != (None, None):
        figures.salary.add(found == want, f"{name}: {found}, not {want}")
    elif found is not None:
        figures.salary_false.append(f"{name}: {reading.salary}")


def _years(figures: Figures, name: str, expected: dict[str, Any], reading: Reading) -> None:
    want = expected["experienceMin"]
    if want is not None:
        figures.years.add(reading.years_min == want, f"{name}: {reading.years_min}, not {want}")
        figures.years_max.add(
            reading.years_max == expected["experienceMax"],
            f"{name}: {reading.years_max}, not {expected['experienceMax']}",
        )
    elif reading.years_min is not None:
        figures.years_false.append(f"{name}: {reading.years_min}")


def _technologies(figures: Figures, name: str, expected: dict[str, Any], reading: Reading) -> None:
    want = {canonical_technology(technology) for technology in expected["technologies"]}
    found = set(reading.technologies)
    figures.technologies_right += len(want & found)
    figures.technologies_extra += [f"{name}: {technology}" for technology in sorted(found - want)]
    figures.technologies_missed += [f"{name}: {technology}" for technology in sorted(want - found)]
