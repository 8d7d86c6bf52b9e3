"""Scores of the sampled listings, compared with a ranking that was made by hand before any of them was scored.

``ranking.json`` has for each profile of ``profiles/`` its 30 listings, each with a grade from 0 to 10 (equal grades are
equal places), a verdict and a reason in a few words:

* apply: the person would send an application today;
* perhaps: something fits and something does not, or the text leaves too much open;
* never: another country, another profession, or what the profile rules out.

A listing that the filter refuses has the score 0. No listing has a date or a company record, so age and company neither
add nor take. Spearman's correlation is of grades and scores, equal values at the mean of their ranks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramet.jobs.config.config_file import read_config
from ramet.jobs.matching.filter import judge
from ramet.jobs.matching.score import score_of
from ramet.jobs.settings import JobsSettings
from ramet.jobs.text.posting_text import read_posting
from tests.jobs.matching.score_report import rank_correlation
from tests.jobs.sampled.pools import FIRST, Item, Sample

FOLDER = Path(__file__).parent
VERDICTS = ("apply", "perhaps", "never")
NOW = 1_795_000_000.0
"""Unix seconds; any moment does, as no listing has a date."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A listing with the grade by hand and the score by the product."""

    name: str
    grade: float
    verdict: str
    score: float
    """0 where the filter refuses it."""
    is_match: bool
    said: str
    """What the product says to it, in a few words."""


def load_ranking(sample: Sample = FIRST) -> dict[str, list[dict[str, Any]]]:
    """Read the ranking by hand: profile to listings, in the order of the draw."""
    content = (FOLDER / f"ranking{sample.suffix}.json").read_text(encoding="utf-8")
    ranking: dict[str, list[dict[str, Any]]] = json.loads(content)
    return ranking


def settings_for(profile: str) -> JobsSettings:
    """Return the settings of a profile's file, as ``ramet jobs init --from`` would store them."""
    return JobsSettings.of(read_config(FOLDER / "profiles" / f"{profile}.yaml"))


def score(item: Item, ranked: dict[str, Any], settings: JobsSettings) -> Scored:
    """Filter and score one listing.

    Raises:
        ValueError: it is not the listing that was ranked.
    """
    if (item.path, item.sha256) != (ranked["path"], ranked["sha256"]):
        raise ValueError(f"{item.path}: not the listing that was ranked ({ranked['path']})")
    posting, reading = item.posting, read_posting(item.posting)
    verdict = judge(posting, reading, settings, NOW)
    found = score_of(posting, reading, None, settings, NOW)
    points = ", ".join(f"{one['category']} {one['points']:g}" for one in found.adjustments if one["points"])
    return Scored(
        name=f"{posting.title[:60]}, {posting.company}, {posting.location or 'no place'}",
        grade=ranked["grade"],
        verdict=ranked["verdict"],
        score=found.final if verdict.passed else 0.0,
        is_match=verdict.passed and found.is_match,
        said=points if verdict.passed else f"refused: {verdict.rejection_summary}",
    )


def summary(scored: Sequence[Scored]) -> list[str]:
    """The figures of a profile, one a line."""
    spearman = rank_correlation([one.grade for one in scored], [one.score for one in scored])
    apply, perhaps, never = ([one for one in scored if one.verdict == verdict] for verdict in VERDICTS)
    wrong = sum(no.score >= yes.score for yes in apply for no in never)
    matches = [one for one in scored if one.is_match]
    of_them = ", ".join(f"{sum(one.verdict == verdict for one in matches)} {verdict}" for verdict in VERDICTS)
    return [
        f"Spearman {spearman:.3f} of {len(scored)} listings: {len(apply)} apply, {len(perhaps)} perhaps, "
        f"{len(never)} never",
        f"pairs in which a never is not below an apply: {wrong} of {len(apply) * len(never)}",
        f"matches: {len(matches)} ({of_them})",
    ]


def table(scored: Sequence[Scored]) -> list[str]:
    """A table of Markdown, the best grade first."""
    lines = ["| grade | verdict | score | listing | points |", "| --- | --- | --- | --- | --- |"]
    for one in sorted(scored, key=lambda one: -one.grade):
        mark = " (match)" if one.is_match else ""
        cells = (f"{one.grade:g}", one.verdict, f"{one.score:g}{mark}", one.name, one.said)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines
