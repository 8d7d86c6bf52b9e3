"""Numbers and lists of the filter."""

from __future__ import annotations

from ramet.pipelines.jobs.section import Section, setting


class StopLists(Section):
    """What is refused before it is fetched."""

    companies: list[str] = setting([], "names of companies that are never looked at")
    domains: list[str] = setting([], "hosts, and all below them, that nothing is fetched from")
    keywords: list[str] = setting([], "texts that no title or address may contain")


class FilterSettings(Section):
    """Hard rejections, and strikes against a threshold."""

    strike_threshold: float = setting(5, "strikes at which a listing is filtered", "strikes", gt=0)
