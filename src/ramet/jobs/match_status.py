"""The status that a person gives to a match, its history, and which matches are new.

A mark belongs to an opening, not to a row: an opening that is read again, scored again, found on a further board or
posted again under another number keeps what a person decided about it.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from ramet import Client
from ramet.jobs import queries
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.errors import InputError, NotFound
from ramet.jobs.matching.caps import ceiling_of
from ramet.jobs.matching.duplicates import listing_key
from ramet.jobs.matching.openings import OPENING_COLUMNS, ListedOpening, folded, source_rank
from ramet.jobs.matching.score import fresh_score, priority_word
from ramet.jobs.queries import Match
from ramet.jobs.records import members, portions
from ramet.jobs.settings import JobsSettings

NOTE_CHARACTERS_MAX = 2_000
SHORT_ID_CHARACTERS = 7
SHORT_ID = re.compile(rf"[0-9a-f]{{{SHORT_ID_CHARACTERS}}}")


class MatchStatus(StrEnum):
    """Status of a match: ``new`` until it is shown, then ``seen``, then what a person says."""

    NEW = "new"
    SEEN = "seen"
    DISMISSED = "dismissed"
    APPLIED = "applied"
    INTERVIEWING = "interviewing"
    OFFER = "offer"
    REJECTED = "rejected"


TOLD = "told"
"""Mark of a match that was in a digest; it is not a status: the match stays new."""
MARKABLE = tuple(status for status in MatchStatus if status is not MatchStatus.NEW)
"""Statuses that a person can set."""
FOLLOWED = frozenset({MatchStatus.APPLIED, MatchStatus.INTERVIEWING, MatchStatus.OFFER, MatchStatus.REJECTED})
"""Shown although the board does not show the opening any more: the person is in touch with the company."""


@dataclass(frozen=True, slots=True)
class MatchMark:
    """One entry of a match's history."""

    listing_id: str
    mark_id: str
    status: str
    """A :class:`MatchStatus`, or ``told``: it was in a digest."""
    note: str | None
    marked_by: str | None
    """None: it was shown, or was in a digest."""
    marked_at: float
    """Unix seconds."""


_MARKS = f"""
    SELECT k.listing_id, k.mark_id, k.status, k.note, k.marked_by, k.marked_at, {OPENING_COLUMNS}
    FROM jobs_match_marks k LEFT JOIN jobs_listings l ON l.listing_id = k.listing_id"""  # noqa: S608 -- of constants
_OPENING_BY_ID = f"SELECT {OPENING_COLUMNS} FROM jobs_listings l WHERE l.listing_id = ?"  # noqa: S608
_TWINS = """
    SELECT same_as, listing_id, url, location, source_id FROM jobs_listings
    WHERE same_as IS NOT NULL AND closed_at IS NULL ORDER BY url"""


def _opening_of(match: Match) -> ListedOpening:
    columns = (match.company, match.title, match.fingerprint, match.text_hash, None, match.closed_at)
    return ListedOpening.of(match.listing_id, columns)


class MatchMarks:
    """All marks of a database, found by opening."""

    def __init__(self, rows: Iterable[Sequence[Any]], near_bits: int) -> None:
        self._near_bits = near_bits
        self._by_listing: dict[str, tuple[ListedOpening, list[MatchMark]]] = {}
        self._related: defaultdict[str, set[str]] = defaultdict(set)
        for listing_id, mark_id, status, note, by, at, *described in rows:
            mark = MatchMark(listing_id, mark_id, status, note, by, at)
            if listing_id not in self._by_listing:
                one = ListedOpening.of(listing_id, described)
                self._by_listing[listing_id] = one, []
                for relation in filter(None, (one.mark, one.same_as, listing_id)):
                    self._related[relation].add(listing_id)
            self._by_listing[listing_id][1].append(mark)

    def history(self, wanted: ListedOpening) -> list[MatchMark]:
        """Return the marks of an opening, the oldest first."""
        found: list[MatchMark] = []
        for listing_id in self._related.get(wanted.mark, set()) | self._related.get(wanted.listing_id, set()):
            opening, marks = self._by_listing[listing_id]
            if wanted.is_same(opening, self._near_bits):
                found += marks
        return sorted(found, key=lambda mark: (mark.marked_at, mark.mark_id))

    def of_match(self, match: Match) -> tuple[MatchMark | None, bool]:
        """Return the mark in force, and whether the match was in a digest.

        The last mark by a person is in force, else the mark that it was shown; None for a new match.
        """
        marks = self.history(_opening_of(match))
        shown = [mark for mark in marks if mark.status != TOLD]
        said = [mark for mark in shown if mark.marked_by is not None]
        return next(reversed(said or shown), None), len(shown) < len(marks)


async def match_marks(client: Client, settings: JobsSettings) -> MatchMarks:
    """Read all marks."""
    return MatchMarks(await client.read(_MARKS), settings.listing.near_bits)


@dataclass(frozen=True, slots=True)
class OtherListing:
    """Another listing of the opening of a match."""

    listing_id: str
    url: str
    location: str | None
    source_id: str | None


@dataclass(frozen=True, slots=True)
class ScoredMatch:
    """A match, with its score of today and its mark."""

    match: Match
    score: float
    """Score with the points of its age today."""
    priority: str
    mark: MatchMark | None = None
    """None: it is new."""
    was_told: bool = False
    """True when it was in a digest."""
    others: tuple[OtherListing, ...] = ()
    """Further listings of the same opening: on other boards, in other places, posted again."""

    @property
    def listing_ids(self) -> tuple[str, ...]:
        """The ids of all listings of the opening, the match's own first."""
        return self.match.listing_id, *(other.listing_id for other in self.others)

    @property
    def places(self) -> tuple[str, ...]:
        """The places of all listings of the opening, as they are written, each once, the match's own first."""
        named = (self.match.location, *(other.location for other in self.others))
        return tuple(dict.fromkeys(place for place in named if place))

    @property
    def status(self) -> MatchStatus:
        """Status of the match."""
        return MatchStatus.NEW if self.mark is None else MatchStatus(self.mark.status)

    @property
    def short_id(self) -> str:
        """A short name for people."""
        return short_id(self.match.listing_id)

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON, for programs."""
        mark = self.mark
        return {
            "id": self.short_id, "score": self.score, "priority": self.priority, "status": self.status.value,
            "status_at": mark and mark.marked_at, "status_by": mark and mark.marked_by, "note": mark and mark.note,
            "places": self.places, "others": [asdict(other) for other in self.others], **self.match.as_json(),
        }  # fmt: skip


def short_id(listing_id: str) -> str:
    """Return a short name of a listing, for people to type: hex digits that follow from its id."""
    return hashlib.sha256(listing_id.encode(errors="replace")).hexdigest()[:SHORT_ID_CHARACTERS]


async def matches(
    client: Client,
    *,
    now: float,
    statuses: Collection[MatchStatus | str] | None = None,
    with_dismissed: bool = False,
    with_closed: bool = False,
    min_score: float | None = None,
) -> list[ScoredMatch]:
    """Read matches: new ones first, then by their score of today, the best first.

    Only the part of the score that is the listing's age changes by itself.

    Args:
        client: a client of ``ramet.jobs.pipeline.app``.
        now: Unix seconds.
        statuses: only matches with these statuses.
        with_dismissed: also those that a person dismissed, where no ``statuses`` are given.
        with_closed: also those that their boards do not show any more; matches that a person follows (``applied``,
            ``interviewing``, ``offer``, ``rejected``) are always there.
        min_score: only those with at least this score today.

    Raises:
        ValueError: one of ``statuses`` is not a status of a match.
    """
    wanted = None if statuses is None else {MatchStatus(status) for status in statuses}
    settings = await settings_in_force(client)
    marks = await match_marks(client, settings)
    scored = []
    for match in await queries.matches(client):
        score, _ = fresh_score(match.static_score, match.posted_at, settings, now, ceiling_of(match.adjustments))
        one = ScoredMatch(match, score, priority_word(score, settings.match), *marks.of_match(match))
        if match.closed_at is None or with_closed or one.status in FOLLOWED:
            scored.append(one)
    twins = defaultdict(list)
    for same_as, *described in await client.read(_TWINS):
        twins[same_as].append(OtherListing(*described))
    groups = folded(scored, lambda one: _opening_of(one.match), settings.listing.near_bits)
    found = []
    for one in (_one_of(group, twins) for group in groups):
        if min_score is not None and one.score < min_score:
            continue
        if one.status not in wanted if wanted is not None else _is_hidden(one, with_dismissed):
            continue
        found.append(one)
    found.sort(key=lambda one: (one.status is not MatchStatus.NEW, -one.score, one.match.listing_id))
    return found


def _one_of(group: Sequence[ScoredMatch], twins: Mapping[str, Sequence[OtherListing]]) -> ScoredMatch:
    """Return the match that represents an opening, with its other listings; the order of arrival does not matter."""
    first, *rest = sorted(group, key=_standing)
    others = [
        OtherListing(one.match.listing_id, one.match.url, one.match.location, one.match.source_id) for one in rest
    ]
    others += [twin for one in (first, *rest) for twin in twins.get(one.match.listing_id, ())]
    marked = next((one.mark for one in (first, *rest) if one.mark is not None), None)
    return replace(first, mark=marked, was_told=any(one.was_told for one in group), others=tuple(others))


def _standing(one: ScoredMatch) -> tuple[bool, int, float, str]:
    match = one.match
    return match.closed_at is not None, source_rank(match.url, match.company), -match.static_score, match.url


def _is_hidden(one: ScoredMatch, with_dismissed: bool) -> bool:
    return one.status is MatchStatus.DISMISSED and not with_dismissed


async def match_history(client: Client, listing_id: str) -> list[MatchMark]:
    """Read the history of a listing's opening, the oldest mark first; empty for a new match, and for no listing."""
    rows = await client.read(_OPENING_BY_ID, (listing_id,))
    if not rows:
        return []
    marks = await match_marks(client, await settings_in_force(client))
    return marks.history(ListedOpening.of(listing_id, rows[0]))


async def listing_ids_of(client: Client, names: Sequence[str]) -> list[str]:
    """Resolve what a person typed, each an id, a short id or an address, to ids of listings, each once, in order.

    Raises:
        NotFound: one of them is unknown, or means several listings; the line names all such.
    """
    by_short = await listings_by_short_id(client)
    found, wrong = [], []
    for name in names:
        word = name.strip()
        listing_id = by_short.get(word.lower()) or await _listing_id_of(client, word)
        if listing_id is None:
            wrong.append(word)
        else:
            found.append(listing_id)
    if wrong:
        one = "is" if len(wrong) == 1 else "are"
        listed = ", ".join(repr(word[:80]) for word in wrong)
        raise NotFound(
            f"{listed} {one} not known: give ids as `ramet jobs matches --all` shows them; nothing was marked"
        )
    return list(dict.fromkeys(found))


async def listings_by_short_id(client: Client) -> dict[str, str]:
    """Read the ids of listings that are shown with a short id: matches, and what was marked."""
    return {short_id(listing_id): listing_id for (listing_id,) in await client.read(_NAMED)}


_NAMED = "SELECT listing_id FROM jobs_matches UNION SELECT listing_id FROM jobs_match_marks"


async def _listing_id_of(client: Client, word: str) -> str | None:
    for listing_id in dict.fromkeys((word, listing_key(word))):
        if await client.read("SELECT 1 FROM jobs_listings WHERE listing_id = ?", (listing_id,)):
            return listing_id
    rows = await client.read(queries.LISTINGS_BY_URL, (word,))
    return str(rows[0][0]) if len(rows) == 1 else None


def checked_note(note: str | None) -> str | None:
    """Return a note as it is stored; None where there is nothing in it.

    Raises:
        InputError: it is too long.
    """
    text = (note or "").strip()
    if len(text) > NOTE_CHARACTERS_MAX:
        raise InputError(f"the note has {len(text):,} characters: give at most {NOTE_CHARACTERS_MAX:,}")
    return text or None


def checked_status(status: str) -> MatchStatus:
    """Return a status that a match can be given.

    Raises:
        InputError: it is not one.
    """
    if status not in MARKABLE:
        raise InputError(f"{status[:80]!r} is not a status of a match: give one of {', '.join(MARKABLE)}")
    return MatchStatus(status)


async def unknown_listings(client: Client, listing_ids: Sequence[str]) -> list[str]:
    """Return those of these ids that no listing has."""
    known: set[str] = set()
    for some in portions(listing_ids):
        sql = f"SELECT listing_id FROM jobs_listings WHERE listing_id IN {members(len(some))}"  # noqa: S608
        known |= {row[0] for row in await client.read(sql, some)}
    return [listing_id for listing_id in listing_ids if listing_id not in known]


async def not_matches(client: Client, listing_ids: Sequence[str]) -> int:
    """Count those of these listings that are not matches, nor duplicates of one."""
    count = 0
    for some in portions(listing_ids):
        sql = f"""
            SELECT COUNT(*) FROM jobs_listings l WHERE l.listing_id IN {members(len(some))} AND l.same_as IS NULL
                AND NOT EXISTS (SELECT 1 FROM jobs_matches m WHERE m.listing_id = l.listing_id)"""  # noqa: S608
        count += (await client.read(sql, some))[0][0]
    return count
