"""Interface of a source of articles: the same tasks read a MediaWiki, a dump or a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ramet.wiki.pages import Page, Refusal
from ramet.wiki.wikitext.site import Site

TITLES_MAX = 50
"""Most titles in one call of a source, as MediaWiki's API takes."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Options of requests to a source; a local one ignores most of them.

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
    """Source of articles. Used from one event loop; `close` closes all that it keeps open.

    Faults that may pass by themselves (a time-out, a server error) are raised as `ramet.Transient`, and where a server
    named the time to come back, as `ramet.RetryAfter` with the source's resource.
    """

    name: str
    """Name for people: a host, a file's name."""
    attribution: str
    """Authors and licence of the texts, to be shown with them; may be empty."""
    resource: str
    """Resource that its requests share over all workers, such as `host:en.wikipedia.org`; empty for a local source."""

    async def site(self) -> Site:
        """Return the wiki's rules for titles."""

    async def pages(self, titles: Sequence[str]) -> Mapping[str, Page | Refusal | Exception]:
        """Return the page or refusal of each of at most `TITLES_MAX` titles, by the title as it was given.

        An exception in the place of a page is a fault of this title alone that may pass.

        Raises:
            RetryAfter: the server named a time; nothing of the call counts.
            Transient: nothing could be had just now.
        """

    async def revisions(self, titles: Sequence[str]) -> Mapping[str, str | Refusal | Exception]:
        """Return the present revision of each of at most `TITLES_MAX` titles, without texts; exceptions as in `pages`.

        A title that has become a redirect is refused with NOT_FOUND here: its article is another one now.

        Raises:
            RetryAfter, Transient: as for `pages`.
        """

    async def absent(self, keys: Sequence[str]) -> Collection[str]:
        """Return those of these canonical titles that the source knows not to have, without a request."""

    async def resolve(self, title: str) -> str | None:
        """Return the display title of the article that `title` leads to, redirects followed; None if there is none.

        Raises:
            RetryAfter, Transient: as for `pages`.
        """

    async def suggest(self, title: str) -> tuple[str, ...]:
        """Return up to three titles that look like `title`; may be empty."""

    async def close(self) -> None:
        """Release what is open; further calls do nothing."""
