"""Reasons as data: a code and its facts, as rows store them; and the one place that puts them into words.

A reason is decided as a code with the values behind it. Nothing reads the words back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ramet.model.money import as_usd

Fact = str | int | float | bool | tuple[str, ...] | None
"""A JSON value of a reason; by name, they are its facts."""
NO_FACTS: Mapping[str, Fact] = {}
_Facts = Mapping[str, Any]


class Reason(str):
    """Why the engine ended a task or an attempt: a code with facts, which reads as its words wherever text is shown.

    The reason of a person or a handler is a plain text, whatever it contains.
    """

    __slots__ = ("code", "facts")

    code: str
    facts: Mapping[str, Any]

    def __new__(cls, code: str, /, **facts: Any) -> Reason:
        reason = super().__new__(cls, _end_words(code, facts))
        reason.code, reason.facts = code, facts
        return reason


def code_of(reason: str | None) -> str | None:
    """Return the code of a reason that the engine gave; None for a text of a person or a handler."""
    return reason.code if isinstance(reason, Reason) else None


def facts_of(reason: str | None) -> Mapping[str, Any]:
    """Return the facts of a reason that the engine gave; none for a text of a person or a handler."""
    return reason.facts if isinstance(reason, Reason) else NO_FACTS


_NOTHING = (None, None)


def stored(reason: str | None) -> tuple[str | None, str | None]:
    """Return a reason as a row keeps it: its code and its facts as JSON text. A plain text has no facts."""
    if reason is None:
        return _NOTHING
    if isinstance(reason, Reason):
        return reason.code, json.dumps(reason.facts, ensure_ascii=False, separators=(",", ":"))
    return reason, None


def restored(reason: str | None, facts: str | None) -> str | None:
    """Return a reason from the two columns of a row."""
    return reason if reason is None or facts is None else Reason(reason, **json.loads(facts))


def inner(reason: str) -> Any:
    """Return a reason as a fact of another one."""
    return {"code": reason.code, **reason.facts} if isinstance(reason, Reason) else reason


def outer(fact: Any) -> str:
    """Return the reason that is a fact of another one."""
    return Reason(fact["code"], **{name: fact[name] for name in fact if name != "code"}) if type(fact) is dict else fact


def with_on_end(reason: str, wrong: str) -> Reason:
    """Return a reason with what went wrong with the ``on_end`` handler."""
    if isinstance(reason, Reason):
        return Reason(reason.code, **{**reason.facts, "on_end": inner(wrong)})
    return Reason("given", text=reason, on_end=inner(wrong))


def rest_of(reason: str | None) -> str:
    """Return what a reason says beyond its code and beyond its ``on_end`` handler; empty where that is all."""
    return _rest(reason.code, reason.facts) if isinstance(reason, Reason) else reason or ""


def _end_words(code: str, facts: _Facts) -> str:
    rest = _rest(code, facts)
    words = (rest or code) if code in _WITHOUT_CODE else f"{code}: {rest}" if rest else code
    return f"{words}; on_end: {outer(facts['on_end'])}" if "on_end" in facts else words


def _rest(code: str, facts: _Facts) -> str:
    words = _ENDS.get(code)
    try:
        return words(facts) if words is not None else str(facts.get("text", ""))
    except (KeyError, TypeError, ValueError):
        return ""  # The row is damaged, or a newer version wrote it: the page that shows it must not fail.


def _over_cost(facts: _Facts) -> str:
    if "wanted" in facts:
        return _reserve(facts)
    return f"the ceiling of the {facts['ceiling']} is {as_usd(facts['limit'])}, {as_usd(facts['spent'])} spent"


def _by_a_person(facts: _Facts) -> str:
    return f"cancelled by {facts['by']}" + (f": {facts['text']}" if facts.get("text") else "")


_ENDS: Mapping[str, Callable[[_Facts], str]] = {
    "attempts_exhausted": "{attempts}".format_map,
    "cancel_tree": "{task}".format_map,
    "cancelled": _by_a_person,
    "chain_depth": "{value}".format_map,
    "cost": _over_cost,
    "dependency_failed": "{task}".format_map,
    "import_duplicate": "of task {task}".format_map,
    "imported": "imported as {status}".format_map,
    "joined": "{tasks} tasks".format_map,
    "on_end_overdue": "not done within {seconds:.0f} s".format_map,
    "over_before_import": "the lineage was {state} before the import".format_map,
    "poison": "{losses} claims lost, {alone} of them alone".format_map,
    "repeated_error": "as task {task}".format_map,
    "retry_in": "{seconds:.3f} s".format_map,
    "source_disabled": "{resource}, {text}".format_map,
    "spawn_refused": "{refused}".format_map,
    "wait_cycle": "task {task} waits for this one".format_map,
    "task_deadline": lambda facts: outer(facts["own"]),
}
"""Templates of reasons of ends; a code that is missing here has no more to say than itself, or the text that it was
given.
"""
_WITHOUT_CODE = frozenset({"cancelled", "given", "imported", "on_end_overdue", "over_before_import"})
"""Codes that their words do not begin with."""


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
        return code  # As in `_rest`.


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
    if "edges" in facts:
        return f"tasks of the lineage come after {facts['edges']} others, and {facts['limit']} are its limit"
    more = f", and this takes {facts['places']}: one for each stage" if "places" in facts else ""
    more += f", and the budget of the task takes {facts['set_aside']}" if "set_aside" in facts else ""
    return f"the lineage has created {facts['value']} of {facts['limit']} tasks{more}"


def _branch_budget(facts: _Facts) -> str:
    branch, name, value, limit = (facts[key] for key in ("branch", "name", "value", "limit"))
    match name:
        case "max_tasks":
            return f"the branch of task {branch} has {value} of {limit} tasks"
        case "max_cost":
            return f"the branch of task {branch} has spent and reserved {as_usd(value)} of {as_usd(limit)}"
        case "max_spawn_depth":
            return f"depth {value} is over {limit}, the deepest of the branch of task {branch}"
    return f"the time of the branch of task {branch} is over"


def _cost(facts: _Facts) -> str:
    if not facts:
        return "a task without max_attempts needs a lineage with max_cost"
    if "wanted" in facts:
        used, most, wanted = (as_usd(facts[name]) for name in ("value", "limit", "wanted"))
        return f"the lineage has spent and reserved {used} of {most}, and the budget of the task takes {wanted}"
    return f"the lineage has spent {as_usd(facts['value'])} of {as_usd(facts['limit'])}"


def _reserve(facts: _Facts) -> str:
    most, spent, reserved = facts["limit"], facts["spent"], facts["reserved"]
    left = as_usd(most - spent - reserved) if most > spent + reserved else "nothing"
    held = " (by tasks that wait for money themselves, so it counts as spent)" if facts.get("stuck") else ""
    return (
        f"the {'soft ' if facts['soft'] else ''}ceiling of the {facts['ceiling']} is {as_usd(most)}: {as_usd(spent)} "
        f"spent, {as_usd(reserved)} reserved{held}, {left} left, {as_usd(facts['wanted'])} wanted"
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
    "branch_budget": _branch_budget,
    "budget": _budget,
    "fan_out": "the parent has created {value} of {limit} children".format_map,
    "deadline": "the deadline of the lineage has passed".format_map,
    "cost": _cost,
    "stop_list": "{entry} is on the stop list".format_map,
    "trap": "the lineage has {value} keys of the shape {shape}: if they are honest, allow the shape".format_map,
    "wait_cycle": "it comes after {wanted}, task {task}, which waits for it".format_map,
    "dependency": "it comes after {wanted}, which is not a task of this lineage".format_map,
    "reserve": _reserve,
}
