"""Decisions by a title alone. The whole filter and the look at a list row ask the same here."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import unquote, urlsplit

from ramet.jobs.matching.results import Finding, hard
from ramet.jobs.matching.titles import Likeness, excluded_kind, title_match
from ramet.jobs.matching.words import first_word, fold
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings, StopLists
from ramet.jobs.text.company_names import company_name_key


def refused_kind(title: str, settings: JobsSettings) -> Finding | None:
    """Return a rejection for a kind of work that is out of the question. Titles are given folded."""
    word = excluded_kind(title, settings.filter.excluded_job_types)
    if word is None:
        return None
    return hard("job_type", "excluded_job_type", f"job type: {word}", f"the title says {word}")


def refused_level(title: str, settings: JobsSettings) -> Finding | None:
    """Return a rejection for a level that is out of the question."""
    word = first_word(title, settings.filter.excluded_seniority)
    if word is None:
        return None
    return hard("seniority", "excluded_seniority", f"level: {word}", f"the title says {word}")


def unwanted(title: str, settings: JobsSettings) -> Finding | None:
    """Return a rejection for a title with none of the wanted words, where only these are wanted."""
    wanted = settings.profile.titles
    if not settings.filter.wanted_titles_only or not wanted or not title:
        return None
    if title_match(title, tuple(wanted)).likeness is Likeness.WANTED:
        return None
    return hard("title", "unwanted_title", "title: none of the wanted words", f"wanted: {', '.join(wanted)}")


TITLE_CHECKS = (refused_kind, refused_level, unwanted)
"""Checks of a title, in the order in which they are made."""


def stopped(title: str, url: str, company: str | None, stop: StopLists) -> str | None:
    """Return why a stop list refuses this, in one line; None when none does.

    Companies are compared by whole words of their names without the legal form: Acme stops Acme Labs, Inc. and not
    Acmeville. Keywords are whole words of the title or the address, domains stop all hosts below them.
    """
    if stop.companies and company:
        name = f" {company_name_key(company)} "
        for given, key in zip(stop.companies, _keys(tuple(stop.companies)), strict=True):
            if key and f" {key} " in name:
                return f"stop list: company {given}"
    if refused := stopped_host(url, stop):
        return refused
    if stop.keywords:
        text = fold(f"{title}\n{_words_of_address(url)}")
        if (word := first_word(text, stop.keywords)) is not None:
            return f"stop list: keyword {word}"
    return None


def stopped_host(url: str, stop: StopLists) -> str | None:
    """Return why nothing is fetched from the host of an address, in one line; None when it may be."""
    if not stop.domains:
        return None
    host = _host(url)
    for given in stop.domains:
        domain = _host(given).removeprefix("*.").removeprefix("www.").strip(".")
        if domain and (host == domain or host.endswith(f".{domain}")):
            return f"stop list: domain {given}"
    return None


def title_refusal(posting: Posting, settings: JobsSettings) -> str | None:
    """Return why the filter refuses a title alone, in one line; None when the rest has to be looked at.

    The reason is the same as that of :func:`judge`, which sees the whole.
    """
    if not settings.filter.enabled or not posting.title.strip():
        return None
    title = fold(posting.title)
    for check in TITLE_CHECKS:
        finding = check(title, settings)
        if finding is not None:
            return finding.reason
    return None


@lru_cache(maxsize=64)
def _keys(companies: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(company_name_key(company) for company in companies)


def _host(address: str) -> str:
    text = address.strip()
    try:
        name = urlsplit(text if "//" in text else f"//{text}").hostname or ""
    except ValueError:
        return ""
    return name.rstrip(".").lower()


def _words_of_address(url: str) -> str:
    return "".join(character if character.isalnum() else " " for character in unquote(url[:2_000]))
