"""Pages and API routes, one module for each subject: it lists its pages in ``PAGES`` and its routes in ``router``."""

from fastapi import APIRouter

from ramet.web.page import Page
from ramet.web.views import (
    action,
    administration,
    alerts,
    api_docs,
    bulk,
    costs,
    flow,
    lineages,
    overview,
    paths,
    results,
    search,
    submit,
    tasks,
    timeline,
    work,
)

PAGES: tuple[Page, ...] = (
    *overview.PAGES,
    *timeline.PAGES,
    *lineages.PAGES,
    *tasks.PAGES,
    *tasks.EXPLAIN_PAGES,
    bulk.PAGE,
    *search.PAGES,
    *costs.PAGES,
    *api_docs.PAGES,
    *paths.PAGES,
    *flow.PAGES,
    *alerts.PAGES,
    *administration.PAGES,
)
ROUTERS: tuple[APIRouter, ...] = (
    action.router,
    alerts.router,
    action.bulk_router,
    costs.router,
    tasks.explain_router,
    flow.router,
    administration.router,
    lineages.router,
    overview.router,
    paths.router,
    results.router,
    search.router,
    submit.router,
    tasks.router,
    timeline.router,
    work.router,
)
"""Routers of the API, in the order of the OpenAPI document."""
