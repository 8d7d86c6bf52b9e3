"""A wiki that answers from a handful of pages, for tests of what is asked of one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.fetch.hostile_server import Play, Request, answers


class FakeWiki:
    """Answers as a MediaWiki's API does, from a handful of pages; a test changes what it says."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self.pages = dict(pages)
        self.calls: list[list[str]] = []
        """The titles of each call for pages."""

    def site(self) -> dict[str, Any]:
        """What it says of itself."""
        spaces = {"0": {"id": 0, "name": ""}, "14": {"id": 14, "name": "Category", "canonical": "Category"}}
        general = {"sitename": "Fake", "case": "first-letter", "articlepath": "/wiki/$1", "server": "//fake.example"}
        return {"query": {"general": general, "namespaces": spaces, "pagepropnames": []}}

    def record(self, number: int, title: str) -> dict[str, Any]:
        """A page as an answer has it."""
        if title not in self.pages:
            return {"ns": 0, "title": title, "missing": True}
        slot = {"contentmodel": "wikitext", "content": self.pages[title]}
        return {"pageid": number, "ns": 0, "title": title, "revisions": [{"revid": 7, "slots": {"main": slot}}]}

    def answer(self, titles: list[str]) -> Any:
        """The JSON for these titles."""
        return {"query": {"pages": [self.record(number, title) for number, title in enumerate(titles, 1)]}}

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if "meta" in request.parameters:
            await answers(self.site())(request, writer)
            return
        titles = request.parameters["titles"].split("|")
        self.calls.append(titles)
        await self.play(titles)(request, writer)

    def play(self, titles: list[str]) -> Play:
        """What is done about a call for these titles."""
        return answers(self.answer(titles))
