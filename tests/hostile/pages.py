"""What a made-up site is: a function from an address to a page. Nothing here opens a connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Literal, NamedTuple


class Reply(NamedTuple):
    """One answer of a site."""

    links: tuple[str, ...] = ()
    """As they stand on the page: relative ones are meant relative to its address."""
    canonical: str = ""
    """What the page says its address is; empty when it says nothing."""
    status: int = 200
    location: str = ""
    """Where it sends to; empty for a page."""
    flow: Literal["whole", "drip", "endless"] = "whole"
    """How its body comes: at once, a byte at a time without end, or as fast as it is read and without end."""

    def html(self) -> bytes:
        """The page as a browser gets it."""
        said = f'<link rel="canonical" href="{escape(self.canonical)}">' if self.canonical else ""
        anchors = "".join(f'<li><a href="{escape(link)}">more</a></li>' for link in self.links)
        return f"<!doctype html><html><head><title>Page</title>{said}</head><body>{anchors}</body></html>".encode()


@dataclass(frozen=True)
class Site:
    """A site of the given host and of all hosts below it."""

    host: str
    answer: Callable[[str, str], Reply]
    """From the host and the target (path and query) of a request."""
    pages: int | None = None
    """How many it has; None for a trap."""

    @property
    def seed(self) -> str:
        """Where a crawl begins."""
        return f"http://{self.host}/"


def fresh(*parts: object, digits: int = 12) -> str:
    """A hexadecimal number that no other parts give, with a letter in it and a digit."""
    return "a0" + sha256(repr(parts).encode()).hexdigest()[: digits - 2]


def fresh_word(*parts: object, syllables: int = 5) -> str:
    """A word that no other parts give, as an author could have written it: letters only."""
    digest = sha256(repr(parts).encode()).digest()
    return "".join("bdfgklmnprstvwz"[byte % 15] + "aeiou"[byte // 15 % 5] for byte in digest[:syllables])
