"""Writes docs/reference/errors.md: exceptions, refusals, reasons of ends, codes of explanations, and alerts."""

from __future__ import annotations

import ast
import inspect

import ramet
from docs.generate_shared import REFERENCE, code, members, module_tree, page_of, table, without_roles, written_by
from ramet.model.alerts.rules import Pattern
from ramet.model.causes import BOUNDS, ENDED, REFUSED, RUNNING, WAITING
from ramet.model.lineage.guard import ORDINARY, BlockReason
from ramet.model.task.retry import ErrorClass
from ramet.model.task.transitions import REFUSALS

PAGE = REFERENCE / "errors.md"
TO_RAISE = ("Transient", "Permanent", "RetryAfter")
"""Exceptions that handlers raise; the others are to be caught."""
LINEAGE_RAISE = "ramet lineage raise TRACKING_ID"


def exceptions() -> dict[str, type[BaseException]]:
    """The public exceptions by name."""
    found = {name: getattr(ramet, name) for name in ramet.__all__}
    return {name: one for name, one in found.items() if isinstance(one, type) and issubclass(one, BaseException)}


def store_errors() -> dict[str, str]:
    """What the store raises and nobody imports: all are caught as StoreError."""
    return {
        node.name: ast.get_docstring(node) or ""
        for node in module_tree("ramet.store.errors").body
        if isinstance(node, ast.ClassDef) and node.name not in ramet.__all__
    }


def exception_rows(names: list[str]) -> list[tuple[str, str, str]]:
    """Name, what it derives from, and what its docstring says before its arguments."""
    rows = []
    for name in names:
        found = exceptions()[name]
        told = (inspect.getdoc(found) or "").partition("\nArgs:")[0]
        rows.append((code(name), code(found.__mro__[1].__name__), told))
    return rows


def reason_rows() -> list[tuple[str, str, str, str]]:
    """Of each reason of a block what it means, the limit behind it, and the command that raises that."""
    rows = []
    for reason in BlockReason:
        bound = BOUNDS.get(reason)
        remedy = code(f"{LINEAGE_RAISE} {bound.option}") if bound else ""
        told = REFUSED[f"refused_{reason}"] + (" (everyday life in a graph)" if reason in ORDINARY else "")
        rows.append((code(reason), told, code(bound.limit_name) if bound else "", remedy))
    return rows


def _by_code(told: dict[str, str]) -> str:
    return table(("code", "what it says"), [(code(name), words) for name, words in told.items()])


def page() -> str:
    """The page."""
    caught = sorted(set(exceptions()) - set(TO_RAISE))
    classes, alerts = members("ramet.model.task.retry", "ErrorClass"), members("ramet.model.alerts.rules", "Pattern")
    return page_of(
        "# Errors, refusals and alerts",
        written_by("generate_errors", "docstrings and tables of the source"),
        "Every message is one line and says what to do. `ramet explain TASK_ID` answers with the codes below "
        "([how to read it](../guides/explaining.md)); programs get them in `Explanation.why`.",
        "## Exceptions that a handler raises",
        table(("exception", "is a", "when"), exception_rows(list(TO_RAISE))),
        "Anything else that a handler raises has a class by its type ([retries](../concepts/retries.md)):",
        table(("class", "what it says"), [(code(one), classes[one]) for one in ErrorClass]),
        "## Exceptions to catch",
        table(("exception", "is a", "raised when, and what to do"), exception_rows(caught)),
        "These come as a `StoreError` too; their message says what to do:",
        table(("error", "when"), [(code(name), told) for name, told in store_errors().items()]),
        "## Why a spawn was blocked",
        "In the order in which the guard looks ([what to do](../guides/refused-spawns.md)).",
        table(("reason", "what it means", "limit", "what raises it"), reason_rows()),
        "## Why a task waits",
        _by_code(dict(WAITING)),
        "## A task that runs",
        _by_code(dict(RUNNING)),
        "## Why a task ended",
        "The first word of a task's `reason`, where the engine gave it, is one of these codes.",
        _by_code(dict(ENDED)),
        "## Why a spawn was refused, as a cause",
        _by_code(dict(REFUSED)),
        "## Refusals of events",
        "What the [state machine](states.md) answers to an event that does not apply; a verb that met one changed "
        "nothing.",
        table(("reason", "what it means"), [(code(name), told) for name, told in REFUSALS.items()]),
        "## Alerts",
        "What the [monitor](../concepts/monitoring.md) looks for; its thresholds are [settings](settings.md#monitor).",
        table(("pattern", "what it says"), [(code(one), without_roles(alerts[one])) for one in Pattern]),
    )
