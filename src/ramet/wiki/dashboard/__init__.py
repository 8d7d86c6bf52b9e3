"""The dashboard's pages about articles: search, coverage of a run, the neighbourhood of an article as a picture."""

from ramet.wiki.dashboard.views import pages

__all__ = ["pages"]
