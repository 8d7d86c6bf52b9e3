"""The pipeline's app with all of its kinds: what `ramet worker ramet.jobs.pipeline:app` serves."""

from __future__ import annotations

from ramet.jobs.app import app
from ramet.jobs.tasks.batch import scrape
from ramet.jobs.tasks.company import company
from ramet.jobs.tasks.discovery import source_discovery
from ramet.jobs.tasks.listing import listing
from ramet.jobs.tasks.match_status import mark
from ramet.jobs.tasks.rescore import rescore
from ramet.jobs.tasks.scheduled_run import scheduled_run
from ramet.jobs.tasks.source import scrape_source
from ramet.jobs.tasks.source_switch import switch
from ramet.jobs.tasks.takeover import take_over

TARGET = "ramet.jobs.pipeline:app"

__all__ = [
    "TARGET",
    "app",
    "company",
    "listing",
    "mark",
    "rescore",
    "scheduled_run",
    "scrape",
    "scrape_source",
    "source_discovery",
    "switch",
    "take_over",
]
