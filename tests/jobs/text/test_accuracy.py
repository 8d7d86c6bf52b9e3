"""Real postings are read as well as the project demands; ``report.py`` prints the same figures with every miss."""

from __future__ import annotations

import pytest

from ramet.jobs.text.posting_text import Reading, read_posting
from tests.jobs.text.accuracy import Figures, figures_of, posting_of, rows


@pytest.fixture(scope="module")
def figures() -> Figures:
    expected = rows()
    assert len(expected) == 60
    return figures_of((row, read_posting(posting_of(row))) for row in expected)


def test_seniority(figures: Figures) -> None:
    assert figures.seniority.share >= 0.92, figures.seniority.misses


def test_arrangement(figures: Figures) -> None:
    assert figures.arrangement.share >= 0.88, figures.arrangement.misses


def test_salary(figures: Figures) -> None:
    assert figures.salary.share >= 0.95, figures.salary.misses
    assert len(figures.salary_false) <= 1, figures.salary_false


def test_years(figures: Figures) -> None:
    assert figures.years.share >= 0.95, figures.years.misses
    assert len(figures.years_false) <= 1, figures.years_false


def test_technologies(figures: Figures) -> None:
    # What is read beside the labels stands in the texts, all but a name or two: the labels list less than there is.
    assert figures.precision >= 0.88, figures.technologies_extra
    assert figures.recall >= 0.8, figures.technologies_missed


def test_a_reading_survives_json() -> None:
    for row in rows():
        reading = read_posting(posting_of(row))
        assert Reading.from_json(reading.as_json()) == reading
