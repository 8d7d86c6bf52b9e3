"""The pipeline's app; its kinds are registered by the modules that have their handlers."""

from __future__ import annotations

from typing import Any

from ramet import App, Limits, Retry
from ramet.fetch import host_pace
from ramet.jobs.declared_settings import SETTINGS
from ramet.jobs.kinds import COMPANY, LISTING, SCRAPE, SCRAPE_SOURCE, SOURCE_DISCOVERY, SOURCE_RESOURCE
from ramet.jobs.tables import DEFINITIONS

LINEAGE_SECONDS = 6 * 3_600.0
FAILED_RUNS_MAX = 5
"""Failed runs in a row that switch a source off until a person looks at it."""
LIMITS = Limits(lineage_seconds=LINEAGE_SECONDS)
"""Depth 10 and three retries are the engine's own."""

IMPORTED = {
    "JOB": LISTING, "JOB_LISTING": LISTING, "COMPANY": COMPANY, "SOURCE_DISCOVERY": SOURCE_DISCOVERY,
    "SCRAPE_SOURCE": SCRAPE_SOURCE, "SCRAPE": SCRAPE,
}  # fmt: skip
"""Their type of a row to our kind. A company's sub-tasks are rows of the company, and one task here."""

READ_THERE = ("title", "company", "company_website", "location", "description", "salary")
"""Texts of a posting, in the ``job_data`` of their ``pipeline_state``."""


def _read_there(stage: str | None, state: dict[str, Any]) -> tuple[None, dict[str, Any]] | None:
    """A posting that was read there is not fetched again; what they made of it is not in our words, and made again."""
    read = state.get("job_data")
    read = read if isinstance(read, dict) else {}
    told = {name: read[name].strip() for name in READ_THERE if isinstance(read.get(name), str)}
    return (None, {"posting": told}) if told.get("title") and told.get("description") else None


app = App(
    limits=LIMITS,
    retry=Retry.SEED,
    tables=DEFINITIONS,
    settings=SETTINGS,
    import_kinds={word: kind for word, kind in IMPORTED.items() for word in (word, word.lower())},
    import_states={LISTING: _read_there},
    # What was read of a company is not in its row, and every listing of it wants that: it is looked at again.
    import_held_seconds={COMPANY: 0.0},
)
app.resource(f"{SOURCE_RESOURCE}*", breaker_failures=FAILED_RUNS_MAX)
host_pace.declare(app)
