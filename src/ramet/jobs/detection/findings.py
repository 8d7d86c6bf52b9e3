"""Result of detection: a board, where it was seen, and with what confidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ramet.jobs.boards.vendor_rows import main_row

GENERIC = "generic"
"""The kind of a careers page that no vendor was seen on."""
JSONLD = "jsonld"
"""The kind of a page that has its openings as JSON-LD."""
RSS = "rss"
"""The kind of a feed."""


class Confidence(StrEnum):
    """Confidence that a board can be read without a check by a person."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


GUESSED = "guess"
"""Found's ``via`` for an address that the site's maker usually has a feed at: try it, and read the page if it fails."""


@dataclass(frozen=True, slots=True)
class DetectedBoard:
    """A board that an address or a page names. It has not been requested yet."""

    kind: str
    """A vendor (``greenhouse``), or ``rss``, ``jsonld``, ``generic``."""
    url: str
    """Address of the board, for people; of ``rss`` the feed. Always http or https."""
    token: str | None
    """The board's name at its vendor; None: the vendor is known, the board has to be looked for in the page."""
    ids: dict[str, str] = field(hash=False)
    """Other names of the board: ``host``, ``site`` (Workday, Oracle), ``tenant``, ``instance`` (``wd5``; Workday),
    ``region`` (``eu``: Greenhouse, Lever), ``page`` (of a guess: the page that it was made from), ``selectors`` or
    ``embedded`` (JSON; of a generic page: where its openings are, in its elements or in its scripts)."""
    confidence: Confidence
    """Whether to look at it at once."""
    via: str
    """``url``, ``iframe``, ``script``, ``link``, ``jsonld``, ``feed``, ``selectors``, or ``guess``."""

    @property
    def enable_confidence(self) -> Confidence:
        """Confidence in scraping it without a person's consent, once it has answered."""
        row = main_row(self.kind)
        if self.confidence is Confidence.HIGH and row is not None and row.enabled is not None:
            return Confidence(row.enabled)
        return self.confidence

    @property
    def key(self) -> str:
        """Identity of the board: two findings of the same board have the same key."""
        if "site" in self.ids:
            return f"{self.kind}:{self.ids.get('host', '')}/{self.ids['site']}"
        if self.token is not None:
            return f"{self.kind}:{self.token.casefold()}"
        return f"{self.kind}:{self.ids.get('host', self.url)}"


def confidence_of(kind: str, *, whole: bool) -> Confidence:
    """Return the confidence of a kind.

    Args:
        whole: whether all that its list call needs is known. Without, it has to be looked for.
    """
    row = main_row(kind)
    highest = Confidence(row.confidence) if row is not None else Confidence.LOW
    return Confidence.MEDIUM if highest is Confidence.HIGH and not whole else highest
