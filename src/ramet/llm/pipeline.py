"""The pipeline's app with all of its kinds: what `ramet worker ramet.llm.pipeline:app` serves."""

from __future__ import annotations

from ramet.llm.app import app
from ramet.llm.batches import batch
from ramet.llm.deleting import delete
from ramet.llm.items import item
from ramet.llm.jobs import end_job, job
from ramet.llm.polling import poll

TARGET = "ramet.llm.pipeline:app"

__all__ = ["TARGET", "app", "batch", "delete", "end_job", "item", "job", "poll"]
