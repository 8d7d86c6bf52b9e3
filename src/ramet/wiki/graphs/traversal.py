"""Going along links, and along redirects, whatever database holds them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from ramet.wiki.graphs.base import DEPTH_UNKNOWN, Direction, GraphAlias

ALL = sys.maxsize
"""Value of `limit` for no limit."""

_WAYS = {Direction.OUT: (Direction.OUT,), Direction.IN: (Direction.IN,), Direction.BOTH: (Direction.OUT, Direction.IN)}


def walk(
    start: str, adjacent: Callable[[str, Direction], Iterable[str]], *, direction: Direction, depth: int, limit: int
) -> list[tuple[int, str]]:
    """Return (distance, key) of at most `limit` nodes within `depth` links of `start`, by level and key.

    `adjacent` gives the keys one link away, `OUT` or `IN`. No level is looked into once there are enough.
    """
    seen = {start}
    level = [start]
    found: list[tuple[int, str]] = []
    for distance in range(1, depth + 1):
        near = {next_key for key in level for way in _WAYS[direction] for next_key in adjacent(key, way)} - seen
        seen |= near
        level = sorted(near)
        found += [(distance, key) for key in level[: limit - len(found)]]
        if not level or len(found) >= limit:
            break
    return found


def ranked_first(
    found: list[tuple[int, str]], ranks: Mapping[str, float | None], *, limit: int
) -> list[tuple[int, str]]:
    """Return the `limit` of a walk that have the highest PageRank, highest first; those without one come last."""
    return sorted(found, key=lambda one: (-(ranks[one[1]] or 0.0), one))[:limit]


def resolved(aliases: Sequence[GraphAlias]) -> dict[str, tuple[str, str]]:
    """Return canonical title of every alias -> its display title and the key that it finally leads to.

    Of two of the same key the later counts. One that leads back to itself is left out.
    """
    noted = {alias.alias_key: alias for alias in aliases}
    leads: dict[str, tuple[str, str]] = {}
    for key, alias in noted.items():
        walked = {key}
        target = alias.target_key
        while target in noted and target not in walked:
            walked.add(target)
            target = noted[target].target_key
        if target not in walked:
            leads[key] = (alias.alias_title, target)
    return leads


def nearer(known: int, depth: int) -> int:
    """Return the smaller of two depths, of which either may be unknown."""
    return max(known, depth) if DEPTH_UNKNOWN in (known, depth) else min(known, depth)
