"""``python -m tests.jobs.text.accuracy_report``: all figures of reading postings, with counts and misses."""

from __future__ import annotations

import sys

from ramet.jobs.text.posting_text import read_posting
from tests.jobs.text.accuracy import Count, figures_of, milliseconds, posting_of, rows


def main() -> None:
    """Print the report."""
    expected = rows()
    postings = [posting_of(row) for row in expected]
    figures = figures_of(zip(expected, map(read_posting, postings), strict=True))
    _print("seniority", figures.seniority)
    _print("arrangement", figures.arrangement)
    _print("salary found", figures.salary)
    _lines(f"salary false: {len(figures.salary_false)}", figures.salary_false)
    _print("years", figures.years)
    _lines(f"years false: {len(figures.years_false)}", figures.years_false)
    _print("years, highest", figures.years_max)
    _print("employment type, where one is told", figures.employment)
    right = figures.technologies_right
    _lines(f"technologies precision {figures.precision:.3f}: {right} right, extra:", figures.technologies_extra)
    _lines(f"technologies recall {figures.recall:.3f}: missed:", figures.technologies_missed)
    characters = sum(len(posting.description) for posting in postings) // len(postings)
    _lines(
        f"CPU {milliseconds(postings):.2f} ms a posting ({characters} characters on average, {len(postings)} postings)",
        [],
    )


def _print(name: str, count: Count) -> None:
    _lines(f"{name}: {count.right}/{count.all} = {count.share:.1%}", count.misses)


def _lines(head: str, lines: list[str]) -> None:
    sys.stdout.write("\n    ".join([head, *lines]) + "\n")


if __name__ == "__main__":
    main()
