"""One opening, one match: listings of one company with one title are folded where their texts or their places say so.

Nothing here depends on what arrived first: the listing that represents an opening is the open one of the best source,
then the one of the best score, then that of the first address.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from ramet.jobs.companies.hosts import Role, role_of
from ramet.jobs.companies.identity import company_id_of
from ramet.jobs.detection.addresses import address_of, board_of_url
from ramet.jobs.detection.findings import GENERIC, GUESSED, RSS
from ramet.jobs.errors import InputError
from ramet.jobs.matching.duplicates import fingerprint, near
from ramet.jobs.text.arrangement import REMOTE_BOARDS
from ramet.jobs.text.company_names import is_named_alike

T = TypeVar("T")

OPENING_COLUMNS = "l.company, l.title, l.fingerprint, l.text_hash, l.same_as, l.closed_at"
"""Columns of a listing, in the order in which :meth:`ListedOpening.of` takes them."""


class SourceRank(IntEnum):
    """Nearness of a listing's site to the company; the lowest is the best."""

    OWN = 0
    """The company's own site."""
    VENDOR = 1
    """The company's board at a vendor."""
    OTHER = 2
    AGGREGATOR = 3
    """A site that lists the openings of others."""


@lru_cache(maxsize=16_384)
def source_rank(url: str, company: str | None) -> SourceRank:
    """Return how near to the company an address is, from address and name alone."""
    parts = urlsplit(address.url) if (address := address_of(url)) is not None else None
    host = (parts.hostname or "").removeprefix("www.") if parts is not None else ""
    labels = host.split(".")
    roles = {role_of(host, ".".join(labels[-count:]), parts.path if parts is not None else "") for count in (2, 3)}
    if Role.DIRECTORY in roles or host in REMOTE_BOARDS:
        return SourceRank.AGGREGATOR
    found = board_of_url(url)
    if Role.BOARD in roles or (found is not None and found.kind not in (GENERIC, GUESSED, RSS)):
        return SourceRank.VENDOR
    try:
        site = company_id_of(f"https://{host}/", None)
    except InputError:
        return SourceRank.OTHER
    return SourceRank.OWN if is_named_alike(site.partition(".")[0], company or "") else SourceRank.OTHER


@dataclass(frozen=True, slots=True)
class ListedOpening:
    """Facts of a listing by which two are found to be of one opening."""

    listing_id: str
    mark: str
    """Fingerprint of company and title; empty where one of them is not known."""
    fingerprint: str | None
    """Fingerprint of company, title and place."""
    text_hash: int
    same_as: str | None
    closed: bool

    @classmethod
    def of(cls, listing_id: str, columns: Sequence[Any]) -> Self:
        """Return the facts of a listing from its columns, as `OPENING_COLUMNS` names them."""
        company, title, place, text_hash, same_as, closed_at = columns
        mark = fingerprint(company, title or "", None)
        return cls(listing_id, mark, place, int(text_hash or 0), same_as, closed_at is not None)

    @property
    def host(self) -> str:
        """Host of its address; empty for an id that is not an address."""
        return self.listing_id.partition("://")[2].partition("/")[0]

    def is_same(self, other: ListedOpening, near_bits: int) -> bool:
        """Return whether both are one opening.

        Company and title have to be equal. Then nearly equal texts decide, whatever the place and the number: an
        opening in several places, or posted again. Texts on different sites may differ, since some cut them: there the
        same place is enough. On one site the place alone is not, while both are open: two teams may look for the same.
        """
        if self.listing_id in (other.listing_id, other.same_as) or other.listing_id == self.same_as:
            return True
        if not self.mark or self.mark != other.mark:
            return False
        if near(self.text_hash, other.text_hash, near_bits):
            return True
        if not self.fingerprint or self.fingerprint != other.fingerprint:
            return False
        is_short = not self.text_hash and not other.text_hash
        return self.host != other.host or (is_short and (self.closed or other.closed))


def folded(items: Iterable[T], opening_of: Callable[[T], ListedOpening], near_bits: int) -> list[list[T]]:
    """Divide items into openings. An item that is the same as one of a group is of it; groups keep the items' order."""
    placed = [(item, opening_of(item)) for item in items]
    by_mark: defaultdict[str, list[int]] = defaultdict(list)
    by_id = {opening.listing_id: place for place, (_, opening) in enumerate(placed)}
    parents = list(range(len(placed)))

    def root(place: int) -> int:
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    for place, (_, opening) in enumerate(placed):
        others = by_mark[opening.mark] if opening.mark else []
        linked = by_id.get(opening.same_as or "", place)
        for other in (*others, linked):
            if root(other) != root(place) and opening.is_same(placed[other][1], near_bits):
                parents[max(root(place), root(other))] = min(root(place), root(other))
        others.append(place)
    groups: defaultdict[int, list[T]] = defaultdict(list)
    for place, (item, _) in enumerate(placed):
        groups[root(place)].append(item)
    return list(groups.values())
