"""Why a listing is where it is, from stored rows: of the listing, its task, its source, its company, its twins."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from ramet import Block, Client, Explanation, display_key
from ramet.commands.options import ask, json_option
from ramet.commands.terminal import columns, console, counted, emit, plain
from ramet.jobs import queries
from ramet.jobs.app import app
from ramet.jobs.commands import terminal
from ramet.jobs.commands.terminal import database_option
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.errors import NotFound
from ramet.jobs.kinds import LISTING
from ramet.jobs.match_status import SHORT_ID, MatchMark, ScoredMatch, listings_by_short_id, match_history, matches
from ramet.jobs.matching.caps import ceiling_of
from ramet.jobs.matching.duplicates import listing_key, near
from ramet.jobs.matching.score import fresh_score
from ramet.jobs.queries import Company, FormerVerdict, Listing, Match, Source, switched_off

FOUND_MAX = 10
"""Listings that words may mean before a person has to say which."""
NEAR_MAX = 3
VERDICTS_MAX = 5
"""Verdicts of before that are shown."""
LINEAGES_LOOKED_AT = 100
"""Newest lineages in which a refused spawn of a listing is looked for."""


@dataclass(frozen=True, slots=True)
class Why:
    """All that is stored about why a listing is where it is."""

    listing: Listing
    match: Match | None
    source: Source | None
    source_off: str | None
    """Why its source is switched off; None: it is not."""
    company: Company | None
    twin: Listing | None
    """The listing that it is a duplicate of."""
    near: tuple[Listing, ...]
    """Others with nearly the same text, which is only a warning; at most `NEAR_MAX`."""
    near_count: int
    """Number of all of these."""
    today: float | None
    """Score of a match at its age of today."""
    task: Explanation | None
    """None: it had no task, or that was pruned."""
    history: tuple[MatchMark, ...] = ()
    """Marks of the match, the oldest first."""
    opening: ScoredMatch | None = None
    """The match that represents its opening, with the other listings of it."""

    verdicts: tuple[FormerVerdict, ...] = ()
    """Verdicts that others have replaced, the latest first."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Spawns of its task that the guard refused."""
        return self.task.history.blocks if self.task is not None else ()

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON, for programs."""
        task = self.task.history.task if self.task is not None else None
        return {
            "listing": self.listing.as_json(),
            "match": self.match and self.match.as_json() | {"score_today": self.today},
            "source": self.source and dataclasses.asdict(self.source) | {"switched_off": self.source_off},
            "company": self.company and dataclasses.asdict(self.company),
            "duplicate_of": self.twin and self.twin.as_json(),
            "near_duplicates": [one.as_json() for one in self.near],
            "near_duplicate_count": self.near_count,
            "task": task and {"id": task.id, "state": task.state.value, "reason": task.reason, "error": task.error},
            "opening": self.opening
            and {
                "listing_id": self.opening.match.listing_id,
                "url": self.opening.match.url,
                "places": self.opening.places,
                "others": [dataclasses.asdict(one) for one in self.opening.others],
            },
            "explanation": self.task and self.task.headline,
            "former_verdicts": [dataclasses.asdict(verdict) for verdict in self.verdicts],
            "blocks": [dataclasses.asdict(block) for block in self.blocks],
            "history": [dataclasses.asdict(mark) for mark in self.history],
        }


async def find_listings(client: Client, text: str) -> list[Listing]:
    """Return the listings that a person may mean, by the surest interpretation: an id or address, a task's id, words.

    Words are of title and company; all of them are in each listing that is found, at most `FOUND_MAX`.
    """
    by_short = await listings_by_short_id(client) if SHORT_ID.fullmatch(text) else {}
    for listing_id in (by_short.get(text, text), listing_key(text)):
        rows = await client.read(queries.LISTING_BY_ID, (listing_id,))
        if rows:
            return [Listing.of(rows[0])]
    for statement in (queries.LISTINGS_BY_URL, queries.LISTINGS_BY_TASK):
        rows = await client.read(statement, (text,))
        if rows:
            return [Listing.of(row) for row in rows]
    return await queries.listings_with(client, text.split(), FOUND_MAX) if "://" not in text else []


async def refused_spawns(client: Client, text: str) -> list[Block]:
    """Return the blocks of an address that no listing has, those of the newest lineages first."""
    key, found = listing_key(text), list[Block]()
    for lineage in await client.lineages(limit=LINEAGES_LOOKED_AT):
        if lineage.blocks:
            found += await client.blocks(lineage.tracking_id, kind=LISTING, key=key)
    return found


async def why_of(client: Client, listing: Listing) -> Why:
    """Return everything about one listing."""
    match = await client.read(queries.MATCH_BY_ID, (listing.listing_id,))
    source = await queries.source_by_id(client, listing.source_id) if listing.source_id else None
    off = (await switched_off(client)).get(source.source_id) if source is not None else None
    return Why(
        listing,
        Match.of(match[0]) if match else None,
        source,
        off,
        await queries.company_by_id(client, listing.company_id),
        await _by_id(client, listing.same_as),
        *await _near(client, listing),
        await _today(client, Match.of(match[0])) if match else None,
        await client.explain(listing.task_id),
        tuple(await match_history(client, listing.listing_id)),
        await _opening(client, listing.listing_id),
        await queries.former_verdicts(client, listing.listing_id, VERDICTS_MAX),
    )


async def _opening(client: Client, listing_id: str) -> ScoredMatch | None:
    """Return the match that represents the opening of a listing; None: the opening is not a match."""
    found = await matches(client, now=time.time(), with_dismissed=True, with_closed=True)
    return next((one for one in found if listing_id in one.listing_ids), None)


async def _today(client: Client, match: Match) -> float:
    settings, ceiling = await settings_in_force(client), ceiling_of(match.adjustments)
    score, _ = fresh_score(match.static_score, match.posted_at, settings, time.time(), ceiling)
    return score


async def _by_id(client: Client, listing_id: str | None) -> Listing | None:
    rows = await client.read(queries.LISTING_BY_ID, (listing_id,)) if listing_id is not None else []
    return Listing.of(rows[0]) if rows else None


async def _near(client: Client, listing: Listing) -> tuple[tuple[Listing, ...], int]:
    """Open listings with nearly the same text, a few and how many there are.

    All hashes are compared, which takes a moment for a hundred thousand.
    """
    if not listing.text_hash:
        return (), 0
    bits = (await settings_in_force(client)).listing.near_bits
    rows = await client.read(queries.HASHES, (listing.listing_id,))
    ids = sorted(
        listing_id
        for listing_id, text_hash in rows
        if listing_id != listing.same_as and near(listing.text_hash, int(text_hash), bits)
    )
    found = [await _by_id(client, listing_id) for listing_id in ids[:NEAR_MAX]]
    return tuple(one for one in found if one is not None), len(ids)


EXIT_WHICH = 1
SKILLS_SHOWN = 12
DETAIL_MAX = 160

STAGES = {
    "refused": "before its page was fetched, by its title, place or the stop list",
    "unknown": "when it was scraped: it could not be read, and what is known is kept",
    "filtered": "at the filter",
    "skipped": "when it was scored",
    "unscored": "before it was judged, and the next run judges it",
    "matched": "with the match saved",
    "analyzing": "nowhere yet",
}


@click.command("why", short_help="Why a listing was dropped, or is a match.")
@click.argument("listing", nargs=-1, required=True, metavar="URL|ID|WORDS...")
@database_option
@json_option
def why(listing: tuple[str, ...], database: str, as_json: bool) -> None:
    """Tell on one screen what became of a listing: named by its address, its id, its task, or words of title and
    company.
    """
    text = " ".join(listing)

    async def show(client: Client) -> int:
        found = await find_listings(client, text)
        if not found:
            return await _tell_refused(client, text, as_json=as_json)
        if len(found) > 1:
            _tell_which(found, as_json=as_json)
            return EXIT_WHICH
        stored = await why_of(client, found[0])
        if as_json:
            emit(stored.as_json())
            return 0
        out = console()
        for part in screen(stored, time.time()):
            out.print(part, soft_wrap=isinstance(part, Text) and "://" in part.plain)
        return 0

    click.get_current_context().exit(ask(app, database, show))


async def _tell_refused(client: Client, text: str, *, as_json: bool) -> int:
    blocks = await refused_spawns(client, text)
    if not blocks:
        raise NotFound(
            f"no listing is known by {plain(text)!r}: give its address or id, or words of its title and company"
        )
    if as_json:
        emit({"listing": None, "blocks": [block_of(block) for block in blocks]})
        return 0
    click.echo("no task was ever created for it:")
    for block in blocks:
        click.echo(f"  {_block_line(block)}")
        click.echo(f"  in lineage {plain(block.tracking_id)}; `ramet blocks {plain(block.tracking_id)}` shows all")
    return 0


def block_of(block: Block) -> dict[str, Any]:
    """Return a block, for programs."""
    return {
        "kind": block.kind, "key": block.key, "reason": block.reason, "detail": block.detail, "count": block.count,
        "winner": block.winner, "tracking_id": block.tracking_id,
    }  # fmt: skip


def _tell_which(found: list[Any], *, as_json: bool) -> None:
    if as_json:
        emit({"which": [one.as_json() for one in found]})
        return
    click.echo("several are meant; give the id of one:")
    out = console()
    for one in found:
        out.print(Text.assemble(terminal.listing_line(one), "  ", terminal.styled(one.status)), soft_wrap=True)
        out.print(Text(f"  {plain(one.listing_id)}", style="dim"), soft_wrap=True)


# --- the screen -----------------------------------------------------------------------------------------------------


def screen(stored: Why, now: float) -> Iterator[RenderableType]:
    """Yield the output of `why` for one listing, from the verdict to the facts."""
    one = stored.listing
    yield Text.assemble(terminal.listing_line(one), "  ", terminal.styled(one.status))
    yield Text(plain(one.url), style="dim")
    yield Text(" · ".join(_times(stored, now)), style="dim")
    yield Text()
    yield Text(verdict(stored), style="bold")
    if one.filter_result is not None:
        yield from _filter(one.filter_result)
    if stored.match is not None:
        yield from _score(one.score or {}, stored.match.adjustments, stored.match.match_score)
    elif one.score is not None:
        yield from _score(one.score, one.score.get("adjustments", []), one.score.get("final"))
    yield Text()
    facts = columns(header=None)
    facts.add_column(no_wrap=True, style="dim")
    facts.add_column(overflow="fold")
    for name, value in _facts(stored, now):
        facts.add_row(name, Text(value))
    yield facts


def _times(stored: Why, now: float) -> Iterator[str]:
    one = stored.listing
    yield f"posted {terminal.ago(one.posted_at, now)}" if one.posted_at is not None else "no date"
    yield f"first seen {terminal.ago(one.first_seen_at, now)}, last {terminal.ago(one.last_seen_at, now)}"
    if one.closed_at is not None:
        yield f"closed {terminal.ago(one.closed_at, now)}"
    if one.quality:
        yield f"record {plain(one.quality)}"


def verdict(stored: Why) -> str:
    """Return the stage at which a listing ended, and why, in a sentence."""
    one = stored.listing
    if one.status == "analyzing":
        if stored.task is None:
            return "It has not ended yet: its task is gone"
        causes = [cause.said(terminal.clock_time) for cause in stored.task.why[:1]]
        return f"It has not ended yet: {plain(causes[0] if causes else stored.task.headline)}"
    if stored.match is not None:
        match = stored.match
        threshold = (one.score or {}).get("threshold")
        needed = f", where {threshold:g} are needed" if isinstance(threshold, int | float) else ""
        today = "" if stored.today in (None, match.match_score) else f"; by its age of today {stored.today:g}"
        return (
            f"It is a match: {match.match_score:g} points{needed}; {plain(match.application_priority)} priority{today}."
        )
    reason = plain(one.reason or "no reason was stored")
    if one.same_as:
        return f"It is a duplicate: {reason.removeprefix('duplicate: ')}."
    return f"It ended {STAGES.get(one.status, 'somewhere')}: {reason}."


def _filter(result: Mapping[str, Any]) -> Iterator[RenderableType]:
    hard, strikes = (_dicts(result.get(name)) for name in ("hard_rejections", "strikes"))
    if not hard and not strikes:
        yield Text("\nfilter: nothing against it", style="dim")
        return
    total, threshold = result.get("total_strikes", 0), result.get("strike_threshold", 0)
    if hard:
        head = "a hard rejection, which ends it at once"
    else:
        head = f"{total:g} of {threshold:g} strikes" + (", too many" if total >= threshold else "")
    yield Text(f"\nfilter: {head}")
    table = columns(header=None)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for mark, found in [("hard", one) for one in hard] + [("", one) for one in strikes]:
        table.add_row(mark or terminal.points(_number(found.get("points"))), _name(found), Text(_said(found)))
    yield table


def _name(found: Mapping[str, Any]) -> str:
    return plain(found.get("filter_name") or found.get("filter_category") or found.get("category") or "")


def _said(found: Mapping[str, Any]) -> str:
    reason, detail = plain(found.get("reason") or ""), plain(found.get("detail") or "")
    text = reason if not detail or detail == reason else f"{reason}: {detail}" if reason else detail
    return text if len(text) <= DETAIL_MAX else text[: DETAIL_MAX - 1] + "…"


def _score(score: Mapping[str, Any], adjustments: Any, final: Any) -> Iterator[RenderableType]:
    threshold = score.get("threshold")
    needed = f" of {threshold:g} needed" if isinstance(threshold, int | float) else ""
    where = " (the preferred office is found)" if score.get("preferred_office") else ""
    yield Text(f"\nscore: {_number(final):g}{needed}{where}")
    table = columns(header=None)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    if "base" in score:
        table.add_row(f"{_number(score['base']):g}", "base", "")
    for found in _dicts(adjustments):
        table.add_row(terminal.points(_number(found.get("points"))), _name(found), Text(_said(found)))
    yield table


def _facts(stored: Why, now: float) -> Iterator[tuple[str, str]]:
    one = stored.listing
    yield "read as", _reading(stored)
    skills = {
        "matched": stored.match.matched_skills if stored.match else (one.score or {}).get("matched_skills"),
        "missing": stored.match.missing_skills if stored.match else (one.score or {}).get("missing_skills"),
    }
    for word, names in skills.items():
        if isinstance(names, list) and names:
            yield f"skills {word}", _some([plain(name) for name in names])
    if stored.twin is not None or one.same_as:
        yield (
            "duplicate of",
            f"{plain(stored.twin.title or '') if stored.twin else 'a listing that is gone'}  {plain(one.same_as)}",
        )
    if stored.opening is not None:
        if stored.opening.match.listing_id != one.listing_id:
            yield "shown as", plain(stored.opening.match.url)
        for sibling in stored.opening.others:
            if sibling.listing_id != one.listing_id:
                yield "same opening", plain(f"{sibling.location or 'no place'}  {sibling.url}")
    for other in stored.near:
        yield "nearly same text", f"{terminal.listing_line(other).plain}  {plain(other.listing_id)}"
    if stored.near_count > len(stored.near):
        yield "nearly same text", f"and {stored.near_count - len(stored.near):,} more"
    if stored.source is not None:
        yield "source", _source(stored, now)
    if stored.company is not None:
        tier = f", tier {stored.company.tier}" if stored.company.tier else ""
        yield "company", f"{plain(stored.company.name)}{tier}, {plain(stored.company.status)}"
    for mark in stored.history:
        remark = f": {mark.note}" if mark.note else ""
        yield "marked", plain(f"{mark.status}, {terminal.ago(mark.marked_at, now)}{remark}")
    if note := (one.score or {}).get("company_note"):
        yield "without company", plain(note)
    for former in stored.verdicts:
        yield "before", _former(former, now)
    for block in stored.blocks:
        yield "not created", _block_line(block)
    if stored.task is not None and one.status in ("analyzing", "unknown"):
        for attempt in stored.task.history.attempts[-2:]:
            yield "attempt", plain(f"{attempt.outcome}: {attempt.error or attempt.reason or '-'}")
    yield "id", plain(one.listing_id)
    yield "more", f"ramet explain {plain(one.task_id)}"


def _former(former: FormerVerdict, now: float) -> str:
    points = f" with {former.match_score:g}" if former.match_score is not None else ""
    why = f": {former.reason}" if former.reason else ""
    as_then = f' as "{former.title}"' if former.title else ""
    until = f"until {terminal.ago(former.replaced_at, now)}, then {former.cause}"
    return plain(f"{former.status}{points}{as_then}{why}; {until}")


def _reading(stored: Why) -> str:
    one, facts = stored.listing, stored.listing.facts
    parts = [
        f"{facts['seniority']}" if facts.get("seniority") not in (None, "unknown") else "level not said",
        _arrangement(facts),
        terminal.salary(one.salary_min, one.salary_max, one.salary_currency) or "no salary",
    ]
    years = [str(facts[name]) for name in ("years_min", "years_max") if facts.get(name) is not None]
    parts += [f"{' to '.join(dict.fromkeys(years))} years"] if years else []
    technologies = facts.get("technologies")
    if isinstance(technologies, list) and technologies:
        parts.append(_some([str(name) for name in technologies]))
    made_by = sorted({str(how) for how in one.methods.values()} - {"rules"})
    return plain(" · ".join(parts) + (f" · with {', '.join(made_by)}" if made_by else ""))


def _arrangement(facts: Mapping[str, Any]) -> str:
    found, rule = facts.get("arrangement"), facts.get("arrangement_rule")
    if found in (None, "unknown"):
        return "remote or not is not said"
    return f"{found} ({rule})" if rule else str(found)


def _source(stored: Why, now: float) -> str:
    source = stored.source
    assert source is not None
    off = {source.source_id: stored.source_off} if stored.source_off else {}
    run = f", last run {plain(source.last_status or '-')} {terminal.ago(source.last_scraped_at, now)}"
    why_off = f" ({plain(stored.source_off)})" if stored.source_off else ""
    return (
        f"{plain(source.source_id)}, {terminal.status_of(source, off)}{why_off}{run if source.last_scraped_at else ''}"
    )


def _block_line(block: Block) -> str:
    winner = f", in its way task {block.winner}" if block.winner else ""
    return plain(
        f"{block.kind} {display_key(block.key)}: {block.reason} ({block.detail}), "
        f"{counted(block.count, 'time')}{winner}"
    )


def _some(names: list[str]) -> str:
    more = len(names) - SKILLS_SHOWN
    return ", ".join(names[:SKILLS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
