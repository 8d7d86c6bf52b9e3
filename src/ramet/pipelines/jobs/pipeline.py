"""The pipeline's app with all of its kinds: what `ramet worker ramet.pipelines.jobs.pipeline:app` serves."""

from __future__ import annotations

from ramet.pipelines.jobs.app import app
from ramet.pipelines.jobs.switching import switch
from ramet.pipelines.jobs.tasks.batch import scrape
from ramet.pipelines.jobs.tasks.company import company
from ramet.pipelines.jobs.tasks.discovery import source_discovery
from ramet.pipelines.jobs.tasks.listing import listing
from ramet.pipelines.jobs.tasks.source import scrape_source

TARGET = "ramet.pipelines.jobs.pipeline:app"

__all__ = ["TARGET", "app", "company", "listing", "scrape", "scrape_source", "source_discovery", "switch"]
