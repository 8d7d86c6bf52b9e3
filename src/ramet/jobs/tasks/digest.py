"""The digest of new matches, through the channels of the engine's alerts: each match once, whatever crashes.

A digest is stored together with the marks of its matches, in one transaction, and then handed to the channels under a
key of its own. A task that ends in between leaves it to the next attempt, or to the next run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ramet import Context, Statement
from ramet.commands.terminal import counted, plain
from ramet.jobs.match_status import TOLD, MatchStatus, ScoredMatch, matches
from ramet.jobs.records import json_of

LISTED_MAX = 20
"""Most matches that a digest lists, the best; of the others it has the number."""
BYTES_MAX = 32_768
"""Most bytes of a digest as JSON: where titles are long, fewer are listed."""
TEXT_CHARACTERS_MAX = 160
URL_CHARACTERS_MAX = 500

ADD_DIGEST = "INSERT INTO jobs_digests (digest_id, message, made_at) VALUES (?, ?, ?)"
ADD_TOLD = f"""
    INSERT INTO jobs_match_marks (listing_id, mark_id, status, note, marked_by, marked_at)
    SELECT l.listing_id, ?, '{TOLD}', NULL, NULL, ? FROM jobs_listings l
    WHERE l.listing_id = ? AND NOT EXISTS (
        SELECT 1 FROM jobs_match_marks k WHERE k.listing_id = l.listing_id AND k.status = '{TOLD}')"""  # noqa: S608
DIGEST = "SELECT 1 FROM jobs_digests WHERE digest_id = ?"
UNSENT = "SELECT digest_id, message FROM jobs_digests WHERE sent_at IS NULL ORDER BY made_at, digest_id"
SENT = "UPDATE jobs_digests SET sent_at = ? WHERE digest_id = ?"


async def tell_new_matches(ctx: Context) -> int:
    """Send a digest of matches that no person has seen and that were in no digest; return their number.

    Raises:
        TransactionRefused: one of them just went into another task's digest; the next attempt finds the others.
    """
    found: list[ScoredMatch] = []
    if not await ctx.read(DIGEST, (ctx.id,)):
        found = [one for one in await matches(ctx.client, now=ctx.now, statuses=[MatchStatus.NEW]) if not one.was_told]
    if found:
        told = [Statement(ADD_TOLD, (ctx.id, ctx.now, one.match.listing_id), expect_rows=1) for one in found]
        await ctx.transaction([Statement(ADD_DIGEST, (ctx.id, json_of(message_of(found)), ctx.now)), *told])
    for digest_id, stored in await ctx.read(UNSENT):
        message = json.loads(stored)
        await ctx.client.notify(
            message["text"],
            key=f"jobs digest {digest_id}",
            lines=message["lines"],
            data={"matches": message["matches"]},
        )
        await ctx.transaction([Statement(SENT, (ctx.now, digest_id))])
    return len(found)


def message_of(found: Sequence[ScoredMatch]) -> dict[str, Any]:
    """Return the digest of these matches: a line, further lines, and the same for programs."""
    listed = min(len(found), LISTED_MAX)
    made = _message(found, listed)
    while listed > 1 and len(json.dumps(made)) > BYTES_MAX:
        listed -= 1
        made = _message(found, listed)
    return made


def _message(found: Sequence[ScoredMatch], listed: int) -> dict[str, Any]:
    best = found[0]
    lines: list[str] = []
    for one in found[:listed]:
        lines += [f"{one.score:g} {one.priority}: {_title(one)}", _address(one)]
    if len(found) > listed:
        lines.append(f"and {len(found) - listed:,} more: ramet jobs matches --new")
    return {
        "text": f"{counted(len(found), 'new match', 'new matches')}, the best with {best.score:g}: {_title(best)}",
        "lines": lines,
        "matches": [
            {"id": one.short_id, "score": one.score, "priority": one.priority, "title": _cut(one.match.title),
             "company": _cut(one.match.company), "location": _cut("; ".join(one.places)), "url": _address(one)}
            for one in found[:listed]
        ],
    }  # fmt: skip


def _title(one: ScoredMatch) -> str:
    match = one.match
    return " · ".join(part for part in (_cut(match.title), _cut(match.company), _cut("; ".join(one.places))) if part)


def _cut(text: str | None) -> str:
    """Return others' text as one line of bounded length, without markup of a chat: no link hides another."""
    told = plain(text or "").replace("](", "] (")
    return told if len(told) <= TEXT_CHARACTERS_MAX else told[: TEXT_CHARACTERS_MAX - 1] + "…"


def _address(one: ScoredMatch) -> str:
    url = plain(one.match.url)
    is_web = url.startswith(("https://", "http://")) and " " not in url
    return url if is_web and len(url) <= URL_CHARACTERS_MAX else f"ramet jobs why {one.short_id}"
