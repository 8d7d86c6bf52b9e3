"""Result of the filter for a listing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ramet.jobs.posting import shallow

HARD = "hard_reject"
STRIKE = "strike"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that speaks against a listing."""

    filter_category: str
    """Subject: ``job_type``, ``salary``, ``location`` and so on."""
    filter_name: str
    """The rule."""
    reason: str
    """A few words, for a line."""
    detail: str
    """The values that were compared."""
    severity: str
    """``hard_reject`` or ``strike``."""
    points: float = 0.0
    """Strikes; none for a hard rejection."""


@dataclass(frozen=True, slots=True)
class FilterResult:
    """The verdict, with all that led to it."""

    passed: bool
    total_strikes: float
    strike_threshold: float
    rejection_summary: str
    """One line; empty where it passed."""
    hard_rejections: tuple[Finding, ...]
    """Hard rejections, at most one: the first ends the search."""
    strikes: tuple[Finding, ...]
    """All of them; none beside a hard rejection."""

    def as_json(self) -> dict[str, Any]:
        """Return the value that is stored with the listing."""
        return shallow(self) | {
            "hard_rejections": [shallow(finding) for finding in self.hard_rejections],
            "strikes": [shallow(finding) for finding in self.strikes],
        }


def hard(category: str, name: str, reason: str, detail: str) -> Finding:
    """Return a finding that decides alone."""
    return Finding(category, name, reason, detail, HARD)


def strike(category: str, name: str, reason: str, detail: str, points: float) -> Finding:
    """Return a finding that counts with others."""
    return Finding(category, name, reason, detail, STRIKE, points)


def rejected(finding: Finding, threshold: float) -> FilterResult:
    """Return the verdict after a hard rejection."""
    return FilterResult(False, 0.0, threshold, finding.reason, (finding,), ())


def counted(strikes: tuple[Finding, ...], threshold: float) -> FilterResult:
    """Return the verdict over strikes: it fails from the threshold on."""
    total = sum(finding.points for finding in strikes)
    passed = total < threshold
    reasons = "; ".join(f"{finding.reason} ({finding.points:g})" for finding in strikes)
    summary = "" if passed else f"{total:g} strikes, {threshold:g} are too many: {reasons}"
    return FilterResult(passed, total, threshold, summary, (), strikes)
