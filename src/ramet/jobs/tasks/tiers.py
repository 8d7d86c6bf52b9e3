"""What a company's tier means for the tasks that belong to it."""

from __future__ import annotations

PRIORITIES = {"S": 20, "A": 10}
"""Of tasks; all others have 0."""


def task_priority(tier: str | None) -> int:
    """The priority of the source and listing tasks of a company of a tier; S and A go before all others."""
    return PRIORITIES.get(tier or "", 0)
