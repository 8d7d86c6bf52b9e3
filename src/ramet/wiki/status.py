"""Causes that hold a run up: stale claims, machines that lack something, hosts that pause."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ramet import Client, LineageState, Task, TaskState
from ramet.wiki import tables
from ramet.wiki.graphs.registry import GraphInfo, graph_info, graph_is_there
from ramet.wiki.runs import ARTICLE, ENDED_BADLY, FETCH, LEVEL, REFRESH, RETRY, STAGES, ArticlePayload, Run, number_of
from ramet.wiki.tables import IN_GRAPH, WikiState

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
    """Return the stale claims of a run, longest overdue first, at most `STALE_MAX`."""
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
    """Return the number of titles put off, by reason: a file, model or graph that is not there, or a host's word."""
    found: dict[str, int] = {}
    for tracking_id in tracking_ids:
        for one in await client.delays(tracking_id):
            if one.kind in STAGES and one.outcome == "snooze" and one.reason is not None:
                found[one.reason] = found.get(one.reason, 0) + one.tasks.number
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


async def paused_hosts(client: Client, now: float) -> list[PausedHost]:
    """Return the hosts that no worker asks just now."""
    found = []
    for one in await client.resources():
        if one.paused_until > now:
            found.append(PausedHost(one.name, one.paused_until, one.paused_reason or ""))
        elif one.opened_at is not None and (one.ready_at or 0.0) > now:
            found.append(PausedHost(one.name, one.ready_at or 0.0, one.opened_reason or ""))
    return found


RATE_SECONDS = 15.0
"""Seconds over which the rate of loaded articles is taken."""
RATE_SPAN_SECONDS = 1.0
"""Least seconds over which a rate is shown."""
CLAIMED_MAX = 1_000


class Pass(NamedTuple):
    """A pass of a run."""

    tracking_id: str
    sort: str
    """Sort of pass: expand, continue, retry or refresh."""
    state: str
    created_at: float
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class RunStatus:
    """A run at one moment."""

    run: Run
    state: str
    """State of its lineage: running, paused, finished, failed or cancelled."""
    depths: dict[int, dict[WikiState, int]]
    """Articles by depth and state; every state is there."""
    elapsed_seconds: float
    """Seconds from submission to now, or to the end, time without a worker included."""
    articles_per_second: float | None
    """Articles loaded a second over the last `RATE_SECONDS`; None when fewer than two articles were loaded in them."""
    eta_seconds: float | None
    """Most seconds that are left at that rate, as a run may find fewer articles than it may have; None if unknown."""
    failures: dict[str, int]
    """Articles and levels that failed, by reason."""
    blocks: dict[str, int]
    """Refused spawns of articles, by reason."""
    passes: tuple[Pass, ...] = ()
    """Passes of the run, oldest first."""
    stale: tuple[StaleClaim, ...] = ()
    """Titles whose worker is silent."""
    waiting: dict[str, int] = field(default_factory=dict)
    """Titles that were put off, by what is missing."""
    paused: tuple[PausedHost, ...] = ()
    """Hosts that are not asked just now."""

    @property
    def live(self) -> bool:
        """Whether there is anything left to do."""
        return self.state in (LineageState.RUNNING, LineageState.PAUSED)

    @property
    def titles(self) -> int:
        """Number of titles that the run knows, in any state."""
        return sum(self.states.values())

    @property
    def states(self) -> Counter[WikiState]:
        """Number of articles in each state."""
        return sum((Counter(states) for states in self.depths.values()), Counter())

    @property
    def mean_depths(self) -> dict[WikiState, float]:
        """Mean depth of the articles in each state that has any."""
        return {
            state: sum(depth * states[state] for depth, states in self.depths.items()) / count
            for state, count in self.states.items()
            if count
        }

    @property
    def queue_size(self) -> int:
        """Number of titles that are known and not begun."""
        return self.states[WikiState.DISCOVERED]

    @property
    def active(self) -> int:
        """Number of titles in work."""
        return self.states[WikiState.CLAIMED]

    @property
    def percent_complete(self) -> float:
        """Articles in the graph, of all titles that the run knows; those that it may still find not counted."""
        return 100.0 * self.loaded / self.titles if self.titles else 0.0

    @property
    def failure_rate(self) -> float:
        """Failed ones among the titles that came to an end, 0 to 1."""
        return self.states[WikiState.FAILED] / self.ended if self.ended else 0.0

    @property
    def loaded(self) -> int:
        """Number of articles in the graph."""
        return sum(self.states[state] for state in IN_GRAPH)

    @property
    def ended(self) -> int:
        """Number of titles that are not loaded any more: in the graph, failed, redirects, and excluded by a person."""
        return self.titles - self.queue_size - self.active

    @property
    def expected(self) -> int:
        """Number of articles that the graph may come to have: exact once the run has ended, else the most."""
        return max(self.loaded, self.run.settings.max_articles) if self.live else self.loaded

    @property
    def level(self) -> int:
        """The deepest level that has articles."""
        return max(self.depths, default=0)

    def as_json(self) -> dict[str, Any]:
        """Return the status for machines."""
        return {
            "run": self.run.run_id,
            "state": self.state,
            "seeds": list(self.run.seeds),
            "source": self.run.settings.source,
            "graph": self.run.settings.graph,
            "max_articles": self.run.settings.max_articles,
            "max_depth": self.run.settings.max_depth,
            "articles": self.loaded,
            "titles": self.titles,
            "states": {state.value: self.states[state] for state in WikiState},
            "depths": {
                str(depth): {state.value: count for state, count in states.items()}
                for depth, states in sorted(self.depths.items())
            },
            "mean_depths": {state.value: round(depth, 3) for state, depth in self.mean_depths.items()},
            "queue_size": self.queue_size,
            "active": self.active,
            "loaded": self.loaded,
            "percent_complete": round(self.percent_complete, 1),
            "failure_rate": round(self.failure_rate, 4),
            "stale_claims": [one._asdict() for one in self.stale],
            "waiting": self.waiting,
            "paused": [one._asdict() for one in self.paused],
            "passes": [one._asdict() for one in self.passes],
            "embedder": self.run.settings.embedder,
            "elapsed_seconds": round(self.elapsed_seconds, 3),
            "articles_per_second": _rounded(self.articles_per_second),
            "eta_seconds": _rounded(self.eta_seconds),
            "failures": self.failures,
            "blocks": self.blocks,
        }


async def status_of(client: Client, run: Run, *, now: float | None = None) -> RunStatus:
    """Return the status of a run. Works beside a running expansion; a handful of indexed reads."""
    now = time.time() if now is None else now
    passes = [await _pass(client, one.tracking_id) for one in run.passes]
    live = [one.tracking_id for one in passes if one.ended_at is None]
    # A task that a person retried is in an older pass.
    at_work = passes[-1] if passes[-1].ended_at is None or not live else next(one for one in passes if not one.ended_at)
    newest = at_work.tracking_id
    fetching = await client.tasks(tracking_id=newest, kind=FETCH, states=[TaskState.PROCESSING], limit=CLAIMED_MAX)
    rows = await client.read(tables.DISTRIBUTION, (run.run_id,))
    failures = Counter(reason_of(error) for *_, error in await client.read(tables.FAILURES, (run.run_id,)))
    levels = await client.tasks(tracking_id=newest, kind=LEVEL, states=ENDED_BADLY)
    failures.update(f"{reason_of(task.error or task.reason or task.state)} ({task.key})" for task in levels.tasks)
    blocks: Counter[str] = Counter()
    for one in run.passes:
        for (kind, reason), count in (await client.block_totals(one.tracking_id)).items():
            if kind in (ARTICLE, FETCH):
                blocks[reason] += count
    status = RunStatus(
        run,
        at_work.state,
        _project(rows, Counter(_depth(task) for task in fetching.tasks)),
        (at_work.ended_at or now) - run.passes[0].created_at,
        None,
        None,
        dict(failures.most_common()),
        dict(blocks),
        tuple(passes),
        tuple(await stale_claims(client, run.run_id, live, now)),
        await waiting_for(client, live),
        tuple(await paused_hosts(client, now)) if live else (),
    )
    return await _with_rate(client, status, now)


async def _pass(client: Client, tracking_id: str) -> Pass:
    lineage = await client.lineage(tracking_id)
    assert lineage is not None, "a run is found by its lineages"
    kinds = {task.kind for task in await client.roots(tracking_id)}
    first = "expand" if number_of(tracking_id) == 1 else "continue"
    sort = "refresh" if REFRESH in kinds else "retry" if RETRY in kinds else first
    return Pass(tracking_id, sort, lineage.state, lineage.created_at, lineage.ended_at)


async def _with_rate(client: Client, status: RunStatus, now: float) -> RunStatus:
    [(count, first, last)] = await client.read(tables.LOADED_SINCE, (status.run.run_id, now - RATE_SECONDS))
    if not status.live or count < 2 or last - first < RATE_SPAN_SECONDS:
        return status
    rate = (count - 1) / (last - first)
    return replace(status, articles_per_second=rate, eta_seconds=(status.expected - status.loaded) / rate)


def _project(rows: list[tuple[Any, ...]], fetching: Counter[int]) -> dict[int, dict[WikiState, int]]:
    """Return the numbers of titles by depth and state; some of the discovered ones are being fetched."""
    depths: dict[int, dict[WikiState, int]] = {}
    for depth, state, count in sorted(rows):
        depths.setdefault(depth, dict.fromkeys(WikiState, 0))[WikiState(state)] += count
    for depth, states in depths.items():
        busy = min(fetching[depth], states[WikiState.DISCOVERED])
        states[WikiState.DISCOVERED] -= busy
        states[WikiState.CLAIMED] += busy
    return depths


def _depth(task: Task) -> int:
    return ArticlePayload.model_validate(task.payload).depth


def reason_of(error: str | None) -> str:
    """Return the reason that a failure is counted under: a stage's, or the error's name."""
    return (error or "unknown").partition(":")[0]


class FailedTitle(NamedTuple):
    """A title that could not be loaded."""

    title_key: str
    title: str
    expansion_depth: int
    reason: str
    """Reason, as `RunStatus.failures` counts it and `retry --failed-for` takes it."""
    detail: str
    """Reason given by the stage that refused it."""


async def failed_titles(client: Client, run_id: str) -> list[FailedTitle]:
    """Return all failed titles of a run, by canonical title."""
    return [
        FailedTitle(key, title, depth, reason_of(error), (error or "").partition(":")[2].strip())
        for key, title, depth, error in sorted(await client.read(tables.FAILURES, (run_id,)))
    ]


def graph_of_run(path: Path) -> GraphInfo | None:
    """Return the facts about the graph of a run; None when it is not there yet.

    Raises:
        GraphError: it cannot be read.
    """
    return graph_info(path) if graph_is_there(path) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
