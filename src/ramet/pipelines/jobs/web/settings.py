"""Numbers of fetching."""

from __future__ import annotations

from ramet.pipelines.jobs.section import Section, setting


class FetchSettings(Section):
    """How servers are asked."""

    page_bytes_max: int = setting(5 * 1024 * 1024, "of one page, decoded", "bytes", ge=1024)
    list_bytes_max: int = setting(32 * 1024 * 1024, "of one answer of a board's list, decoded", "bytes", ge=1024)
    answer_seconds: float = setting(30, "for one answer, from asking to its last byte", "seconds", gt=0)
    user_agent: str = setting(
        "ramet-jobs", "sent with every request, and looked for in robots.txt by its first word; say how to reach you"
    )
