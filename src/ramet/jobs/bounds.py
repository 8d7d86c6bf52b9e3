"""What a lineage of the pipeline may do, whoever begins it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ramet import Limits
from ramet.jobs.app import LIMITS
from ramet.jobs.live import latest


def bounds_of(stored: Mapping[str, Any]) -> Limits:
    """The limits of a lineage, whichever of the kinds its root is; the kinds say so themselves.

    A board of ten thousand openings is usual: the fan-out is raised where a lineage begins, since no task can. Money
    bounds only who has a model to spend it on.
    """
    settings = latest.of(stored)
    run, model = settings.run, settings.model
    max_cost = model.max_cost if model.cheap or model.expensive else None
    return replace(LIMITS, max_fan_out=run.max_fan_out, max_tasks=run.max_tasks, max_cost=max_cost)
