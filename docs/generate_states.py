"""Writes docs/reference/states.md: states of tasks and lineages, transitions, what a task waits for, outcomes."""

from __future__ import annotations

import inspect

from docs.generate_shared import REFERENCE, code, members, page_of, table, written_by
from ramet.model.lineage.lineage import LineageState
from ramet.model.task.task import OUTCOMES, TERMINAL, TaskState, Wait
from ramet.model.task.transitions import TRANSITIONS

PAGE = REFERENCE / "states.md"


def transition_rows() -> list[tuple[str, str, str, str, str]]:
    """Every transition: its name, what happens, from where, to where, and which row tells of it."""
    order = {state.value: place for place, state in enumerate(TaskState)}

    def listed(states: frozenset[str]) -> str:
        return ", ".join(map(code, sorted(states, key=order.__getitem__)))

    return [
        (code(row.name), inspect.getdoc(row.event) or "", listed(row.sources), listed(row.targets),
         "transition" if row.recorded else "attempt")
        for row in TRANSITIONS
    ]  # fmt: skip


def page() -> str:
    """The page."""
    tasks, lineages = (
        members("ramet.model.task.task", "TaskState"),
        members("ramet.model.lineage.lineage", "LineageState"),
    )
    waits = members("ramet.model.task.task", "Wait")
    return page_of(
        "# States and transitions",
        written_by("generate_states", "the tables of the model"),
        "The [state machine](../concepts/state-machine.md) tells the story behind these tables.",
        "## States of a task",
        table(
            ("state", "what it says", "is an end"),
            [(code(one), tasks[one], "yes" if one in TERMINAL else "no") for one in TaskState],
        ),
        "## What a pending task waits for",
        "One that waits for nothing is claimable.",
        table(("wait", "what it says"), [(code(one), waits[one]) for one in Wait]),
        "## Transitions",
        "Further ends than its own (`failed`, `cancelled`) are for a task that is *ending*; `pending` from an end "
        "for one whose `on_end` handler is to run first ([how things end](../concepts/ends.md)). The last column "
        "says which row records it.",
        table(("event", "what happens", "from", "to", "recorded by"), transition_rows()),
        "## Outcomes of an attempt",
        table(("outcome", "what it says"), [(code(name), told) for name, told in OUTCOMES.items()]),
        "## States of a lineage",
        table(("state", "what it says"), [(code(one), lineages[one]) for one in LineageState]),
    )
