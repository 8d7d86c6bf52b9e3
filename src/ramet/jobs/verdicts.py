"""The verdict on a listing that was read: the filter, the score, and what follows from them. Pure but for the cache.

The task of a listing and the one that judges again (:mod:`ramet.jobs.tasks.rescore`) come to their verdicts here, so
that the same text, company and settings give the same one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ramet.jobs.matching.filter import judge
from ramet.jobs.matching.score import CompanySignals, Score, priority_word, score_of
from ramet.jobs.posting import Posting
from ramet.jobs.records import json_of
from ramet.jobs.settings import JUDGING, JobsSettings, MatchSettings
from ramet.jobs.text.posting_text import Reading

NO_PROFILE = "unscored: there is no profile to compare it with, make one with `ramet jobs init`"
FIELDS = {"company_website", "places", "country", "salary", "pay", "workplace", "employment_type"}
"""Fields of a posting without a column in its row."""


@dataclass(frozen=True, slots=True)
class Case:
    """Facts by which a listing is judged, beside the settings."""

    posting: Posting
    reading: Reading
    company_id: str | None = None
    signals: CompanySignals | None = None
    """None: nothing is known of the company."""
    company_note: str | None = None
    """Why it is judged without its company."""
    analysis: dict[str, Any] | None = None
    """A model's analysis of it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Status of a listing, and the reason."""

    status: str
    """``filtered``, ``unscored``, ``skipped`` or ``matched``."""
    reason: str | None
    filter_result: dict[str, Any]
    score: Score | None = None
    points: float = 0.0
    """The score with what a model added or took."""
    told: dict[str, Any] = field(default_factory=dict)
    """The score as it is stored with a listing; empty where it was not scored."""


def verdict_of(case: Case, settings: JobsSettings, now: float) -> Verdict:
    """Judge a listing by the filter, and by its score where it passes.

    Args:
        now: Unix seconds, for its age.
    """
    result = judge(case.posting, case.reading, settings, now)
    if not result.passed:
        return Verdict("filtered", result.rejection_summary, result.as_json())
    score = score_of(case.posting, case.reading, case.signals, settings, now)
    return scored(case, result.as_json(), score, settings)


def scored(case: Case, filter_result: dict[str, Any], score: Score, settings: JobsSettings) -> Verdict:
    """Return what follows from a score."""
    told = score.as_json()
    if case.company_note:
        told["company_note"] = case.company_note
    if case.analysis is not None:
        told["analysis"] = case.analysis
    points = final_points(score, case.analysis)
    if not settings.profile.given:
        return Verdict("unscored", NO_PROFILE, filter_result, score, points, told)
    if points < score.threshold:
        reason = f"score {points:g} is below {score.threshold:g}"
        return Verdict("skipped", reason, filter_result, score, points, told)
    return Verdict("matched", None, filter_result, score, points, told)


def final_points(score: Score, analysis: dict[str, Any] | None) -> float:
    """Return the score with a model's adjustment, from 0 to 100."""
    return max(0.0, min(100.0, score.final + (analysis["points"] if analysis else 0.0)))


def match_row(verdict: Verdict, posted_at: float | None, rules: MatchSettings) -> tuple[Any, ...]:
    """Return the columns of a match from its score to the date of its posting."""
    score, analysis = verdict.score, verdict.told.get("analysis") or {}
    assert score is not None, "a match was scored"
    adjustments = [*score.adjustments, *analysis.get("adjustments", ())]
    return (
        verdict.points, score.static, priority_word(verdict.points, rules), json_of(adjustments),
        json_of(list(score.matched_skills)), json_of(list(score.missing_skills)),
        json_of(score.intake | analysis.get("intake", {})), analysis.get("explanation"),
        analysis.get("method", "rules"), posted_at,
    )  # fmt: skip


class _Mark:
    """The mark of the settings that were asked for last: every listing asks."""

    def __init__(self) -> None:
        self._of: JobsSettings | None = None
        self._mark = ""

    def of(self, settings: JobsSettings) -> str:
        if settings is not self._of:
            self._of, self._mark = settings, settings.mark(JUDGING)
        return self._mark


mark_of = _Mark().of
"""A mark of the settings that a verdict hangs on."""
