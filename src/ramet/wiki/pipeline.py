"""The pipeline's app with all of its kinds: what `ramet worker ramet.wiki.pipeline:app` serves."""

from __future__ import annotations

from ramet.wiki.tasks.article import app, article
from ramet.wiki.tasks.level import level
from ramet.wiki.tasks.refresh import refresh
from ramet.wiki.tasks.retry_exclude import exclude, retry

TARGET = "ramet.wiki.pipeline:app"

__all__ = ["TARGET", "app", "article", "exclude", "level", "refresh", "retry"]
