"""What holds a run up: stale claims, machines that lack something, hosts that pause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ramet import Client
from ramet.wiki.runs import STAGES

STALE_MAX = 100


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
    """The stale claims of a run, longest overdue first, at most `STALE_MAX`."""
    found = [
        task
        for task in (await client.in_hand()).tasks
        if task.lease_until < now and task.tracking_id in tracking_ids and task.kind in STAGES
    ][:STALE_MAX]
    depths = await _depths(client, run_id, sorted({task.key for task in found}))
    return [
        StaleClaim(
            task.key, task.claimed_at, task.lease_until, task.kind.rpartition(".")[2], task.worker or "",
            depths.get(task.key),
        )
        for task in found
    ]  # fmt: skip


async def _depths(client: Client, run_id: str, titles: Sequence[str]) -> dict[str, int]:
    if not titles:
        return {}
    listed = ", ".join("?" for _ in titles)
    select = f"SELECT title_key, expansion_depth FROM wiki_articles WHERE run_id = ? AND title_key IN ({listed})"  # noqa: S608 -- only placeholders
    return dict(await client.read(select, (run_id, *titles)))


async def waiting_for(client: Client, tracking_ids: Sequence[str]) -> dict[str, int]:
    """Why titles were put off, and how many: a file, model or graph that is not there, or a host's word."""
    found: dict[str, int] = {}
    for tracking_id in tracking_ids:
        for one in await client.delays(tracking_id):
            if one.kind in STAGES and one.outcome == "snooze" and one.reason is not None:
                found[one.reason] = found.get(one.reason, 0) + one.tasks.number
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
