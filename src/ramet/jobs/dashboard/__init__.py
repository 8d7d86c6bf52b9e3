"""The dashboard's pages about openings: look through matches, see why, say what one did about each."""

from ramet.jobs.dashboard.views import pages

__all__ = ["pages"]
