"""The app of the crash tests, in processes that die at a point that they are told."""

from __future__ import annotations

from tests.crash import kill_points
from tests.crash.crash_app import app

kill_points.install()

__all__ = ["app"]
