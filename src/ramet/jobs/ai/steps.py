"""A model fills in what the rules left open about a company."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ramet import Context
from ramet.fetch.messages import Request
from ramet.jobs.ai.model import NoAnswer, ask
from ramet.jobs.ai.prompts import (
    COMPANY,
    MATCH,
    POSTING,
    SELECTORS,
    CompanyReply,
    MatchReply,
    PostingReply,
    SelectorsReply,
)
from ramet.jobs.boards.reader import read_list
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.companies.facts import CompanyFacts, WebPage, missing_for_good
from ramet.jobs.detection.findings import GENERIC, Confidence, DetectedBoard
from ramet.jobs.errors import InputError, WrongShape
from ramet.jobs.matching.caps import ceiling_of
from ramet.jobs.matching.score import Score
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority
from ramet.jobs.text.markup import bounded, text_of
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.salaries import Salary
from ramet.jobs.text.technologies import canonical_technology


async def filled(ctx: Context, facts: CompanyFacts, pages: Sequence[WebPage], settings: JobsSettings) -> CompanyFacts:
    """Return the facts, with fields of the cheap model where the rules' are below the thresholds."""
    wanted = missing_for_good(facts, settings.company) if settings.model.reads and pages else []
    if not wanted:
        return facts
    share = settings.model.text_max // len(pages)
    data = "\n\n".join(f"{page.url}\n{text_of(page.html)[:share]}" for page in pages)
    try:
        told = await ask(ctx, COMPANY, CompanyReply, model=settings.model.cheap, data=data, settings=settings.model)
    except NoAnswer as why:
        return replace(facts, methods={**facts.methods, "note": f"model: {why}"[:300]})
    found = {name: getattr(told, name, None) for name in wanted}
    kept = {name: value for name, value in found.items() if value and len(value) > len(getattr(facts, name) or "")}
    methods = {**facts.methods, **dict.fromkeys(kept, f"model:{settings.model.cheap}")}
    return replace(facts, **kept, methods=methods)


FIELDS = ("seniority", "arrangement", "salary", "years_min", "technologies")
TECHNOLOGIES_MIN = 2
"""Fewer than these say too little to compare by."""


async def extracted(
    ctx: Context, posting: Posting, reading: Reading, settings: JobsSettings
) -> tuple[Reading, dict[str, str]]:
    """Return the reading with the cheap model's additions, and each field's origin: ``rules`` or ``model:NAME``."""
    methods = dict.fromkeys(FIELDS, "rules")
    unknown = _unknown(reading)
    if not settings.model.reads or not unknown or not posting.description:
        return reading, methods
    data = f"{posting.title}\n{posting.location or ''}\n{posting.description}"
    try:
        told = await ask(ctx, POSTING, PostingReply, model=settings.model.cheap, data=data, settings=settings.model)
    except NoAnswer as why:
        return reading, {**methods, "note": f"model: {why}"[:300]}
    found = {
        name: value
        for name, value in _facts_text(told, reading, data.casefold()).items()
        if name in unknown and value is not None
    }
    return replace(reading, **found), methods | dict.fromkeys(found, f"model:{settings.model.cheap}")


def _unknown(reading: Reading) -> set[str]:
    """Return the names of the fields that the rules did not find."""
    unknown = set()
    if reading.seniority is Seniority.UNKNOWN:
        unknown.add("seniority")
    if reading.arrangement is Arrangement.UNKNOWN:
        unknown.add("arrangement")
    if reading.salary is None:
        unknown.add("salary")
    if reading.years_min is None:
        unknown.add("years_min")
    if len(reading.technologies) < TECHNOLOGIES_MIN:
        unknown.add("technologies")
    return unknown


def _facts_text(told: PostingReply, reading: Reading, text: str) -> dict[str, Any]:
    salary = None
    low, high = told.salary_min, told.salary_max
    if low is not None or high is not None:
        if low is not None and high is not None and low > high:
            low, high = high, low
        salary = Salary(low, high, (told.currency or "")[:3].upper())
    named = [canonical_technology(name) for name in told.technologies if name.casefold() in text]
    return {
        "seniority": _word(Seniority, told.seniority),
        "arrangement": _word(Arrangement, told.arrangement),
        "salary": salary,
        "years_min": told.years_min,
        "technologies": tuple(dict.fromkeys((*reading.technologies, *named))) if named else None,
    }


def _word(words: Any, told: str | None) -> Any:
    """Return the word of the reading that a model wrote, or None."""
    return next((word for word in words if told and word.value == told.lower() and word.value != "unknown"), None)


INTAKE = ("professionalSummary", "experienceHighlights", "projectsToInclude", "achievementAngles")


async def analysed(
    ctx: Context, posting: Posting, reading: Reading, score: Score, settings: JobsSettings
) -> dict[str, Any] | None:
    """``{points, adjustments, explanation, intake, method, note}``; None without a model, or where it is not worth it.

    Its points are within ``jobs.model.adjust_max`` whatever it says, and listed like those of the rules.
    """
    model = settings.model
    if not model.judges or not settings.profile.given or score.final < score.threshold - model.reach:
        return None
    try:
        told = await ask(
            ctx, MATCH, MatchReply, model=model.expensive, data=_data(posting, score, settings), settings=model
        )
    except NoAnswer as why:
        return {"points": 0.0, "adjustments": [], "method": "rules", "note": f"model: {why}"[:300]}
    # Nor can a model lift a score above a cap of the rules.
    room = max(0.0, ceiling_of(score.adjustments) - score.final)
    points = max(-model.adjust_max, min(model.adjust_max, told.adjustment, room))
    # The points are one number; they stand with the first reason.
    adjustments = [
        {"category": "model", "reason": reason, "points": points if at == 0 else 0.0}
        for at, reason in enumerate(told.reasons)
    ]
    intake = {name: value for name in INTAKE if (value := getattr(told, name))}
    return {
        "points": points,
        "adjustments": adjustments,
        "explanation": told.explanation,
        "intake": intake,
        "method": f"model:{model.expensive}",
    }


def _data(posting: Posting, score: Score, settings: JobsSettings) -> str:
    profile = settings.profile.model_dump(exclude_defaults=True, exclude={"name"})
    points = [f"{item['points']:+g} {item['reason']}" for item in score.adjustments]
    return "\n".join(
        (
            f"Profile: {json.dumps(profile, ensure_ascii=False)}",
            f"Score by rules: {score.final:g}, threshold {score.threshold:g}, bound of the adjustment "
            f"{settings.model.adjust_max:g}",
            *points,
            f"Posting: {posting.title} at {posting.company or 'unknown'}, {posting.location or 'place unknown'}",
            posting.description,
        )
    )


PROVEN = 3
"""Openings that selectors have to find on the page itself."""
WORDS_MAX = 60
LEFT_OUT = frozenset({"script", "style", "svg", "head", "noscript", "template", "iframe"})


async def discovered(ctx: Context, html: str, url: str, settings: JobsSettings) -> dict[str, Any] | None:
    """Selectors, proven on this page; None without a model, or when what it said finds nothing."""
    if not settings.model.reads:
        return None
    outline = await asyncio.to_thread(outline_of, html, settings.model.text_max)
    try:
        told = await ask(
            ctx, SELECTORS, SelectorsReply, model=settings.model.cheap, data=outline, settings=settings.model
        )
    except NoAnswer:
        return None
    fields = {"title": told.title, "url": told.url}
    selectors: dict[str, Any] = {
        "item": told.item,
        "fields": fields | ({"location": told.location} if told.location else {}),
    }
    return selectors if await asyncio.to_thread(_proven, selectors, html, url, ctx.now) else None


def _proven(selectors: dict[str, Any], html: str, url: str, now: float) -> bool:
    found = DetectedBoard(GENERIC, url, None, {"selectors": json.dumps(selectors)}, Confidence.LOW, "model")
    try:
        instruction = instruction_for(found)
        page = read_list(instruction, html.encode(), request=Request(url), page=1, now=now, media_type="text/html")
    except (InputError, WrongShape):
        return False
    return len({posting.url for posting in page.postings}) >= PROVEN


def outline_of(html: str, length: int) -> str:
    """Return tags, classes, ids and the beginnings of texts and links, indented; `length`: most characters of it."""
    body = LexborHTMLParser(bounded(html)).body
    lines: list[str] = []
    left = length
    waiting: list[tuple[LexborNode, int]] = [] if body is None else [(body, 0)]
    while waiting and left > 0:
        node, depth = waiting.pop()
        line = _line(node, depth)
        lines.append(line)
        left -= len(line) + 1
        children = [child for child in node.iter(include_text=False) if child.tag not in LEFT_OUT]
        waiting += [(child, depth + 1) for child in reversed(children)]
    return "\n".join(lines)[:length]


def _line(node: LexborNode, depth: int) -> str:
    attributes = node.attributes
    marks = "".join(f".{name}" for name in (attributes.get("class") or "").split()[:4])
    href = attributes.get("href")
    link = f" href={href[:WORDS_MAX]}" if href else ""
    words = " ".join((node.text(deep=False) or "").split())[:WORDS_MAX]
    return f"{' ' * min(depth, 20)}{node.tag}{marks}{link} {words}".rstrip()
