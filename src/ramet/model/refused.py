"""What the guard's own words say in numbers, so that nobody else has to read sentences (promise I8).

A stored block keeps the words of its first refusal (:mod:`ramet.model.lineage.guard`), with limit and value as they
were then; the limits may have been raised since.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ramet.model.causes import Fact
from ramet.model.lineage.guard import BlockReason


class Bound(NamedTuple):
    """The limit behind a reason."""

    limit_name: str
    """Field of :class:`ramet.model.lineage.limits.Limits` and of a lineage's row."""
    option: str
    """Of ``ramet lineage raise``, with what stands for its value."""


BOUNDS: Mapping[BlockReason, Bound] = {
    BlockReason.DEPTH: Bound("max_spawn_depth", "--max-depth N"),
    BlockReason.BUDGET: Bound("max_tasks", "--max-tasks N"),
    BlockReason.FAN_OUT: Bound("max_fan_out", "--max-fan-out N"),
    BlockReason.DEADLINE: Bound("lineage_seconds", "--extend SECONDS"),
    BlockReason.COST: Bound("max_cost", "--max-cost DOLLARS"),
    BlockReason.TRAP: Bound("max_shape", "--max-shape N"),
    BlockReason.RESERVE: Bound("max_cost", "--max-cost DOLLARS"),
}

_PATTERNS: Mapping[BlockReason, re.Pattern[str]] = {
    BlockReason.DEPTH: re.compile(r"depth (?P<value>\d+) is over max_spawn_depth (?P<limit>\d+)"),
    BlockReason.CYCLE: re.compile(r"ancestor \S+ \((?P<winner_kind>.*)\) already works on this key"),
    BlockReason.ELSEWHERE: re.compile(
        r"task \S+ of lineage (?P<winner_tracking_id>.*?) (?:holds|ended as (?P<winner_state>\w+) and still holds) "
        r"this unique key.*"
    ),
    BlockReason.BUDGET: re.compile(
        r"the lineage has created (?P<value>\d+) of (?P<limit>\d+) tasks(?:, and this takes (?P<places>\d+): .*)?"
    ),
    BlockReason.FAN_OUT: re.compile(r"the parent has created (?P<value>\d+) of (?P<limit>\d+) children"),
    BlockReason.COST: re.compile(r"the lineage has spent (?P<value>\S+) of (?P<limit>\S+)"),
    BlockReason.STOP_LIST: re.compile(r"(?P<entry>.*) is on the stop list", re.DOTALL),
    BlockReason.TRAP: re.compile(r"the lineage has (?P<value>\d+) keys of the shape (?P<shape>.*): if .*", re.DOTALL),
}


def numbers_of(reason: BlockReason, detail: str) -> dict[str, Fact]:
    """What a detail says, by name: ``value`` and ``limit`` of a bound, the winner's kind, lineage or state.

    Empty where the words have no numbers; amounts of money stay texts in dollars.
    """
    pattern = _PATTERNS.get(reason)
    found = None if pattern is None else pattern.fullmatch(detail)
    if found is None:
        return {}
    texts = {name: text for name, text in found.groupdict().items() if text is not None}
    return {name: int(text) if text.isdecimal() and name in _COUNTS else text for name, text in texts.items()}


_COUNTS = frozenset({"value", "limit", "places"})
