"""Numbers of fetching."""

from __future__ import annotations

from ramet.jobs.section import Section, setting


class FetchSettings(Section):
    """How servers are asked."""

    page_bytes_max: int = setting(5 * 1024 * 1024, "of one page, decoded", "bytes", ge=1024)
    list_bytes_max: int = setting(32 * 1024 * 1024, "of one answer of a board's list, decoded", "bytes", ge=1024)
    answer_seconds: float = setting(
        30, "for one answer, from asking to its last byte, redirects included", "seconds", gt=0
    )
    redirects_max: int = setting(5, "redirects that are followed from one address", "redirects", ge=0, le=20)
    user_agent: str = setting(
        "ramet-jobs",
        "sent with every request, and looked for in robots.txt by its first word; say how to reach you",
        pattern=r"^[!-~][ -~]{0,199}$",
    )
    languages: str = setting(
        "en, *;q=0.5", "in which pages are wanted, as Accept-Language says it", pattern=r"^[ -~]{1,200}$"
    )
    turn_seconds_max: float = setting(
        45,
        "longest wait for a host's turn that is spent in the task; a longer one puts the task off",
        "seconds",
        ge=0,
    )
    busy_seconds: float = setting(60, "to stay away from a server that is busy and names no time", "seconds", gt=0)
    busy_seconds_max: float = setting(
        3_600, "to stay away from a server at most, whatever time it names", "seconds", gt=0
    )
    robots_bytes_max: int = setting(500_000, "of a robots.txt that are read", "bytes", ge=1024)
    robots_seconds: float = setting(86_400, "for which a robots.txt is known without asking again", "seconds", gt=0)
    crawl_delay_seconds_max: float = setting(
        30, "between two requests at most, whatever robots.txt asks for", "seconds", ge=0
    )
