"""The pipeline's app; its kinds are registered by the modules that have their handlers."""

from __future__ import annotations

from dataclasses import replace

from ramet import App, Limits, Retry
from ramet.llm.settings import BATCH_SECONDS
from ramet.llm.tables import DEFINITIONS

NO_CEILING = 1_000_000_000
"""Ceiling of a job that costs nothing: what fails by time needs one."""

LIMITS = Limits(payload_bytes_max=1_048_576, max_cost=NO_CEILING)
"""Of every task. A prompt may have a megabyte; images go by their address. A job gets the ceiling that a person named;
whatever else begins with one of the kinds has this one."""

ITEM_LIMITS = replace(LIMITS, max_attempts=None, task_seconds=BATCH_SECONDS)
"""Items and batches fail by time and money, never by count. A job gives its items a stricter deadline."""

LANE_LIMITS = replace(LIMITS, max_attempts=None, task_seconds=30 * 86_400.0)
"""A lane sends one batch after the other, so what ends it is the end of its job."""

BATCH_ITEM_LIMITS = replace(LIMITS, task_seconds=BATCH_SECONDS)
"""Of what lanes bind and settle. Nothing claims it, so no attempt counts; the poll of its lane is its own."""

POLL_LIMITS = replace(LIMITS, lineage_seconds=7_200.0)
"""A slot that hangs holds the next ones up for so long at most."""

app = App(limits=LIMITS, retry=Retry.SEED, tables=DEFINITIONS)
