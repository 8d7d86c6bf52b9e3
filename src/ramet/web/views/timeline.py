"""The timeline of a lineage: its tasks as bars over one axis of time, drawn by the server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter

from ramet import Client, SpanKind, Timeline, TimelineRow, TreeGroup
from ramet.model.timeline import SLOW_LOOKS_MAX, SLOWEST, TIMELINE_FILTERS
from ramet.web.answer import AsObject, stored_lineage
from ramet.web.page import After, ClientDep, NotFound, OptionalText, Page, Text, Visit
from ramet.web.views.lineages import load_lineage
from ramet.web.views.task_time import Axis, Bar, totals
from ramet.web.views.tasks import NUMBER_MAX

INDENTS = 6
"""Most levels of indent; deeper tasks are not indented further."""


class Line(NamedTuple):
    """A part of the line from a task that ended to one that waited for it; it spans the height of its row or half."""

    x1: float
    x2: float
    y1: int
    y2: int


class Drawn(NamedTuple):
    """A row of the timeline."""

    task: TimelineRow
    indent: int
    bars: tuple[Bar, ...]
    lines: tuple[Line, ...]
    words: str
    """The bars in words."""
    seconds: float
    """Seconds from its creation to its end, or until now."""
    failed: bool
    """It failed, or something below it did."""


def axis_of(rows: Sequence[TimelineRow], now: float) -> Axis:
    """Return the axis from the first creation to the last end, or until now."""
    begin = min((row.created_at for row in rows), default=now)
    ends = [row.spans[-1].end if row.spans else row.created_at for row in rows]
    return Axis(begin, max(ends, default=now))


def drawn(found: Timeline, now: float) -> tuple[Axis, list[Drawn]]:
    """Return the rows of a timeline as drawn, the task that was asked for first."""
    rows = [*([] if found.top is None else [found.top]), *found.rows]
    axis, base = axis_of(rows, now), min((row.depth for row in rows), default=0)
    lines = _lines(found, rows, axis)
    return axis, [
        Drawn(
            task=row,
            indent=min(row.depth - base, INDENTS),
            bars=tuple(map(axis.bar, row.spans)),
            lines=tuple(lines[at]),
            words=", ".join(totals(row.spans).values()) or "no time yet",
            seconds=(row.spans[-1].end if row.spans else row.created_at) - row.created_at,
            failed=row.state == "failed" or row.failed_below.number > 0,
        )
        for at, row in enumerate(rows)
    ]


def _lines(found: Timeline, rows: Sequence[TimelineRow], axis: Axis) -> Mapping[int, list[Line]]:
    """Return lines from each task that was waited for to the moment at which the waiting one went on, row by row."""
    places = {row.id: at for at, row in enumerate(rows)}
    lines: defaultdict[int, list[Line]] = defaultdict(list)
    for link in found.links:
        first, last = places[link.waiting], places[link.awaited]
        awaited = rows[last]
        if awaited.finished_at is None:
            continue
        ended = awaited.finished_at
        on = next((s.end for s in rows[first].spans if s.what == SpanKind.JOINED and s.begin <= ended <= s.end), None)
        if on is None or first == last:
            continue
        x, down = axis.place(on), 1 if last > first else -1
        lines[last] += [Line(axis.place(ended), x, 50, 50), Line(x, x, *((0, 50) if down > 0 else (50, 100)))]
        lines[first].append(Line(x, x, *((50, 100) if down > 0 else (0, 50))))
        for between in range(first + down, last, down):
            lines[between].append(Line(x, x, 0, 100))
    return {at: list(dict.fromkeys(some)) for at, some in lines.items()} | {
        at: [] for at in range(len(rows)) if at not in lines
    }


TimelineAnswer = Annotated[Timeline, AsObject()]
router = APIRouter(tags=["lineages"])


async def load_timeline(
    client: Client, tracking_id: str, *, parent_id: str | None, only: str | None, after: int
) -> tuple[Timeline, tuple[str, ...]]:
    """Return a part of a lineage's timeline, and the ids of the tasks above it, from the root on.

    Raises:
        NotFound: there is no such lineage, or no such task in it.
    """
    await stored_lineage(client, tracking_id)
    above: tuple[str, ...] = ()
    if parent_id is not None:
        top = await client.get(parent_id)
        if top is None or top.tracking_id != tracking_id:
            raise NotFound(f"no task {parent_id} in lineage {tracking_id}: see the top of its timeline")
        above = top.ancestry_chain
    return await client.timeline(tracking_id, parent_id=parent_id, only=only, after=after), above


@router.get("/timeline")
async def read_timeline(
    client: ClientDep,
    *,
    tracking_id: Text,
    parent_id: OptionalText = None,
    only: Literal["failed", "slow"] | None = None,
    after: After = 0,
) -> TimelineAnswer:
    """Return the spans of the first tasks of a lineage, or below one task, and their joins: at most 100."""
    return (await load_timeline(client, tracking_id, parent_id=parent_id, only=only, after=after))[0]


async def timeline_page(visit: Visit) -> dict[str, Any]:
    """Show the roots of a lineage, or the tasks below one of its tasks, over time."""
    tracking_id, parent_id = visit.id("tracking_id"), visit.text("parent_id")
    line = await load_lineage(visit.client, tracking_id)
    only, after = visit.word("only", TIMELINE_FILTERS), visit.number("after", 0, 0, NUMBER_MAX)
    found, above = await load_timeline(visit.client, tracking_id, parent_id=parent_id, only=only, after=after)
    groups: tuple[TreeGroup, ...] = ()
    if found.next_after is not None:
        of: dict[str, str] = {"tracking_id": tracking_id} if parent_id is None else {"parent_id": parent_id}
        groups = await visit.client.branches(**of)
    axis, rows = drawn(found, visit.now)
    return {
        "one": line, "found": found, "rows": rows, "axis": axis, "above": above, "groups": groups, "only": only,
        "parent_id": parent_id, "after": after, "slowest": SLOWEST, "looked_at": SLOW_LOOKS_MAX,
        "seconds": axis.end - axis.begin,
    }  # fmt: skip


PAGES = (Page("/lineages/{tracking_id:path}/timeline", "timeline", "timeline.html", timeline_page),)
