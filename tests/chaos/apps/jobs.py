"""The jobs pipeline as chaos serves it: its processes say who they are, so that they can be hurt."""

from __future__ import annotations

from ramet.jobs.pipeline import app
from tests.crash.pids import say_who_runs

__all__ = ["app"]

say_who_runs()
