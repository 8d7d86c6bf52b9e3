"""What the comparison says in figures was measured, and is in the page of benchmarks."""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, text_of


def test_every_rate_of_the_comparison_is_in_the_benchmarks() -> None:
    page = text_of(DOCS / "comparison.md").partition("## Speed")[2].partition("\n## ")[0]
    measured = text_of(DOCS / "benchmarks.md")
    rates = re.findall(r"\d+,\d{3}", page)
    assert len(rates) == 6
    assert [rate for rate in rates if rate not in measured] == []


def test_ratios_of_the_comparison_are_those_of_its_rates() -> None:
    page = text_of(DOCS / "comparison.md").partition("## Speed")[2]
    rows = re.findall(r"^\| \**([^|*]+)\** \| ([\d,]+) \| ([\d.]+) \|$", page, flags=re.MULTILINE)
    rates = {name: float(rate.replace(",", "")) for name, rate, _ in rows}
    for name, _, ratio in rows:
        own = rates[f"ramet 0.1.0, {name.strip().rpartition(', ')[2]}"]
        assert abs(rates[name] / own - float(ratio)) < 0.05, name
