"""What a source of articles must offer, so that a MediaWiki, a dump and a file can stand behind the same tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ramet.wiki.pages import Page, Refusal
from ramet.wiki.wikitext.site import Site

TITLES_MAX = 50
"""Titles in one call of a source, at most: what MediaWiki's API takes."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How a source is to be asked; a local one has no use for most of it.

    Attributes:
        user_agent: who asks, with an address or page where they can be reached; empty: only the program is named.
        links: `body`: the links that a page's own text has; `all`: those that its templates bring in as well.
        requests_per_second: to one host, at most; None: the source's own measure.
        text: `wikitext`, or `rendered`: pages come with their HTML, which takes a request for each.
        private: whether addresses of private networks may be asked.
    """

    user_agent: str = ""
    links: Literal["body", "all"] = "body"
    requests_per_second: float | None = None
    private: bool = False
    text: Literal["wikitext", "rendered"] = "wikitext"


class ArticleSource(Protocol):
    """Where articles come from. Used from one event loop; whatever it keeps open is closed by `close`.

    What may get better by itself (a time-out, a server error) leaves as `ramet.Transient`, and a server that named the
    time to come back as `ramet.RetryAfter` with the source's resource.
    """

    name: str
    """What a person calls it: a host, a file's name."""
    attribution: str
    """Whose texts these are, to be shown wherever they are; may be empty."""
    resource: str
    """What its requests share over all workers, such as `host:en.wikipedia.org`; empty for a local source."""

    async def site(self) -> Site:
        """The wiki's rules for titles."""

    async def pages(self, titles: Sequence[str]) -> Mapping[str, Page | Refusal | Exception]:
        """What each of at most `TITLES_MAX` titles leads to, by the title as it was given.

        An exception in the place of a page is what may get better for this title alone.

        Raises:
            RetryAfter: the server named a time; nothing of the call counts.
            Transient: nothing could be had just now.
        """

    async def revisions(self, titles: Sequence[str]) -> Mapping[str, str | Refusal | Exception]:
        """The present revision of each of at most `TITLES_MAX` titles, without their texts; exceptions as in `pages`.

        A title that has become a redirect is refused with NOT_FOUND here: its article is another one now.

        Raises:
            RetryAfter, Transient: as for `pages`.
        """

    async def absent(self, keys: Sequence[str]) -> Collection[str]:
        """Return those of these canonical titles that the source knows not to have, without asking anybody."""

    async def resolve(self, title: str) -> str | None:
        """The display title of the article that a person means by `title`, redirects followed; None if there is none.

        Raises:
            RetryAfter, Transient: as for `pages`.
        """

    async def suggest(self, title: str) -> tuple[str, ...]:
        """Up to three titles that look like `title`; may be empty."""

    async def close(self) -> None:
        """Release what is open; further calls do nothing."""
