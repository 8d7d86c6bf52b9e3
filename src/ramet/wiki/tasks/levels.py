"""What a level asks of the spawn guard: a pure function of what is recorded.

An article's links are offered when all articles of its level have ended, in the order of (depth, canonical title of
the linking article, place of the link). So the first to link to an article, the articles that still fit under the
cap, and the reason of every refusal do not depend on which article happened to be loaded first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

OFFERS_PER_ROUND_MAX = 4_000
"""Links offered in one transaction; five times as many take 100 MB more memory and no less time. In a larger level the
reason of a duplicate may read `in_flight` in one run and `done` in another; which articles there are never differs."""


class Link(NamedTuple):
    """A recorded link. Links sort in the order in which they are offered."""

    source_depth: int
    source_key: str
    position: int
    target_key: str
    target_title: str


class Seen(NamedTuple):
    """The titles that a run knows before a level offers anything."""

    here: Collection[str]
    """Keys of those whose task is in this pass: the guard refuses them, and says why."""
    elsewhere: Collection[str]
    """Keys of those that an earlier pass looked up, or that are known through a redirect: they are not offered."""


class LevelPlan(NamedTuple):
    """What a level asks for."""

    grants: int
    """How many titles it will add; a further level follows exactly when there are any."""
    binds: bool
    """Whether the cap leaves titles out."""


class Planner:
    """Counts the titles that a level would add, until they are more than there is room for."""

    def __init__(self, seen: Seen, room: int) -> None:
        """`room`: titles that the run may still look up."""
        self._seen = seen
        self._room = max(0, room)
        self._wanted: set[str] = set()

    def add(self, links: Iterable[Link]) -> bool:
        """Look at some of the level's links; True when no more need be looked at."""
        for link in links:
            if link.target_key not in self._seen.here and link.target_key not in self._seen.elsewhere:
                self._wanted.add(link.target_key)
                if len(self._wanted) > self._room:
                    return True
        return False

    @property
    def plan(self) -> LevelPlan:
        """What follows from the links that were looked at."""
        return LevelPlan(min(len(self._wanted), self._room), len(self._wanted) > self._room)


def offered(links: Iterable[Link], seen: Seen) -> tuple[Link, ...]:
    """Those of a level's links that are offered to the guard, which grants or refuses each with a reason."""
    return tuple(link for link in links if link.target_key not in seen.elsewhere)


def within(links: Iterable[Link], seen: Seen) -> tuple[Link, ...]:
    """Those of the last level's links that lead to titles of this pass: they are duplicates, not too deep."""
    return tuple(link for link in links if link.target_key in seen.here)


def beyond(links: Iterable[Link], seen: Seen) -> tuple[Link, ...]:
    """Those of the last level's links that lead to titles nobody has looked up: the guard refuses them by depth."""
    return tuple(link for link in offered(links, seen) if link.target_key not in seen.here)
