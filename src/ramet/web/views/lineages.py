"""Lineages: what they used of their limits, what was refused in them, what people did to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Query

from ramet import BlockPage, Client, Lineage, WaitReason
from ramet.model.lineage.guard import REOFFERABLE, BlockReason
from ramet.model.lineage.limits import PAUSE_SECONDS_MAX
from ramet.model.lineage.lineage import OPEN, LineageState, OutcomeKind
from ramet.model.timeline import TIMELINE_FILTERS, SpanKind, TimelineRow
from ramet.model.views import LINEAGE_ORDERS
from ramet.web.answer import Answer, AsObject, stored_lineage
from ramet.web.page import BadInput, ClientDep, Cursor, Id, Limit, OptionalText, Page, Text, Visit
from ramet.web.views import tasks

REOFFERED = tuple(reason.value for reason in BlockReason if reason in REOFFERABLE)
"""Reasons for which a refused spawn can be offered again."""


class OutcomeAnswer(Answer):
    """Outcome of a lineage, so far or at its end."""

    clean: bool
    """Nothing failed, and nothing was left out."""
    failures: int
    """Tasks that are failed."""
    left_out: dict[str, int]
    """Tasks that do not exist although they were wanted, by reason: refused spawns and cancelled tasks."""
    words: str


class LineageAnswer(Answer):
    """A lineage and what it used of its limits. Money is whole nano-dollars."""

    tracking_id: str
    state: str
    outcome: OutcomeAnswer
    reason: str | None
    queue: str
    created_at: float
    deadline_at: float
    ended_at: float | None
    left_seconds: float | None
    """Seconds until its deadline, net of pauses; null when it ended."""
    seconds: float
    """Seconds from its beginning to its deadline, as it would be if a pause ended now."""
    tasks: int
    max_tasks: int
    live: int
    ended: dict[str, int]
    """Tasks by terminal state."""
    depth: int | None
    """The largest spawn depth of its tasks; null while it has none."""
    max_spawn_depth: int
    max_fan_out: int
    spent: int
    reserved: int
    max_cost: int | None
    soft_cost: int | None
    under_reserved: int
    """Spent beyond what had been reserved."""
    blocks: int
    """Stored refusals."""
    paused_at: float | None
    paused_by: str | None
    paused_reason: str | None


class LineageList(Answer):
    """Lineages in an order."""

    lineages: list[LineageAnswer]
    next_before: str | None
    """Given as ``before`` it continues behind this page; null at the end."""


BlockList = Annotated[BlockPage, AsObject("BlockList")]
WaitReasonAnswer = Annotated[WaitReason, AsObject(types={"outcome": str})]


class KindStateCountAnswer(Answer):
    """Tasks of one kind in one state."""

    kind: str
    state: str
    wait: str | None
    number: int
    more: bool
    """Whether `number` is only the least."""
    mean_depth: float | None


class LineageDetail(LineageAnswer):
    """A lineage with its tasks by kind and state, and its refusals by reason."""

    kinds: list[KindStateCountAnswer]
    delays: list[WaitReasonAnswer]
    """Tasks that were put off, the most frequent reasons first."""
    refused: dict[str, int]
    """Refused spawns by reason."""


async def lineage_answers(client: Client, rows: Sequence[Lineage]) -> list[LineageAnswer]:
    """Return lineages with their use of limits."""
    depths = await client.deepest([row.tracking_id for row in rows])
    now, paused = client.clock.now(), await _paused_queues(client)
    return [_lineage_answer(row, now, paused, depths.get(row.tracking_id)) for row in rows]


def _lineage_answer(row: Lineage, now: float, paused_queues: Mapping[str, float], depth: int | None) -> LineageAnswer:
    """Return the answer for a row, for pages and machines.

    Args:
        paused_queues: since when a queue is paused: the clocks of its lineages have stopped since then.
        depth: the largest spawn depth of its tasks.
    """
    # While a clock is stopped, the deadline includes the whole of the longest pause.
    pauses = [at for at in (row.paused_at, paused_queues.get(row.queue)) if at is not None]
    deadline_at = row.deadline_at - sum(PAUSE_SECONDS_MAX - max(0.0, now - at) for at in pauses)
    names = set(LineageAnswer.model_fields) - {"left_seconds", "seconds", "ended", "tasks", "depth", "outcome"}
    outcome = row.outcome
    return LineageAnswer(
        outcome=OutcomeAnswer(
            clean=outcome.clean, failures=outcome.failures, left_out=dict(outcome.left_out), words=str(outcome)
        ),
        **{name: getattr(row, name) for name in names},
        tasks=row.created,
        depth=depth,
        left_seconds=deadline_at - now if row.state in OPEN else None,
        seconds=deadline_at - row.created_at,
        ended={
            "success": row.success,
            "filtered": row.filtered,
            "skipped": row.skipped,
            "failed": row.failed,
            "cancelled": row.cancelled,
        },
    )


async def _paused_queues(client: Client) -> dict[str, float]:
    """Return the paused queues, with the moment of the pause."""
    return {queue.name: queue.paused_at for queue in await client.queues() if queue.paused_at is not None}


async def load_lineages(
    client: Client,
    *,
    states: Collection[str] = (),
    limit: int = 50,
    before: str | None = None,
    order: str = "newest",
    prefix: str | None = None,
    outcome: str | None = None,
    tag: str | None = None,
) -> LineageList:
    """Return a page of lineages in an order, or by name those with a prefix of the tracking id or with a tag.

    Raises:
        BadInput: ``before`` is not of an earlier page.
    """
    try:
        page = await client.lineage_page(
            states=states, limit=limit, before=before, order=order, prefix=prefix, outcome=outcome, tag=tag
        )
    except ValueError as wrong:
        raise BadInput(str(wrong)) from wrong
    return LineageList(lineages=await lineage_answers(client, page.lineages), next_before=page.next_before)


async def load_lineage(client: Client, tracking_id: str) -> LineageAnswer:
    """Return one lineage.

    Raises:
        NotFound: there is no such lineage.
    """
    return (await lineage_answers(client, [await stored_lineage(client, tracking_id)]))[0]


async def load_detail(client: Client, tracking_id: str) -> LineageDetail:
    """Return one lineage with its tasks by kind and state, and its refusals by reason."""
    one = await load_lineage(client, tracking_id)
    kinds = [
        KindStateCountAnswer(kind=item.kind, state=item.state, wait=item.wait, number=item.tasks.number,
                        more=item.tasks.more, mean_depth=item.mean_depth)
        for item in await client.lineage_counts(tracking_id)
    ]  # fmt: skip
    # One that was never tried waits for the time that it was submitted for.
    put_off = [delay for delay in await client.delays(tracking_id) if delay.outcome is not None]
    return LineageDetail(
        **one.model_dump(), kinds=kinds, delays=put_off, refused=await load_refused(client, tracking_id)
    )


async def load_refused(client: Client, tracking_id: str) -> dict[str, int]:
    """Count the refused spawns of a lineage by reason, the most frequent first."""
    totals: dict[str, int] = {}
    for (_, reason), times in (await client.block_totals(tracking_id)).items():
        totals[reason] = totals.get(reason, 0) + times
    return dict(sorted(totals.items(), key=lambda item: (-item[1], item[0])))


async def load_blocks(
    client: Client, tracking_id: str, limit: int = 50, *, after: str | None = None, **filters: str | None
) -> BlockPage:
    """Return a page of the refused spawns of a lineage, filtered by ``kind``, ``key`` or ``reason`` where given.

    Raises:
        NotFound: there is no such lineage.
        BadInput: ``after`` is not of an earlier page.
    """
    await stored_lineage(client, tracking_id)
    try:
        return await client.block_page(tracking_id, limit=limit, after=after, **filters)
    except ValueError as wrong:
        raise BadInput(str(wrong)) from wrong


STATES = tuple(state.value for state in LineageState)
OUTCOMES = tuple(kind.value for kind in OutcomeKind)


router = APIRouter(tags=["lineages"])


@router.get("/lineages")
async def list_lineages(
    client: ClientDep,
    *,
    state: Annotated[list[LineageState], Query(max_length=5)] = [],  # noqa: B006  # FastAPI copies it
    limit: Limit = 50,
    before: Cursor = None,
    order: Literal["newest", "fullest", "deadline"] = "newest",
    prefix: OptionalText = None,
    outcome: OutcomeKind | None = None,
    tag: OptionalText = None,
) -> LineageList:
    """List lineages: the newest, those that used most of their limits, those whose time ends first; or those whose
    tracking id begins with `prefix`, or that have a `tag`. `outcome` keeps those that are clean, have failures or are
    incomplete."""
    return await load_lineages(
        client, states=state, limit=limit, before=before, order=order, prefix=prefix, outcome=outcome, tag=tag
    )


@router.get("/lineage")
async def read_lineage(client: ClientDep, *, tracking_id: Text) -> LineageDetail:
    """Return one lineage with its tasks by kind and state and its refusals by reason."""
    return await load_detail(client, tracking_id)


@router.get("/lineages/{tracking_id:path}")
async def read_lineage_at(client: ClientDep, tracking_id: Id) -> LineageDetail:
    """Return the same as `/lineage?tracking_id=`."""
    return await load_detail(client, tracking_id)


@router.get("/blocks")
async def list_blocks(
    client: ClientDep,
    *,
    tracking_id: Text,
    kind: OptionalText = None,
    key: OptionalText = None,
    reason: OptionalText = None,
    limit: Limit = 50,
    after: Cursor = None,
) -> BlockList:
    """List spawns that the guard refused in a lineage, by kind, key and reason."""
    return await load_blocks(client, tracking_id, limit, after=after, kind=kind, key=key, reason=reason)


ACTS_MAX = 20
FAILED_MAX = 5
"""Failed tasks on the page of a lineage, the newest."""
DELAYS_MAX = 10
RAN = (SpanKind.RUNNING, SpanKind.FAILED)


CURSOR_CHARACTERS_MAX = 10_000


async def lineages_page(visit: Visit) -> dict[str, Any]:
    """Show lineages by state and the beginning of their name, in an order."""
    state, order = visit.word("state", STATES), visit.word("order", LINEAGE_ORDERS) or "newest"
    prefix, outcome, tag = visit.text("prefix"), visit.word("outcome", OUTCOMES), visit.text("tag")
    page = await load_lineages(
        visit.client,
        states=() if state is None else (state,),
        limit=visit.number("limit", 50, 1, 200),
        before=visit.text("after", CURSOR_CHARACTERS_MAX),
        order=order,
        prefix=prefix,
        outcome=outcome,
        tag=tag,
    )
    return {"found": page, "state_asked": state, "states": STATES, "here": visit.address, "order": order,
            "orders": LINEAGE_ORDERS, "prefix": prefix, "outcome_asked": outcome, "tag": tag,
            "outcomes": OUTCOMES}  # fmt: skip


async def lineage_page(visit: Visit) -> dict[str, Any]:
    """Show one lineage: use of its limits, tasks, refused spawns, acts of operators."""
    tracking_id = visit.id("tracking_id")
    found = await load_detail(visit.client, tracking_id)
    only = visit.word("only", TIMELINE_FILTERS)
    failed = await visit.client.tasks(tracking_id=tracking_id, states=["failed"], newest=True, limit=FAILED_MAX)
    filtered = None if only is None else await visit.client.timeline(tracking_id, only=only)
    return {
        "one": found,
        "only": only,
        "failed": failed.tasks,
        "filtered": filtered,
        "longest": longest_run(filtered.rows) if filtered is not None and only == "slow" else None,
        "level": await tasks.load_level(visit.client, tracking_id=tracking_id),
        "delays": found.delays[:DELAYS_MAX],
        "acts": await visit.client.acts(tracking_id, limit=ACTS_MAX),
        "alerts": await visit.client.alerts(firing=False, tracking_id=tracking_id, limit=ACTS_MAX),
        "reofferable": any(reason in REOFFERED for reason in found.refused),
        "here": visit.address,
    }


class LongestRun(NamedTuple):
    """The task of a timeline that ran longest, over all its attempts."""

    path: tuple[TimelineRow, ...]
    """The task, then its ancestors up to the root."""
    seconds: float


def longest_run(rows: Sequence[TimelineRow]) -> LongestRun | None:
    """Find the task that ran longest; None where no task has run."""
    ran = {row.id: sum(one.end - one.begin for one in row.spans if one.what in RAN) for row in rows}
    by_id = {row.id: row for row in rows}
    at = max(rows, key=lambda row: ran[row.id], default=None)
    if at is None or not ran[at.id]:
        return None
    path = [at]
    while (above := by_id.get(path[-1].parent_id or "")) is not None:
        path.append(above)
    return LongestRun(tuple(path), ran[at.id])


async def spend_page(visit: Visit) -> dict[str, Any]:
    """Show the money of a lineage, by kind and task."""
    tracking_id = (await stored_lineage(visit.client, visit.id("tracking_id"))).tracking_id
    return {"tracking_id": tracking_id, "found": await visit.client.costs(tracking_id, limit=20)}


async def blocks_page(visit: Visit) -> dict[str, Any]:
    """Show refused spawns of a lineage."""
    tracking_id = visit.id("tracking_id")
    asked = {name: visit.text(name) for name in ("kind", "key", "reason")}
    limit, after = visit.number("limit", 50, 1, 200), visit.text("after", CURSOR_CHARACTERS_MAX)
    found = await load_blocks(visit.client, tracking_id, limit, after=after, **asked)
    totals = await load_refused(visit.client, tracking_id)
    offered = [reason for reason in REOFFERED if reason in totals]
    return {"tracking_id": tracking_id, "found": found, "asked": asked, "totals": totals, "offered": offered,
            "here": visit.address, "limit": limit}  # fmt: skip


PAGES = (
    Page("/lineages", "lineages", "lineages.html", lineages_page),
    Page("/lineages/{tracking_id:path}", "lineage", "lineage.html", lineage_page),
    Page("/blocks", "blocks", "blocks.html", blocks_page, live=False),
    Page("/spend", "spend", "spend.html", spend_page, live=False),
    Page("/parts/spend", "spend-part", "parts/spend.html", spend_page, live=False),
)
