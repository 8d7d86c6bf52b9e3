"""What a level asks of the spawn guard: a pure function of what is recorded.

An article's links are offered when all articles of its level have ended, in the order of (depth, canonical title of
the linking article, place of the link). So the first to link to an article, the articles that still fit under the
cap, and the reason of every refusal do not depend on which article happened to be loaded first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

OFFERS_PER_ROUND_MAX = 20_000
"""Links offered in one transaction. In a larger level the reason of a duplicate may read `in_flight` in one run and
`done` in another; which articles there are never differs."""


class Link(NamedTuple):
    """A recorded link. Links sort in the order in which they are offered."""

    source_depth: int
    source_key: str
    position: int
    target_key: str
    target_title: str


class Round(NamedTuple):
    """Links that are offered in one transaction."""

    links: Sequence[Link]
    beyond: bool
    """True when they lead beyond the last level: the guard is to refuse them by depth."""


class LevelPlan(NamedTuple):
    """What a level asks for."""

    rounds: tuple[Round, ...]
    next_level: bool
    """Whether a further level follows: exactly when this one adds articles."""
    grants: int
    """How many articles it will add."""
    max_tasks: int | None
    """What to lower the lineage's `max_tasks` to, so that the cap on articles holds exactly; None: leave it."""


def plan_level(
    level: int, links: Iterable[Link], known: Collection[str], *, max_articles: int, max_depth: int
) -> LevelPlan:
    """Plan a level.

    Args:
        level: its number, 0 for the seeds'.
        links: of its articles.
        known: keys of the run's articles before this level offers anything.
        max_articles: the run's cap.
        max_depth: the last level's number.
    """
    ordered = sorted(links)
    if level >= max_depth:
        # The known first: a link between articles is a duplicate, not one too deep.
        within = [link for link in ordered if link.target_key in known]
        beyond = [link for link in ordered if link.target_key not in known]
        return LevelPlan((*_rounds(within, beyond=False), *_rounds(beyond, beyond=True)), False, 0, None)
    candidates = {link.target_key for link in ordered if link.target_key not in known}
    grants = max(0, min(len(candidates), max_articles - len(known)))
    binds = len(candidates) > grants
    levels = level + 1 + int(grants > 0)
    return LevelPlan(_rounds(ordered, beyond=False), grants > 0, grants, max_articles + levels if binds else None)


def _rounds(links: Sequence[Link], *, beyond: bool) -> tuple[Round, ...]:
    return tuple(
        Round(links[start : start + OFFERS_PER_ROUND_MAX], beyond)
        for start in range(0, len(links), OFFERS_PER_ROUND_MAX)
    )
