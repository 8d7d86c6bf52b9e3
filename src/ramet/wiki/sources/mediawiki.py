"""A MediaWiki as a source of articles, through its action API: 50 titles a call."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ramet import RetryAfter, Transient
from ramet.fetch.addresses import host_and_port
from ramet.fetch.client import AnswerTooLarge, ServerTrouble, Unreachable, WebClient, plain_url
from ramet.fetch.host_gate import Gate, LocalGate
from ramet.wiki.errors import WIKI_EXTRA, SourceError
from ramet.wiki.pages import Page, Refusal, RefusalReason
from ramet.wiki.sources.base import TITLES_MAX, SourceOptions
from ramet.wiki.sources.mediawiki_answers import (
    Answers,
    Walk,
    html_of,
    page_of,
    redirect_loop,
    refused,
    title_to_send,
)
from ramet.wiki.sources.mediawiki_calls import TRIES_MAX, ApiCalls, records
from ramet.wiki.sources.mediawiki_site import attribution_of, knows_disambiguation, open_endpoint, site_of, user_agent
from ramet.wiki.wikitext.site import Site

HOPS_MAX = 10
"""Most calls that a chain of redirects may take, where the wiki follows only one of them a call."""
TRIES_DIVIDED = 2
"""Most tries of a call for a part of a batch whose whole was tried often enough."""
FAILURES_MAX = 8
"""Failed calls in a row for parts of a batch that show that it is not a title's fault. One of 50 takes six."""
BATCH_SECONDS = 240.0
"""Seconds after which no further part of a batch is asked for."""
SUGGESTED_MAX = 3

PAGE_PARAMETERS = {
    "prop": "revisions|pageprops|categories|info|coordinates",
    "rvprop": "ids|content",
    "rvslots": "main",
    "ppprop": "disambiguation|wikibase-shortdesc|wikibase_item",
    "colimit": "max",
    "clshow": "!hidden",
    "cllimit": "max",
    "inprop": "url",
    "redirects": "1",
    "converttitles": "1",
}
LINK_PARAMETERS = {"plnamespace": "0", "pllimit": "max"}
RENDER_PARAMETERS = {
    "action": "parse",
    "prop": "text",
    "disableeditsection": "1",
    "disablelimitreport": "1",
    "disabletoc": "1",
}
RENDERED_AT_ONCE = 3
INFO_PARAMETERS = {"prop": "info", "converttitles": "1"}


class MediaWikiSource:
    """The articles of one wiki; an `ArticleSource`. Belongs to one event loop.

    A batch is believed when it is complete. One that the server cannot answer is asked for in halves, so that one title
    which breaks the server takes no other with it.
    """

    def __init__(
        self,
        url: str,
        options: SourceOptions,
        *,
        web: WebClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        """Connect to nothing yet.

        Args:
            url: of `api.php`, or of any page of the wiki: then its API is looked for when first needed.
            options: who asks, how often, and for which links.
            web: asks the server; by default one made after `options`.
            sleep: waits between tries.
            rng: draws how long.

        Raises:
            UserError: the URL is none, or the user agent lacks a contact that this host asks for.
        """
        self._url = plain_url(url)
        host, port = host_and_port(self._url)
        standard = {"https": 443, "http": 80}[self._url.partition(":")[0]]
        self.name = host if port == standard else f"{host}:{port}"
        self.attribution = ""
        self.resource = f"host:{self.name}"
        self._links = options.links == "all"
        self._rendered = options.text == "rendered"
        self._web = web or WebClient(
            user_agent=user_agent(host, options.user_agent), extra=WIKI_EXTRA, private=options.private
        )
        gate = LocalGate(options.requests_per_second)
        self._calls = ApiCalls(self._web, host=self.name, resource=self.resource, gate=gate, sleep=sleep, rng=rng)
        self._opening = asyncio.Lock()
        self._site: Site | None = None
        self._tells_disambiguation = False

    @property
    def gate(self) -> Gate:
        """Return the gate that every request passes; of this process alone until another is set."""
        return self._calls.gate

    @gate.setter
    def gate(self, gate: Gate) -> None:
        self._calls.gate = gate

    @property
    def endpoint(self) -> str:
        """The address of the wiki's `api.php`; empty before it was found."""
        return self._calls.endpoint

    async def site(self) -> Site:
        """See `ArticleSource.site`; asked for once.

        Raises:
            SourceError: there is no API of a MediaWiki, or not for this client.
            RetryAfter, Transient: it cannot be asked just now.
        """
        async with self._opening:
            if self._site is None:
                query = await open_endpoint(self._calls, self._web, self._url)
                self._site = site_of(query, self._calls.endpoint)
                self._tells_disambiguation = knows_disambiguation(query)
                self.attribution = attribution_of(query)
                self._calls.is_known = True
            return self._site

    async def pages(self, titles: Sequence[str]) -> Mapping[str, Page | Refusal | Exception]:
        """See `ArticleSource.pages`."""
        site = await self.site()
        links = {**LINK_PARAMETERS, "prop": PAGE_PARAMETERS["prop"] + "|links"} if self._links else {}
        walks = await self._walks(titles, {**PAGE_PARAMETERS, **links})
        found: dict[str, Page | Refusal | Exception] = {}
        for title, walk in walks.items():
            if not isinstance(walk, Walk):
                found[title] = walk
                continue
            page = page_of(
                title,
                walk,
                site,
                endpoint=self.endpoint,
                tells_disambiguation=self._tells_disambiguation,
                with_links=self._links,
            )
            found[title] = page or Transient(f"{self.name} left {title!r} out of its answer")
        if self._rendered:
            await self._render(found)
        return _or_raised(found)

    async def _render(self, found: dict[str, Page | Refusal | Exception]) -> None:
        """Add the HTML of the revision that was read to each page; titles that share one are asked for once.

        A few requests are open at a time, as for all others. When the server names a time to come back, the pages that
        were not asked yet wait for it, and those that were are kept.
        """
        pages = {page.revision: page for page in found.values() if isinstance(page, Page)}
        waiting = list(pages)
        html: dict[str, str | Refusal | Exception] = {}
        later: list[RetryAfter] = []

        async def some() -> None:
            while waiting and not later:
                revision = waiting.pop(0)
                try:
                    html[revision] = await self._html(pages[revision])
                except RetryAfter as error:
                    later.append(error)
                    waiting.append(revision)

        await asyncio.gather(*(some() for _ in range(RENDERED_AT_ONCE)))
        for title, page in found.items():
            if isinstance(page, Page):
                shown = html[page.revision] if page.revision in html else later[0]
                found[title] = replace(page, html=shown) if isinstance(shown, str) else shown

    async def _html(self, page: Page) -> str | Refusal | Exception:
        """Return a page's revision as the wiki renders it.

        Raises:
            RetryAfter: the server named a time.
        """
        try:
            answer, _ = await self._calls.ask({**RENDER_PARAMETERS, "oldid": page.revision})
        except (AnswerTooLarge, ServerTrouble) as error:
            return _alone(page.title, error)
        except SourceError as error:  # Deleted since its text was read, say.
            return Transient(str(error))
        return html_of(page.title, answer)

    async def revisions(self, titles: Sequence[str]) -> Mapping[str, str | Refusal | Exception]:
        """See `ArticleSource.revisions`; an exception in the place of one as in `pages`."""
        await self.site()
        walks = await self._walks(titles, INFO_PARAMETERS)
        return _or_raised({title: self._revision(title, walk) for title, walk in walks.items()})

    async def absent(self, keys: Sequence[str]) -> Collection[str]:
        """See `ArticleSource.absent`: only the wiki knows."""
        return ()

    async def resolve(self, title: str) -> str | None:
        """See `ArticleSource.resolve`."""
        await self.site()
        walk = (await self._walks([title], {**INFO_PARAMETERS, "redirects": "1"}))[title]
        if isinstance(walk, Exception):
            raise walk
        if isinstance(walk, Refusal) or walk.end is None or refused(title, walk.end):
            return None
        return str(walk.end["title"])

    async def suggest(self, title: str) -> tuple[str, ...]:
        """See `ArticleSource.suggest`: titles that begin so, then those that a search finds."""
        await self.site()
        wanted = title_to_send(title)
        if isinstance(wanted, Refusal):
            return ()
        limit = str(SUGGESTED_MAX)
        asked = {"list": "prefixsearch|search", "pssearch": wanted, "srsearch": wanted}
        answer, _ = await self._calls.ask(
            {"action": "query", **asked, "pslimit": limit, "srlimit": limit, "srprop": ""}, tries=TRIES_DIVIDED
        )
        query = answer.get("query")
        lists = [records(query.get(name)) for name in ("prefixsearch", "search")] if isinstance(query, dict) else []
        named = [str(found.get("title", "")) for found in [record for found in lists for record in found]]
        return tuple(dict.fromkeys(named))[:SUGGESTED_MAX]

    async def close(self) -> None:
        """See `ArticleSource.close`."""
        await self._web.close()

    def _revision(self, title: str, walk: Walk | Refusal | Exception) -> str | Refusal | Exception:
        if not isinstance(walk, Walk):
            return walk
        if walk.refusal or walk.end is None:
            return walk.refusal or Transient(f"{self.name} left {title!r} out of its answer")
        if refusal := refused(title, walk.end):
            return refusal
        if walk.end.get("redirect"):
            return Refusal(RefusalReason.NOT_FOUND, f"{title!r} has become a redirect")
        return str(walk.end.get("lastrevid", ""))

    async def _walks(
        self, titles: Sequence[str], parameters: Mapping[str, str]
    ) -> dict[str, Walk | Refusal | Exception]:
        """Return where each title leads, over as many calls as a chain of redirects takes."""
        assert len(titles) <= TITLES_MAX, "a call takes 50 titles"
        ended: dict[str, Walk | Refusal | Exception] = {}
        sent: dict[str, str] = {}
        for title in titles:
            sendable = title_to_send(title)
            if isinstance(sendable, Refusal):
                ended[title] = sendable
            else:
                sent[title] = sendable
        behind: dict[str, tuple[str, ...]] = dict.fromkeys(sent, ())
        for _ in range(HOPS_MAX):
            if not sent:
                return ended
            answers = await self._divided(list(dict.fromkeys(sent.values())), parameters)
            following: dict[str, str] = {}
            for title, asked in sent.items():
                walk = _joined(behind[title], answers[asked])
                onward = _onward(walk) if "redirects" in parameters else ""
                if onward == asked:
                    ended[title] = Refusal(
                        RefusalReason.NOT_FOUND, f"{onward!r} redirects to where the wiki does not follow"
                    )
                elif onward and isinstance(walk, Walk):
                    behind[title] = (*walk.redirects, onward)
                    following[title] = onward
                else:
                    ended[title] = walk
            sent = following
        for title in sent:
            ended[title] = redirect_loop(list(behind[title]))
        return ended

    async def _divided(self, titles: list[str], parameters: Mapping[str, str]) -> dict[str, Walk | Refusal | Exception]:
        """Make one call for all, or where that fails, calls for ever smaller parts.

        Raises:
            RetryAfter, SourceError, WebError: of any call.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + BATCH_SECONDS
        found: dict[str, Walk | Refusal | Exception] = {}
        waiting = [titles]
        failures = 0
        while waiting:
            part = waiting.pop()
            try:
                tries = TRIES_MAX if part is titles else TRIES_DIVIDED
                query = await self._calls.query({**parameters, "titles": "|".join(part)}, tries=tries)
            except (AnswerTooLarge, ServerTrouble) as error:
                failures += 0 if isinstance(error, AnswerTooLarge) else 1
                hopeless = isinstance(error, Unreachable) or failures >= FAILURES_MAX or loop.time() >= ends_at
                if hopeless:
                    found.update(dict.fromkeys([title for rest in [part, *waiting] for title in rest], error))
                    return found
                if len(part) == 1:
                    found[part[0]] = _alone(part[0], error)
                else:
                    waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
                continue
            failures = 0
            answers = Answers(query)
            found.update({title: answers.walk(title) for title in part})
        return found


def _alone(title: str, error: AnswerTooLarge | ServerTrouble) -> Refusal | Exception:
    """Return the failure of a title, as it is reported when it is the only one that was asked for."""
    return Refusal(RefusalReason.TOO_LARGE, f"{title!r}: {error}") if isinstance(error, AnswerTooLarge) else error


def _joined(behind: tuple[str, ...], walk: Walk | Refusal | Exception) -> Walk | Refusal | Exception:
    """Return a walk with the redirects of earlier calls before it."""
    if not behind or not isinstance(walk, Walk):
        return walk
    # The last title behind is the one that this walk began at.
    redirects = (*behind[:-1], *walk.redirects)
    for number, title in enumerate(redirects):
        if title in redirects[:number]:
            return redirect_loop(list(redirects[: number + 1]))
    return Walk(redirects, walk.end, walk.refusal)


def _onward(walk: Walk | Refusal | Exception) -> str:
    """Return the title to ask for next: the end of a walk that is a redirect itself, which was not followed."""
    if isinstance(walk, Walk) and walk.end is not None and walk.end.get("redirect"):
        return str(walk.end.get("title", ""))
    return ""


def _or_raised(found: dict[str, Any]) -> dict[str, Any]:
    """Return the titles that were found; raise the error that all share if none was.

    Raises:
        Transient: nothing could be had.
    """
    errors = [answer for answer in found.values() if isinstance(answer, Exception)]
    if found and len(errors) == len(found):
        raise errors[0]
    return found
