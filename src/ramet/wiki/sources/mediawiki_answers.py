"""Results for each title from a complete answer of MediaWiki's API. Pure: nothing is fetched here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from ramet import InvalidKey, Transient
from ramet.commands.errors import one_line
from ramet.wiki.pages import Markup, Page, Refusal, RefusalReason
from ramet.wiki.sources.mediawiki_calls import records
from ramet.wiki.sources.mediawiki_site import web_address
from ramet.wiki.wikitext.infobox import in_range
from ramet.wiki.wikitext.site import ARTICLES, Site
from ramet.wiki.wikitext.titles import TITLE_BYTES_MAX, read_title

PAGE_BYTES_MAX = 4 * 1024 * 1024
"""Most bytes of one page's wikitext; twice what MediaWiki lets its users write."""
HTML_BYTES_MAX = 12 * 1024 * 1024
"""Most bytes of a rendered page."""
DESCRIPTION_LENGTH_MAX = 500
DETAIL_LENGTH_MAX = 500
NAME_LENGTH_MAX = 512
"""Most characters of a category or a linked title, with its namespace: no wiki takes as many."""
URL_LENGTH_MAX = 4_000

_REFUSED = re.compile(
    "[|\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffd"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)
"""Characters that no title may have: a bar parts titles in a call; a wiki drops or replaces the others."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Result of following a title.

    Attributes:
        redirects: titles of the redirects that were walked, in that order.
        end: what the wiki says of the page at the end; None where there is a refusal.
        refusal: why there is no page.
    """

    redirects: tuple[str, ...]
    end: Mapping[str, Any] | None = None
    refusal: Refusal | None = None


def _refusal(reason: RefusalReason, detail: str) -> Refusal:
    """Return a refusal in one line of bounded length, whatever a server has put into it."""
    return Refusal(reason, _storable(one_line(detail))[:DETAIL_LENGTH_MAX])


def title_to_send(title: str) -> str | Refusal:
    """Return a title as a call may hold it, or refuse one that would break the call for all its titles."""
    shown = repr(title if len(title) <= 80 else f"{title[:80]}...")
    text = " ".join(unicodedata.normalize("NFC", title.partition("#")[0]).replace("_", " ").split())
    if not text.strip(":"):
        return _refusal(RefusalReason.INVALID_TITLE, f"{shown} is empty")
    if _REFUSED.search(text):
        return _refusal(RefusalReason.INVALID_TITLE, f"{shown} has a character that no title may have")
    if len(text.encode()) > TITLE_BYTES_MAX:
        return _refusal(RefusalReason.INVALID_TITLE, f"{shown} is over {TITLE_BYTES_MAX} bytes long")
    return text


class Answers:
    """A complete answer, asked by title."""

    def __init__(self, query: Mapping[str, Any]) -> None:
        """Read what is below `query`."""
        self._renamed: dict[str, str] = {}
        for change in [*records(query.get("normalized")), *records(query.get("converted"))]:
            old = str(change.get("from", ""))
            self._renamed[unquote(old) if change.get("fromencoded") else old] = str(change.get("to", ""))
        self._redirects = {str(hop.get("from", "")): hop for hop in records(query.get("redirects"))}
        self._elsewhere = {str(link.get("title", "")) for link in records(query.get("interwiki"))}
        self._pages = {str(page.get("title", "")): page for page in records(query.get("pages"))}

    def walk(self, title: str) -> Walk:
        """Follow a title, as it was sent, through spellings and redirects."""
        here = self._spelt(title)
        walked: list[str] = []
        while hop := self._redirects.get(here):
            walked.append(here)
            target = self._spelt(str(hop.get("to", "")))
            if hop.get("tointerwiki") or target in self._elsewhere:
                return Walk(tuple(walked), refusal=_elsewhere(title, target))
            if target in walked:
                return Walk(tuple(walked), refusal=redirect_loop([*walked, target]))
            here = target
        page = self._pages.get(here)
        if page is not None:
            return Walk(tuple(walked), end=page)
        if here in self._elsewhere or title in self._elsewhere:
            return Walk(tuple(walked), refusal=_elsewhere(title, here))
        return Walk(tuple(walked))

    def _spelt(self, title: str) -> str:
        seen = {title}
        while (title := self._renamed.get(title, title)) not in seen:
            seen.add(title)
        return title


def redirect_loop(walked: list[str]) -> Refusal:
    """Return the refusal of a ring of redirects, named by the titles on the way into and around it."""
    return _refusal(RefusalReason.REDIRECT_LOOP, " -> ".join(repr(title) for title in walked))


def _elsewhere(title: str, target: str) -> Refusal:
    return _refusal(RefusalReason.ELSEWHERE, f"{title!r} leads to another wiki: {target}")


def refused(title: str, end: Mapping[str, Any]) -> Refusal | None:
    """Return why the page at the end of a walk from `title` is not an article; None if it may be one."""
    name = str(end.get("title", ""))
    if end.get("invalid"):
        return _refusal(RefusalReason.INVALID_TITLE, f"{title!r}: {str(end.get('invalidreason', ''))[:200]}")
    if end.get("special") or end.get("ns") != ARTICLES:
        way = "is" if title == name else f"leads to {name!r},"
        return _refusal(RefusalReason.NOT_AN_ARTICLE, f"{title!r} {way} a page of another namespace")
    if end.get("missing"):
        return _refusal(RefusalReason.NOT_FOUND, f"there is no page {name!r}")
    return None


def page_of(
    title: str, walk: Walk, site: Site, *, endpoint: str, tells_disambiguation: bool, with_links: bool
) -> Page | Refusal | None:
    """Return the page that a walk from `title` ended at, or why there is none; None if the answer does not hold it."""
    end = walk.end
    if walk.refusal or end is None:
        return walk.refusal
    if refusal := refused(title, end):
        return refusal
    name = str(end["title"])
    revision = next(iter(records(end.get("revisions"))), None)
    if revision is None:
        return None
    text = _text_of(name, end, revision)
    if isinstance(text, Refusal):
        return text
    try:
        key = read_title(name, site).text
    except InvalidKey as error:
        return _refusal(RefusalReason.INVALID_TITLE, f"{name!r}: {error}")
    stated = end.get("pageprops")
    properties = stated if isinstance(stated, dict) else {}
    latitude, longitude = _place(end.get("coordinates"))
    return Page(
        title=name,
        key=key,
        markup=Markup.WIKITEXT,
        text=text,
        revision=str(revision.get("revid", "")),
        aliases=walk.redirects,
        categories=_titles(end.get("categories"), without_namespace=True),
        links=_titles(end.get("links")) if with_links else None,
        description=_storable(str(properties.get("wikibase-shortdesc", "")))[:DESCRIPTION_LENGTH_MAX],
        disambiguation="disambiguation" in properties if tells_disambiguation else None,
        url=_url(name, end, site, endpoint),
        latitude=latitude,
        longitude=longitude,
        wikidata=_wikidata(properties.get("wikibase_item")),
    )


def _text_of(name: str, end: Mapping[str, Any], revision: Mapping[str, Any]) -> str | Refusal:
    """Return the wikitext of a revision; wikis before 1.32 have it beside the revision's number, not in a slot."""
    slots = revision.get("slots")
    slot = slots.get("main") if isinstance(slots, dict) else None
    main = slot if isinstance(slot, dict) else revision
    model = str(main.get("contentmodel") or end.get("contentmodel") or "wikitext")
    text = main.get("content")
    if model != "wikitext":
        return _refusal(RefusalReason.UNPARSABLE, f"{name!r} is written as {model[:40]}, not as wikitext")
    if not isinstance(text, str):
        return _refusal(RefusalReason.UNPARSABLE, f"the text of {name!r} is hidden from readers")
    text = _storable(text)
    if len(text) > PAGE_BYTES_MAX or len(text.encode()) > PAGE_BYTES_MAX:
        return _refusal(RefusalReason.TOO_LARGE, f"{name!r} has over {PAGE_BYTES_MAX:,} bytes")
    return text


def html_of(title: str, answer: Mapping[str, Any]) -> str | Refusal | Exception:
    """Return the HTML of an answer to `action=parse`; what else it says may get better."""
    parsed = answer.get("parse")
    text = parsed.get("text") if isinstance(parsed, dict) else None
    if not isinstance(text, str):
        return Transient(f"the wiki left the text of {title!r} out of its answer")
    text = _storable(text)
    if len(text) > HTML_BYTES_MAX or len(text.encode()) > HTML_BYTES_MAX:
        return _refusal(RefusalReason.TOO_LARGE, f"{title!r} is rendered as over {HTML_BYTES_MAX:,} bytes")
    return text


_ITEM = re.compile(r"Q[1-9][0-9]{0,19}")


def _wikidata(stated: Any) -> str:
    return stated if isinstance(stated, str) and _ITEM.fullmatch(stated) else ""


def _place(stated: Any) -> tuple[float, float] | tuple[None, None]:
    """Return the first place on earth that the wiki states of a page's subject, in degrees."""
    for place in records(stated):
        latitude, longitude = place.get("lat"), place.get("lon")
        if (
            not (isinstance(latitude, int | float) and isinstance(longitude, int | float))
            or place.get("primary") is False
        ):
            continue
        if in_range(latitude, longitude):
            return float(latitude), float(longitude)
    return None, None


def _titles(value: Any, *, without_namespace: bool = False) -> tuple[str, ...]:
    titles = [_storable(str(record.get("title", ""))) for record in records(value)]
    if without_namespace:
        titles = [title.partition(":")[2] for title in titles]
    return tuple(dict.fromkeys(title for title in titles if 0 < len(title) <= NAME_LENGTH_MAX))


def _storable(text: str) -> str:
    """Return a value without characters that no database takes: JSON can spell half a surrogate pair, and NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _url(title: str, end: Mapping[str, Any], site: Site, endpoint: str) -> str:
    stated = _storable(web_address(str(end.get("fullurl", "")), endpoint))
    if 0 < len(stated) <= URL_LENGTH_MAX:
        return stated
    return site.article_url.replace("$1", quote(title.replace(" ", "_"), safe="/:@!$*(),;~"))
