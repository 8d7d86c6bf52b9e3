"""A model finds the list of openings on a page where the rules saw none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ramet import Context
from ramet.fetch.request import Request
from ramet.jobs.ai.model import Unanswered, ask
from ramet.jobs.ai.prompts import SELECTORS, SelectorsReply
from ramet.jobs.boards.reader import read_list
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.detection.findings import GENERIC, Confidence, Found
from ramet.jobs.errors import InputError, WrongShape
from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.text.markup import bounded

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
    except Unanswered:
        return None
    fields = {"title": told.title, "url": told.url}
    selectors: dict[str, Any] = {
        "item": told.item,
        "fields": fields | ({"location": told.location} if told.location else {}),
    }
    return selectors if await asyncio.to_thread(_proven, selectors, html, url, ctx.now) else None


def _proven(selectors: dict[str, Any], html: str, url: str, now: float) -> bool:
    found = Found(GENERIC, url, None, {"selectors": json.dumps(selectors)}, Confidence.LOW, "model")
    try:
        instruction = instruction_for(found)
        page = read_list(instruction, html.encode(), request=Request(url), page=1, now=now, media_type="text/html")
    except (InputError, WrongShape):
        return False
    return len({posting.url for posting in page.postings}) >= PROVEN


def outline_of(html: str, length: int) -> str:
    """Tags, classes, ids and the beginnings of texts and links, indented; at most so many characters."""
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
