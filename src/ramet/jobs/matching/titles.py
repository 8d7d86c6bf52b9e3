"""What a title alone decides. The whole filter and the look at a list row ask the same here."""

from __future__ import annotations

from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.matching.results import Finding, hard
from ramet.jobs.matching.words import first_word, fold, has_word


def refused_kind(title: str, settings: JobsSettings) -> Finding | None:
    """A kind of work that is out of the question. Titles are given folded."""
    word = first_word(title, settings.filter.excluded_job_types)
    if word is None:
        return None
    return hard("job_type", "excluded_job_type", f"job type: {word}", f"the title says {word}")


def refused_level(title: str, settings: JobsSettings) -> Finding | None:
    """A level that is out of the question."""
    word = first_word(title, settings.filter.excluded_seniority)
    if word is None:
        return None
    return hard("seniority", "excluded_seniority", f"level: {word}", f"the title says {word}")


def unwanted(title: str, settings: JobsSettings) -> Finding | None:
    """A title with none of the wanted words, where only these are wanted."""
    wanted = settings.profile.titles
    if not settings.filter.wanted_titles_only or not wanted or not title:
        return None
    if any(has_word(title, fold(word)) for word in wanted):
        return None
    return hard("title", "unwanted_title", "title: none of the wanted words", f"wanted: {', '.join(wanted)}")


TITLE_CHECKS = (refused_kind, refused_level, unwanted)
"""In the order in which they are asked."""
