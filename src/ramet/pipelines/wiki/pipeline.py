"""The pipeline's app with all of its kinds: what `ramet worker ramet.pipelines.wiki.pipeline:app` serves."""

from __future__ import annotations

from ramet.pipelines.wiki.leveling import level
from ramet.pipelines.wiki.mending import exclude, retry
from ramet.pipelines.wiki.refreshing import refresh
from ramet.pipelines.wiki.tasks import app, article

TARGET = "ramet.pipelines.wiki.pipeline:app"

__all__ = ["TARGET", "app", "article", "exclude", "level", "refresh", "retry"]
