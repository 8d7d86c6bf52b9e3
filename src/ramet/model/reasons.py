"""Reasons as data: a code and its facts, as rows store them; and the one place that puts them into words.

A reason is decided as a code with the values behind it. Words are made when it is shown, and nothing reads them back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ramet.model.money import as_usd
from ramet.model.task.task import Fact

_Facts = Mapping[str, Any]


def winner_of(facts: Mapping[str, Fact]) -> str | None:
    """Return the id of the task that was there first, where the facts of a block name one."""
    winner = facts.get("winner")
    return winner if isinstance(winner, str) else None


def block_words(code: str, facts: Mapping[str, Fact]) -> str:
    """Return why the guard blocked a spawn, or a ceiling a reservation, as a sentence without its full stop.

    Args:
        code: a :class:`ramet.model.lineage.guard.BlockReason`.
        facts: as the guard gave them.
    """
    try:
        return _BLOCKS[code](facts)
    except (KeyError, TypeError, ValueError):
        return code  # The row is damaged, or a newer version wrote it: the page that shows it must not fail.


def _cancelled(facts: _Facts) -> str:
    return f"task {facts['task']} and all below it were cancelled" if facts else "the lineage was cancelled"


def _in_flight(facts: _Facts) -> str:
    if "stage" in facts:
        return f"its stage {facts['stage']}, task {facts['winner']}, is live"
    return f"task {facts['winner']} of this lineage is {facts['winner_state']}"


def _done(facts: _Facts) -> str:
    if "stage" in facts:
        return f"its stage {facts['stage']}, task {facts['winner']}, is {facts['winner_state']}"
    return f"task {facts['winner']} of this lineage is {facts['winner_state']}"


def _elsewhere(facts: _Facts) -> str:
    where = f"task {facts['winner']} of lineage {facts['winner_tracking_id']}"
    if "winner_state" in facts:
        return f"{where} ended as {facts['winner_state']} and still holds this unique key"
    return f"{where} holds this unique key and is live"


def _budget(facts: _Facts) -> str:
    if "unreadable" in facts:
        return f"{', '.join(facts['unreadable'])} cannot be read, so the budget counts as spent"
    more = f", and this takes {facts['places']}: one for each stage" if "places" in facts else ""
    return f"the lineage has created {facts['value']} of {facts['limit']} tasks{more}"


def _cost(facts: _Facts) -> str:
    if not facts:
        return "a task without max_attempts needs a lineage with max_cost"
    return f"the lineage has spent {as_usd(facts['value'])} of {as_usd(facts['limit'])}"


def _reserve(facts: _Facts) -> str:
    most, spent, reserved = facts["limit"], facts["spent"], facts["reserved"]
    left = as_usd(most - spent - reserved) if most > spent + reserved else "nothing"
    return (
        f"the {'soft ' if facts['soft'] else ''}ceiling of the {facts['ceiling']} is {as_usd(most)}: {as_usd(spent)} "
        f"spent, {as_usd(reserved)} reserved, {left} left, {as_usd(facts['wanted'])} wanted"
    )


_BLOCKS: Mapping[str, Callable[[_Facts], str]] = {
    "cancelled": _cancelled,
    "ended": "the lineage is {lineage_state}".format_map,
    "stale": "the claim of the spawning task is not current".format_map,
    "depth": "depth {value} is over max_spawn_depth {limit}".format_map,
    "cycle": "ancestor {winner} ({winner_kind}) already works on this key".format_map,
    "in_flight": _in_flight,
    "done": _done,
    "elsewhere": _elsewhere,
    "budget": _budget,
    "fan_out": "the parent has created {value} of {limit} children".format_map,
    "deadline": "the deadline of the lineage has passed".format_map,
    "cost": _cost,
    "stop_list": "{entry} is on the stop list".format_map,
    "trap": "the lineage has {value} keys of the shape {shape}: if they are honest, allow the shape".format_map,
    "reserve": _reserve,
}
