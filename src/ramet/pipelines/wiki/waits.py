"""What holds a run up, from the engine's own rows: stale claims, machines that lack something, hosts that pause.

The statements read tables of the engine, which it may change; nothing but a status depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ramet import Client
from ramet.pipelines.wiki.runs import STAGES

STALE_MAX = 100

_MEMBERS = ", ".join("?" for _ in STAGES)

_STALE = f"""
    SELECT task.key, live.claimed_at, live.lease_until, live.kind, live.worker, article.expansion_depth
    FROM ramet_live AS live JOIN ramet_tasks AS task ON task.seq = live.seq
    LEFT JOIN wiki_articles AS article ON article.run_id = ? AND article.title_key = task.key
    WHERE live.tracking_id = ? AND live.state = 'processing' AND live.lease_until < ? AND live.kind IN ({_MEMBERS})
    ORDER BY live.lease_until, live.seq LIMIT ?"""  # noqa: S608 -- only placeholders
_WAITING = f"""
    SELECT attempt.reason, COUNT(*) FROM ramet_live AS live
    JOIN ramet_attempts AS attempt ON attempt.seq = live.seq AND attempt.fence = live.fence
    WHERE live.tracking_id = ? AND live.state = 'pending' AND live.wait = 'due' AND live.kind IN ({_MEMBERS})
        AND attempt.outcome = 'snooze' AND attempt.reason IS NOT NULL
    GROUP BY attempt.reason"""  # noqa: S608 -- only placeholders


class StaleClaim(NamedTuple):
    """A title whose worker has not been heard of for longer than its lease; the next sweep takes it back."""

    title: str
    claimed_at: float
    lease_until: float
    stage: str
    worker: str
    expansion_depth: int | None


class PausedHost(NamedTuple):
    """A host that is not asked before a moment, and why."""

    name: str
    until: float
    reason: str


async def stale_claims(client: Client, run_id: str, tracking_ids: Sequence[str], now: float) -> list[StaleClaim]:
    """The stale claims of a run, longest overdue first, at most `STALE_MAX` of each pass."""
    found: list[StaleClaim] = []
    for tracking_id in tracking_ids:
        rows = await client.read(_STALE, (run_id, tracking_id, now, *STAGES, STALE_MAX))
        found += [StaleClaim(key, claimed, until, kind.rpartition(".")[2], worker or "", depth)
                  for key, claimed, until, kind, worker, depth in rows]  # fmt: skip
    return found


async def waiting_for(client: Client, tracking_ids: Sequence[str]) -> dict[str, int]:
    """Why titles were put off, and how many: a file, model or graph that is not there, or a host's word."""
    found: dict[str, int] = {}
    for tracking_id in tracking_ids:
        rows: list[tuple[Any, ...]] = await client.read(_WAITING, (tracking_id, *STAGES))
        for reason, count in rows:
            found[reason] = found.get(reason, 0) + count
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


async def paused_hosts(client: Client, now: float) -> list[PausedHost]:
    """Hosts that no worker asks just now."""
    found = []
    for one in await client.resources():
        if one.paused_until > now:
            found.append(PausedHost(one.name, one.paused_until, one.paused_reason or ""))
        elif one.opened_at is not None and (one.ready_at or 0.0) > now:
            found.append(PausedHost(one.name, one.ready_at or 0.0, one.opened_reason or ""))
    return found
