"""How far the technologies of a listing are those of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ramet.jobs.matching.ranks import Ranks
from ramet.jobs.posting import Posting
from ramet.jobs.scoring_settings import MatchSettings
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.technologies import canonical_technology, find_technologies

TITLE_MAX = 300
"""Characters of a title that count."""
NAMED_MAX = 4
"""Technologies that a reason names."""

Adjusted = tuple[str, str, float]
"""Category, reason, points."""


@dataclass(frozen=True, slots=True)
class Skills:
    """Technologies of a listing, each list with the weightiest first."""

    matched: tuple[str, ...]
    """The profile's."""
    missing: tuple[str, ...]
    """Not the profile's, or unwelcome there."""
    unwelcome: tuple[str, ...]
    """Of rank strike."""
    weight: float
    """Of all of them together."""
    credit: float
    """Of the profile's."""


def skills_of(posting: Posting, reading: Reading, ranks: Ranks, rules: MatchSettings) -> Skills:
    """Compare what the listing names with what the profile has.

    Fields of work count where the profile ranks them, and are never missed.
    """
    in_title = find_technologies(posting.title[:TITLE_MAX])
    required = frozenset(reading.required_technologies)
    weights: dict[str, float] = {}
    fields = (name for name in reading.fields_of_work if name in ranks.known or name in ranks.strike)
    for name in (*in_title, *reading.technologies, *fields):
        weights[name] = max(
            rules.title_weight if name in in_title else 1.0, rules.requirement_weight if name in required else 1.0
        )
    ordered = sorted(weights, key=lambda name: -weights[name])
    matched = tuple(name for name in ordered if name in ranks.required or name in ranks.ok)
    credit = sum(weights[name] * (1.0 if name in ranks.required else rules.ok_credit) for name in matched)
    return Skills(
        matched=matched,
        missing=tuple(name for name in ordered if name not in ranks.required and name not in ranks.ok),
        unwelcome=tuple(name for name in ordered if name in ranks.strike),
        weight=sum(weights.values()),
        credit=credit,
    )


def skill_points(
    skills: Skills, company_stack: tuple[str, ...], ranks: Ranks, rules: MatchSettings
) -> Iterator[Adjusted]:
    """Points for the overlap, and for what is unwelcome. A profile or a listing without technologies has none."""
    if not ranks.known:
        pass
    elif skills.weight > 0:
        yield "skills", _overlap_told(skills), _overlap_points(skills, rules)
    elif company_stack:
        stack = {canonical_technology(name) for name in company_stack}
        shared = sorted(stack & ranks.known)
        points = rules.company_skill_bonus * len(shared) / len(stack)
        yield "skills", f"none named; of the company's technologies: {_named(shared)}", points
    if skills.unwelcome:
        points = min(rules.strike_skill_penalty_max, rules.strike_skill_penalty * len(skills.unwelcome))
        yield "skills", f"unwelcome: {_named(skills.unwelcome)}", -points


def _overlap_points(skills: Skills, rules: MatchSettings) -> float:
    """From all of the penalty, at no overlap, to all of the bonus, at a full one.

    Few technologies say little: as much weight as ``skill_doubt`` is added at the share that gives no points.
    """
    span = rules.skill_bonus_max + rules.skill_penalty_max
    if span == 0:
        return 0.0
    even = rules.skill_full_share * rules.skill_penalty_max / span
    share = (skills.credit + rules.skill_doubt * even) / (skills.weight + rules.skill_doubt)
    return span * min(1.0, share / rules.skill_full_share) - rules.skill_penalty_max


def _overlap_told(skills: Skills) -> str:
    share = skills.credit / skills.weight
    return f"{share:.0%} of the technologies by weight: {_named(skills.matched)}"


def _named(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"{', '.join(names[:NAMED_MAX])}{more}" if names else "none"
