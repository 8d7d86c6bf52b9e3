"""Numbers of sources and of scraping them."""

from __future__ import annotations

from ramet.jobs.section import Section, setting


class SourceSettings(Section):
    """How a source is scraped."""

    spawn_batch: int = setting(2_000, "listings of one checkpoint", "listings", ge=1, le=5_000)
    pages_max: int = setting(500, "pages of one run", "pages", ge=1)
    known_share: float = setting(
        0.8, "a page with at least this share of known listings counts as known", "share", ge=0, le=1
    )
    known_pages: int = setting(
        2, "known pages in a row after which a newest-first board has no more news", "pages", ge=1
    )
    closed_after_days: float = setting(3, "a listing that its board does not show for so long is closed", "days", ge=0)


class RunSettings(Section):
    """How much one run takes on."""

    target_matches: int = setting(5, "matches after which a run takes on no further source", "matches", ge=1)
    max_sources: int = setting(20, "sources of one run", "sources", ge=1)
    sources_at_once: int = setting(4, "sources that a run scrapes side by side", "sources", ge=1)
    max_fan_out: int = setting(20_000, "listings that one source may yield in a run", "listings", ge=1)
    max_tasks: int = setting(100_000, "tasks that one run may create", "tasks", ge=1)
