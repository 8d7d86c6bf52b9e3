"""The pages, one module for each subject; every module lists its own in ``PAGES``."""

from ramet.web.page import Page
from ramet.web.views import api_docs, costs, explain, lineages, overview, search, tasks

PAGES: tuple[Page, ...] = (
    *overview.PAGES,
    *lineages.PAGES,
    *tasks.PAGES,
    *explain.PAGES,
    *search.PAGES,
    *costs.PAGES,
    *api_docs.PAGES,
)
