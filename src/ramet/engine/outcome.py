"""How a handler ends other than by returning a result: values made by the context, returned by the handler.

``return ctx.snooze(60)`` reads as what it is, and type checkers see that nothing runs after it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """An end that a handler chose. Make it with the context's methods."""

    event: str
    """``filter``, ``skip``, ``fail``, ``snooze`` or ``continue``."""
    reason: str | None = None
    seconds: float = 0.0
