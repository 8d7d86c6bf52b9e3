"""The limits of what people submit."""

from __future__ import annotations

from dataclasses import replace

from ramet import Limits
from ramet.pipelines.jobs.app import LIMITS
from ramet.pipelines.jobs.settings import JobsSettings


def bounds_of(settings: JobsSettings) -> Limits:
    """The limits of a lineage that a person starts.

    A board of ten thousand openings is usual: the fan-out is raised where a lineage begins, since no task can. Money
    bounds only who has a model to spend it on.
    """
    run, model = settings.run, settings.model
    max_cost = model.max_cost if model.cheap or model.expensive else None
    return replace(LIMITS, max_fan_out=run.max_fan_out, max_tasks=run.max_tasks, max_cost=max_cost)
