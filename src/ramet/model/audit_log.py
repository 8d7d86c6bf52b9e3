"""What people did: the record that answers "who changed this, and why" (promise I8)."""

from __future__ import annotations

from dataclasses import dataclass

from ramet.model.task.task import Json


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that a person did to the engine. Acts on a single task are transitions of that task instead."""

    seq: int
    """Number of the act in its database; grows with time."""
    at: float
    """Unix seconds by the store's clock."""
    by: str
    act: str
    """What was done: ``raise_limits``, ``reoffer``, ``stop_list_add``, ..."""
    subject: str
    """What it was done to: a tracking id, a setting, an entry of the stop list."""
    tracking_id: str | None
    """The lineage that it concerns; it is pruned with that lineage. None for what concerns all."""
    reason: str | None
    detail: Json
    """What exactly changed; its shape depends on the act."""
