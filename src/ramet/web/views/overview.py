"""Overview: what is wrong, what runs and waits, and what ended in an hour, a day or a week; from tallies only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter

from ramet import BoundedCount, Client, LiveCounts, Queue, UnservedKind
from ramet.model.lineage.lineage import OPEN
from ramet.model.money import Ceiling
from ramet.model.tallies import BUCKETS_SECONDS, Histogram, Tallies, Tally
from ramet.model.task.task import Wait
from ramet.model.views import CLAIMABLE
from ramet.web.answer import Answer, AsObject, BoundedCountAnswer
from ramet.web.page import ClientDep, Page, Visit
from ramet.web.views.lineages import LineageAnswer, lineage_answers

MINUTE_SECONDS = 60.0
RATE_MINUTES = 5


class Window(NamedTuple):
    """A time that is looked back over."""

    words: str
    spans: int
    """Bars of its chart."""
    span_seconds: float


WindowName = Literal["1h", "24h", "7d"]
WINDOWS: dict[str, Window] = {
    "1h": Window("the last hour", 60, MINUTE_SECONDS),
    "24h": Window("the last 24 hours", 24, 3_600.0),
    "7d": Window("the last 7 days", 28, 6 * 3_600.0),
}
"""Tallies keep minutes for 3 hours and hours for 8 days."""
ALERTS_MAX = 5
FAILING_MAX = 5
REASONS_MAX = 3
"""Most reasons of one kind: the most frequent ones."""
GOOD = ("success", "filtered", "skipped")
BAD = ("failed", "cancelled")
KINDS_MAX = 100
LINEAGES_MAX = 10
WAITS = {
    "": "for a worker",
    Wait.DUE: "until they are due",
    Wait.TICKET: "until they are due, then for their place on a path",
    Wait.PATH: "for an earlier task on a path",
    Wait.RESOURCE: "for a resource",
    Wait.LINEAGE: "for a lineage that is not running",
    Wait.BOUND: "for a task that settles them",
    Wait.PAUSED: "for a paused path",
    Wait.TASKS: "for other tasks of their lineage",
}


class EndSpan(Answer):
    """Tasks that ended in one span of the window: a minute, an hour or six hours."""

    at: float
    good: int
    """Ended as success, filtered or skipped."""
    bad: int
    """Failed or cancelled."""


class KindAnswer(Answer):
    """Activity of a kind in the window."""

    kind: str
    live: int
    """Pending or processing now."""
    created: int
    ended: dict[str, int]
    """Tasks that ended, by state."""
    failed_share: float | None
    """Share of failed tasks among those that ended; null when none did."""
    reasons: dict[str, int]
    """Why tasks of the kind failed: the most frequent reasons."""
    waited_p50_seconds: float | None
    """Seconds from when an attempt was due to its claim; the upper end of the bucket in which the quantile lies."""
    waited_p95_seconds: float | None
    ran_p50_seconds: float | None
    ran_p95_seconds: float | None


UnservedAnswer = Annotated[UnservedKind, AsObject(without={"more"})]
PausedAnswer = Annotated[
    Queue,
    AsObject(
        "PausedAnswer",
        without={"concurrency", "explicit", "blocked_at", "blocked_by", "blocked_reason", "on_drained", "drained_at"},
        types={"paused_at": float},
    ),
]


class BreakerAnswer(Answer):
    """A resource whose breaker is open."""

    name: str
    opened_at: float | None
    opened_by: str | None
    opened_reason: str | None


class OverviewAnswer(Answer):
    """Everything at a glance."""

    at: float
    window: WindowName
    ended_per_minute: float
    """Mean of the present minute and the four before it."""
    waiting: BoundedCountAnswer
    """Tasks that a worker could take now."""
    oldest_waiting_at: float | None
    oldest_waiting: str | None
    """The id of that task."""
    processing: int
    stale: int
    oldest_claimed_at: float | None
    failed_share: float | None
    """Share of failed tasks among those that ended in the window; null when none did."""
    ended: dict[str, int]
    """Tasks that ended in the window, by state."""
    waited_p50_seconds: float | None
    """Seconds from when an attempt was due to its claim, over all kinds; the upper end of its bucket."""
    waited_p95_seconds: float | None
    ran_p50_seconds: float | None
    ran_p95_seconds: float | None
    workers_alive: int
    alerts_firing: int
    breakers_open: int
    spent_today: int
    """Nano-dollars."""
    day_ceiling: int | None
    next_due_at: float | None
    spans: list[EndSpan]
    """The window, the oldest span first."""
    depths: list[int]
    """Tasks created in the window by spawn depth 0 to 10, then deeper."""
    kinds: list[KindAnswer]
    waits: dict[str, BoundedCountAnswer]
    """Pending tasks by what they wait for; empty for nothing but a worker."""
    lineages: dict[str, BoundedCountAnswer]
    """Lineages by state."""
    unserved: list[UnservedAnswer]
    paused: list[PausedAnswer]
    breakers: list[BreakerAnswer]
    failed: dict[str, int]
    """Why tasks failed in the window."""
    refused: dict[str, int]
    """Spawns that the guard refused in the window, by reason."""
    newest: list[LineageAnswer]
    """Running and paused lineages first, then the newest."""


async def load_overview(client: Client, window: WindowName = "1h") -> OverviewAnswer:
    """Look at everything once."""
    present, spent = await client.present(), await client.costs(limit=1)
    _, spans, seconds = WINDOWS[window]
    begin = (present.at // seconds - (spans - 1)) * seconds
    # A span belongs to the answer when it ends after the moment asked for.
    recent, ever = await client.tallies(begin), await client.tallies()
    unserved, queues = await client.unserved(), await client.queues()
    breakers = [one for one in await client.resources(limit=20) if one.opened_at is not None]
    return OverviewAnswer(
        window=window,
        **_now(present, spent.day),
        **_of_window(recent, ever, WINDOWS[window], begin, present.at),
        unserved=list(unserved[:50]),
        paused=[one for one in queues if one.paused_at is not None][:50],
        breakers=[BreakerAnswer.model_validate(one) for one in breakers],
        newest=await _newest(client),
    )


def _now(present: LiveCounts, day: Ceiling) -> dict[str, Any]:
    shared = set(OverviewAnswer.model_fields).intersection(present._fields)
    return {
        **{name: getattr(present, name) for name in shared},
        "waiting": present.waits.get(CLAIMABLE, BoundedCount(0)),
        "spent_today": day.spent,
        "day_ceiling": day.most,
    }


def _of_window(recent: Tallies, ever: Tallies, window: Window, begin: float, now: float) -> dict[str, Any]:
    of_kinds = _by_kind(recent)
    total = Tallies(tuple(of_kinds.values()), ()).total()
    failed = [reason for reason in recent.reasons if reason.what == "failed"]
    reasons: dict[str, Counter[str]] = {}
    for one in failed:
        reasons.setdefault(one.kind, Counter())[one.reason] += one.count
    return {
        "spans": _spans(recent, window, begin),
        "ended_per_minute": _ended_per_minute(recent, now),
        "failed_share": failed_share(total),
        "ended": dict(total.ended),
        "depths": list(total.depths),
        "kinds": _kinds(of_kinds, ever, reasons),
        "failed": dict(_most(sum(reasons.values(), Counter()), 20)),
        "refused": dict(_most(recent.refused())),
        **_quantiles(total),
    }


def _spans(recent: Tallies, window: Window, begin: float) -> list[EndSpan]:
    at = [begin + number * window.span_seconds for number in range(window.spans)]
    good, bad = dict.fromkeys(at, 0), dict.fromkeys(at, 0)
    for row in recent.rows:
        span = row.at // window.span_seconds * window.span_seconds
        if span in good:
            good[span] += _count(row, GOOD)
            bad[span] += _count(row, BAD)
    return [EndSpan(at=span, good=good[span], bad=bad[span]) for span in at]


def _ended_per_minute(recent: Tallies, now: float) -> float:
    begin = (now // MINUTE_SECONDS - (RATE_MINUTES - 1)) * MINUTE_SECONDS
    ended = sum(sum(row.ended.values()) for row in recent.rows if row.at >= begin)
    return ended * MINUTE_SECONDS / max(now - begin, 1.0)


def _most(counts: Mapping[str, int], most: int | None = None) -> list[tuple[str, int]]:
    """Return names with their counts, the most frequent first."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def _kinds(recent: Mapping[str, Tally], ever: Tallies, reasons: Mapping[str, Mapping[str, int]]) -> list[KindAnswer]:
    """Return the busy kinds: those that failed most come first, then those with most live tasks."""
    live = {row.kind: row.live for row in ever.rows}
    nothing = Tallies((), ()).total()
    tallies = {kind: recent.get(kind, nothing) for kind in {*recent, *(kind for kind, count in live.items() if count)}}
    busy = sorted(tallies, key=lambda kind: (-tallies[kind].ended.get("failed", 0), -live.get(kind, 0), kind))
    return [
        KindAnswer(
            kind=kind,
            live=live.get(kind, 0),
            created=tallies[kind].created,
            ended=dict(tallies[kind].ended),
            failed_share=failed_share(tallies[kind]),
            reasons=dict(_most(reasons.get(kind, {}), REASONS_MAX)),
            **_quantiles(tallies[kind]),
        )
        for kind in busy[:KINDS_MAX]
    ]


def _quantiles(total: Tally) -> dict[str, float | None]:
    return {
        f"{name}_p{share:.0%}_seconds".replace("%", ""): quantile(histogram, share)
        for name, histogram in (("waited", total.waited), ("ran", total.ran))
        for share in (0.5, 0.95)
    }


def _by_kind(recent: Tallies) -> dict[str, Tally]:
    """Add up each kind over the whole window, which may have thousands of rows: each is read once."""
    rows: dict[str, list[Tally]] = {}
    for row in recent.rows:
        rows.setdefault(row.kind, []).append(row)
    return {kind: Tallies(tuple(some), ()).total() for kind, some in rows.items()}


def _count(row: Tally, states: Sequence[str]) -> int:
    return sum(row.ended.get(state, 0) for state in states)


def failed_share(total: Tally) -> float | None:
    """Return the share of failed tasks among those that ended; None when none did."""
    ended = sum(total.ended.values())
    return total.ended.get("failed", 0) / ended if ended else None


def quantile(histogram: Histogram, share: float) -> float | None:
    """Return the upper end of the bucket of a quantile, the lower end of the open one; None without counts."""
    wanted, seen = share * sum(histogram.counts), 0
    if not sum(histogram.counts):
        return None
    for at, count in enumerate(histogram.counts):
        seen += count
        if seen >= wanted and count:
            return BUCKETS_SECONDS[min(at, len(BUCKETS_SECONDS) - 1)]
    return BUCKETS_SECONDS[-1]


async def _newest(client: Client) -> list[LineageAnswer]:
    open_ones = (await client.lineage_page(states=[*OPEN], limit=LINEAGES_MAX)).lineages
    newest = (await client.lineage_page(limit=LINEAGES_MAX)).lineages
    known = {row.tracking_id for row in open_ones}
    rows = [*open_ones, *(row for row in newest if row.tracking_id not in known)][:LINEAGES_MAX]
    return await lineage_answers(client, rows)


WIDTH, HEIGHT = 720.0, 150.0
"""Size of the plot, in units of the drawing."""


class Bar(NamedTuple):
    """One bar of a chart: two parts on top of each other, and its label."""

    x: float
    width: float
    good_y: float
    good_height: float
    bad_y: float
    bad_height: float
    label: str | float
    """A word, or a moment."""
    good: int
    bad: int


class Chart(NamedTuple):
    """A chart of bars. ``most`` is the number at its full height."""

    bars: tuple[Bar, ...]
    most: int
    total: int


def stacked(values: Sequence[tuple[str | float, int, int]]) -> Chart:
    """Return bars of good and bad counts, side by side over the whole width."""
    most = _rounded(max((good + bad for _, good, bad in values), default=0))
    step = WIDTH / max(1, len(values))
    made = []
    for at, (label, good, bad) in enumerate(values):
        low = _height(bad, most)
        high = min(_height(good, most), HEIGHT - low)  # A bar that is raised to be visible takes from the other.
        bar = Bar(at * step + step * 0.1, step * 0.8, HEIGHT - high, high, HEIGHT - high - low, low, label, good, bad)
        made.append(bar._replace(x=round(bar.x, 2), width=round(bar.width, 2)))
    return Chart(tuple(made), most, sum(good + bad for _, good, bad in values))


def bars(values: Sequence[tuple[str | float, int]]) -> Chart:
    """Return bars of one count each."""
    return stacked([(label, count, 0) for label, count in values])


def _height(count: int, most: int) -> float:
    # A count above 0 is visible, however small it is beside the others.
    return round(max(HEIGHT * count / most, 1.5), 2) if count else 0.0


def _rounded(most: int) -> int:
    """Return the next number of one digit and zeros, as a round end of the axis."""
    if most <= 10:
        return max(most, 1)
    size = int(f"1{'0' * (len(str(most)) - 1)}")
    return ceil(most / size) * size


router = APIRouter(tags=["overview"])


@router.get("/overview")
async def read_overview(client: ClientDep, *, window: WindowName = "1h") -> OverviewAnswer:
    """Return running and waiting tasks, and the ends of the last hour, 24 hours or 7 days."""
    return await load_overview(client, window)


async def overview_page(visit: Visit) -> dict[str, Any]:
    """Show the problems first, then the numbers of the window."""
    window: Any = visit.word("window", WINDOWS) or "1h"
    one = await load_overview(visit.client, window)
    deepest = max((depth for depth, count in enumerate(one.depths) if count), default=0)
    failing = [kind for kind in one.kinds if kind.ended.get("failed")]
    return {
        "one": one,
        "waits": WAITS,
        "windows": WINDOWS,
        "alerts": await visit.client.alerts(limit=ALERTS_MAX),
        "failing": failing[:FAILING_MAX],
        "more_failing": max(len(failing) - FAILING_MAX, 0),
        "ends": stacked([(span.at, span.good, span.bad) for span in one.spans]),
        "depths": bars([(_depth(at), count) for at, count in enumerate(one.depths[: deepest + 1])]),
    }


def _depth(at: int) -> str:
    return str(at) if at <= 10 else "deeper"


PAGES = (Page("/", "overview", "overview.html", overview_page),)
