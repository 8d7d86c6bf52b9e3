"""A fetched page as a handler reads it: its text, its links, and by which other addresses it is known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from ramet import InvalidKey, url_key
from ramet.fetch.addresses import joined
from ramet.fetch.errors import Refused, shown
from ramet.fetch.messages import Response

LINKS_MAX = 5_000
"""Most links of one page; those beyond are not read. As many as a task may spawn by default."""
_HTML = ("text/html", "application/xhtml+xml")
_LINK_HEADER = re.compile(r'<([^<>]{1,2000})>((?:\s*;\s*[\w*-]{1,40}\s*=\s*(?:"[^"]{0,400}"|[^\s;,"]{1,400})){0,20})')
_REL_CANONICAL = re.compile(r';\s*rel\s*=\s*(?:"[^"]*\bcanonical\b[^"]*"|canonical)(?=[\s;]|$)', re.IGNORECASE)
_TAG = re.compile(
    r"(?P<raw><!--|<(?:script|style|textarea|title|template|xmp)\b)"
    r"|<(?P<name>a|area|link|base|meta)\b(?>(?:[^<>\"']{1,2000}|\"[^\"]{0,4000}\"|'[^']{0,4000}'){0,60})>",
    re.IGNORECASE,
)
"""A start tag that is read, or the beginning of what has no tags inside. Bounded, so that no page is slow to read."""
_ENDS = {
    "<!--": re.compile("-->"),
    **{
        f"<{name}": re.compile(f"</{name}\\b", re.IGNORECASE)
        for name in ("script", "style", "textarea", "title", "template", "xmp")
    },
}


class Link(NamedTuple):
    """A link of a page."""

    url: str
    """Absolute, without fragment and without a user name or password."""
    key: str
    """Its canonical key (:func:`ramet.url_key`)."""
    nofollow: bool
    """True if the page asks robots not to follow it."""


class Page:
    """Answer of a server, as a handler reads it. Nothing here asks the server again, and no method but :meth:`json`
    raises.

    Attributes:
        requested: the address that was asked for.
        url: the address that answered, after redirects.
        status: HTTP's; 2xx.
        headers: by lower-case name; of a repeated one, the last.
        content: the body, decoded.
        unchanged: whether the server said that nothing has changed, and the body is the one that was kept.
    """

    def __init__(self, response: Response, requested: str, *, unchanged: bool = False) -> None:
        self._response = response
        self.requested = requested
        self.url = response.url
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.content = response.body
        self.unchanged = unchanged
        self.alias_of: str | None = None
        """The key of another page of the same lineage that was fetched before and led here; None where none did.
        Then this page has been read already: ``return ctx.skip("alias")``."""
        self._known: Mapping[str, str] = {}

    @property
    def media_type(self) -> str:
        """The content type without parameters, such as `text/html`; empty if none is stated."""
        return self._response.media_type

    @property
    def is_html(self) -> bool:
        """True if it is stated to be HTML, or states nothing and begins with a tag."""
        return self.media_type in _HTML or (not self.media_type and self.content.lstrip()[:1] == b"<")

    def text(self) -> str:
        """Return the body as text: by its byte order mark, the header, what the document states, or what its bytes look
        like. Bytes without a character in the encoding become U+FFFD.
        """
        return self._text

    def json(self) -> Any:
        """Return the body as a JSON value.

        Raises:
            Refused: it is not JSON.
        """
        try:
            return json.loads(self._text)
        except (ValueError, RecursionError) as error:
            said = f"{shown(self.url)} is not JSON: {str(error)[:100]}"
            raise Refused(said, status=self.status, url=self.url) from None

    @property
    def canonical(self) -> str | None:
        """The address that the page states as its own (``rel=canonical``, in a header or in the document); None where
        it states none, or one of another site: see :meth:`canonical_of_any_site`.
        """
        stated = self.canonical_of_any_site()
        return stated if stated is not None and same_site(stated, self.url) else None

    def canonical_of_any_site(self) -> str | None:
        """Return the address that the page states as its own, on whatever site. A page can lie about others."""
        return self._document.canonical

    def links(self, *, nofollow: bool = False, same_host: bool = False, aliases: bool = False) -> list[str]:
        """Return the addresses that an HTML page links to, absolute, in its order, each canonical key once.

        They are ready to be spawned. At most `LINKS_MAX` are read; of another document there are none.

        Args:
            nofollow: also those that the page asks robots not to follow: ``rel=nofollow``, a robots meta tag or header.
            same_host: only those of the host that answered.
            aliases: also other addresses of pages that this lineage has fetched: those that redirected to them, and
                the ones that they state as canonical.
        """
        host = urlsplit(self.url).hostname
        return [
            link.url
            for link in self._document.links
            if (nofollow or not link.nofollow)
            and (aliases or link.key not in self._known)
            and (not same_host or urlsplit(link.url).hostname == host)
        ]

    # --- for fetching

    def keys(self) -> Iterator[str]:
        """Yield the keys of this page's own addresses: final, canonical."""
        for address in (self.url, self.canonical):
            if address and (key := key_of(address)) is not None:
                yield key

    def link_keys(self) -> list[str]:
        """Return the keys of all links."""
        return [link.key for link in self._document.links]

    def note_known(self, aliases: Mapping[str, str]) -> None:
        """Take these keys as those of pages that were fetched under another address, each with that page's key."""
        own = {key_of(self.requested), *self.keys()}
        self._known = {alias: key for alias, key in aliases.items() if alias not in own}
        requested = key_of(self.requested)
        others = [aliases[key] for key in (requested, *self.keys()) if key is not None and key in aliases]
        self.alias_of = next((key for key in others if key != requested), None)

    @cached_property
    def _text(self) -> str:
        return self._response.text

    @cached_property
    def _document(self) -> _Document:
        header = canonical_of_header(self.headers.get("link", ""), self.url)
        refused = "nofollow" in self.headers.get("x-robots-tag", "").lower()
        if not self.is_html:
            return _Document((), header)
        found = _read_html(self._text, self.url, nofollow=refused)
        return found if header is None else _Document(found.links, header)


class _Document(NamedTuple):
    links: tuple[Link, ...]
    canonical: str | None


class _Tags(HTMLParser):
    """Reads one start tag at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._read: tuple[str, dict[str, str]] = ("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # Of an attribute that is given twice the first counts.
        self._read = (tag, {name: value or "" for name, value in reversed(attrs)})

    def attributes(self, tag: str) -> tuple[str, dict[str, str]]:
        """Return the name and the attributes of a start tag."""
        self._read = ("", {})
        self.reset()
        self.feed(tag)
        return self._read


def _tags(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the tags of a document that say where it leads, without those in comments and scripts.

    No tree is built: the time that a parser needs for one grows with the square of how deep a page nests.
    """
    reader, at, links = _Tags(), 0, 0
    while (found := _TAG.search(text, at)) is not None and links < LINKS_MAX:
        opened = found["raw"]
        if opened is None:
            at = found.end()
            links += found["name"].lower() in ("a", "area")
            yield reader.attributes(found[0])
            continue
        closed = _ENDS[opened.lower()].search(text, found.end())
        if closed is None:
            return
        at = closed.end()


def _read_html(text: str, url: str, *, nofollow: bool) -> _Document:
    base: str | None = None
    canonical: str | None = None
    found: list[tuple[str, bool]] = []
    for name, attributes in _tags(text):
        words = attributes.get("rel", "").lower().split()
        href = attributes.get("href", "").strip()
        if name == "meta":
            named = attributes.get("name", "").strip().lower()
            nofollow |= named == "robots" and "nofollow" in attributes.get("content", "").lower()
        elif name == "base" and base is None and "href" in attributes:
            base = plain(joined(url, href))
        elif name == "link" and canonical is None and href and "canonical" in words:
            canonical = href
        elif name in ("a", "area") and "href" in attributes:
            found.append((href, "nofollow" in words))
    base = base or url
    links: dict[str, Link] = {}
    for href, refused in found:
        address = plain(joined(base, href))
        key = None if address is None else key_of(address)
        if address is not None and key is not None:
            # One link without the word is enough to follow.
            known = links.get(key, Link(address, key, True))
            links[key] = known._replace(nofollow=known.nofollow and (nofollow or refused))
    return _Document(tuple(links.values()), None if canonical is None else plain(joined(base, canonical)))


def canonical_of_header(header: str, url: str) -> str | None:
    """Return what a ``Link`` header states as canonical (RFC 8288), made absolute."""
    for target, parameters in _LINK_HEADER.findall(header[:8_000]):
        if _REL_CANONICAL.search(parameters):
            return plain(joined(url, target.strip()))
    return None


def plain(url: str) -> str | None:
    """Return an http or https address without fragment and credentials; None for anything else."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
    except ValueError:
        return None


def key_of(url: str) -> str | None:
    """Return the canonical key of an address; None where it has none."""
    try:
        return str(url_key(url))
    except InvalidKey:
        return None


def same_site(one: str, other: str) -> bool:
    """Return whether two addresses are of one host, with or without ``www.``, whatever the scheme."""
    names = [(urlsplit(url).hostname or "").rstrip(".").removeprefix("www.") for url in (one, other)]
    return names[0] == names[1]
