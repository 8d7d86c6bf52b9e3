"""The pipeline's app with all of its kinds: what `ramet worker ramet.pipelines.llm.pipeline:app` serves."""

from __future__ import annotations

from ramet.pipelines.llm.app import app
from ramet.pipelines.llm.batches import batch
from ramet.pipelines.llm.deleting import delete
from ramet.pipelines.llm.items import item
from ramet.pipelines.llm.jobs import end_job, job
from ramet.pipelines.llm.polling import poll

TARGET = "ramet.pipelines.llm.pipeline:app"

__all__ = ["TARGET", "app", "batch", "delete", "end_job", "item", "job", "poll"]
