"""Read the pages about openings and apply their marks. The pipeline is imported at the first request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ramet.commands.pages import PageMissing, PageVisit, ProductForm, ProductPage, ProductPages

if TYPE_CHECKING:
    from ramet.jobs.match_status import ScoredMatch

PAGE = 50
"""Matches of one page: a form has at most a hundred fields."""
WORDS_CHARACTERS = 200
TICKED = "listing:"
"""Prefix of the names of tick boxes, before an id."""


def pages() -> ProductPages:
    """Return the pages, for the entry point ``ramet.pages`` of the package."""
    return ProductPages(
        label="Jobs",
        package="ramet.jobs.dashboard",
        tables="jobs_",
        app="ramet.jobs.pipeline:app",
        pages=(
            ProductPage("", "matches", "matches.html", matches_page),
            ProductPage("/opening", "opening", "opening.html", opening_page),
            ProductPage("/rejected", "rejected", "rejected.html", rejected_page),
        ),
        forms=(ProductForm("/marks", "mark", mark),),
    )


async def matches_page(visit: PageVisit) -> dict[str, Any]:
    """Return matches by status and words, new ones first, then the best."""
    from ramet.jobs.match_status import MARKABLE, MatchStatus, matches

    status = visit.word("status", [*(one.value for one in MatchStatus), "all"])
    words, begin = (visit.text("q", WORDS_CHARACTERS) or "").split(), visit.number("after", 0, 0, 1_000_000)
    everything = await matches(visit.client, now=visit.now, with_dismissed=True, with_closed=status == "all")
    found = [one for one in everything if _is_asked(one, status) and _has_words(one, words)]
    shown = found[begin : begin + PAGE]
    return {
        "found": shown, "total": len(found), "counts": Counter(one.status.value for one in everything),
        "statuses": [one.value for one in MatchStatus], "status": status, "q": " ".join(words), "here": visit.address,
        "marks": [one.value for one in MARKABLE], "after": begin, "pay": _pay,
        "next_after": begin + PAGE if begin + PAGE < len(found) else None, "ticked": TICKED,
    }  # fmt: skip


def _is_asked(one: ScoredMatch, status: str | None) -> bool:
    if status is None:
        return one.status.value != "dismissed"
    return status in ("all", one.status.value)


def _has_words(one: ScoredMatch, words: Sequence[str]) -> bool:
    note = one.mark.note if one.mark is not None else None
    told = " ".join(filter(None, (one.match.title, one.match.company, *one.places, note)))
    return all(word.lower() in told.lower() for word in words)


def _pay(low: int | None, high: int | None, currency: str | None) -> str:
    from ramet.jobs.commands.terminal import salary

    return salary(low, high, currency)


async def opening_page(visit: PageVisit) -> dict[str, Any]:
    """Return a listing with its verdict and reasons, its text, and its marks."""
    from ramet.jobs.commands.why import verdict, why_of
    from ramet.jobs.match_status import MARKABLE
    from ramet.jobs.queries import LISTING_BY_ID, Listing

    rows = await visit.client.read(LISTING_BY_ID, (visit.text("id") or "",))
    if not rows:
        raise PageMissing("there is no such listing: look for it among the matches or the rejected")
    told = await why_of(visit.client, Listing.of(rows[0]))
    score = told.listing.score or {}
    return {
        "why": told, "one": told.listing, "verdict": verdict(told), "here": visit.address, "pay": _pay,
        "points": [*_points(told.match.adjustments if told.match else score.get("adjustments"))],
        "against": [*_against(told.listing.filter_result or {})],
        "skills": {
            word: (told.match and getattr(told.match, f"{word}_skills")) or score.get(f"{word}_skills") or []
            for word in ("matched", "missing")
        },
        "marks": [one.value for one in MARKABLE], "ticked": TICKED,
    }  # fmt: skip


def _points(adjustments: object) -> Iterator[tuple[str, str]]:
    """Yield each adjustment of the score: a signed number and the reason."""
    for one in adjustments if isinstance(adjustments, list) else ():
        if isinstance(one, dict):
            given, words = one.get("points"), one.get("detail") or one.get("reason") or one.get("category")
            yield f"{given:+g}" if isinstance(given, int | float) else "", str(words or "")


def _against(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("hard_rejections", "strikes"):
        for one in result.get(name) or ():
            if isinstance(one, dict):
                given = one.get("points")
                mark = f"{given:+g}" if name == "strikes" and isinstance(given, int | float) else "hard"
                told = (one.get("reason") or one.get("category") or "", one.get("detail") or "")
                yield mark, ": ".join(dict.fromkeys(str(part) for part in told if part))


async def rejected_page(visit: PageVisit) -> dict[str, Any]:
    """Return listings that are not matches, with the reason of each."""
    from ramet.jobs.queries import REJECTED, rejected

    status, words = visit.word("status", REJECTED), visit.text("q", WORDS_CHARACTERS) or ""
    found, counts = await rejected(visit.client, words.split(), REJECTED if status is None else (status,), PAGE)
    return {"found": found, "counts": counts, "statuses": REJECTED, "status": status, "q": words}


async def mark(visit: PageVisit, form: Mapping[str, str]) -> str:
    """Give the ticked matches a status; who said it and when stays in their history."""
    from ramet.commands.terminal import counted
    from ramet.jobs.errors import InputError
    from ramet.jobs.tasks.match_status import mark_matches

    wanted = [name.removeprefix(TICKED) for name in form if name.startswith(TICKED)]
    if not wanted:
        raise InputError("tick at least one opening: nothing was marked")
    status = form.get("status", "")
    await mark_matches(visit.client, wanted, status, note=form.get("note"), by=visit.by)
    return f"{counted(len(wanted), 'opening')} marked as {status}"
