"""Refusals by which a lineage says that it takes nothing more."""

from __future__ import annotations

from ramet import BlockReason

FULL = frozenset({BlockReason.BUDGET, BlockReason.FAN_OUT, BlockReason.DEADLINE, BlockReason.COST})
