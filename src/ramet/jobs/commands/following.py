"""How far a run is: counted from the engine's rows, and told by a bar, by lines or by JSON."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn
from rich.text import Text

from ramet import Client, LineageState, TaskState
from ramet.commands.terminal import STOPPING_NOW, EventLines, Lines, console, counted, on_terminal, span, stopping_words
from ramet.jobs.errors import NotFound
from ramet.jobs.kinds import COMPANY, LISTING, SCRAPE_SOURCE, SOURCE_DISCOVERY

DUE = "due"
"""What a task waits for whose time has not come."""
ENDED = frozenset(state for state in TaskState if state.terminal)
OUTCOMES = {"success": "matched", "filtered": "filtered", "skipped": "skipped", "failed": "failed"}
"""What a listing's state is called here."""


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Where a run stands."""

    tracking_id: str
    """Of the batch; empty before it is begun."""
    state: str
    """Of its lineage."""
    elapsed_seconds: float
    states: dict[str, dict[str, int]] = field(default_factory=dict)
    """Tasks of each kind by state."""
    listings_per_second: float = 0.0
    """Since somebody looks, in this process."""
    put_off: int = 0
    """Live tasks whose time has not come: a server asked to come back later, or a retry waits."""

    @property
    def over(self) -> bool:
        """Whether nothing of it goes on by itself any more."""
        return self.state not in ("running", "paused")

    @property
    def busy(self) -> int:
        """Tasks that could be worked on now: neither ended nor put off to a later moment."""
        live = sum(self.count(kind) - self.count(kind, ended=True) for kind in self.states)
        return live - self.put_off

    def count(self, kind: str, *, ended: bool = False) -> int:
        """Tasks of a kind, or those of them that have ended."""
        return sum(count for state, count in self.states.get(kind, {}).items() if not ended or state in ENDED)

    def outcome(self, state: str) -> int:
        """Listings that ended in a state."""
        return self.states.get(LISTING, {}).get(state, 0)

    @property
    def matches(self) -> int:
        """Listings that fit."""
        return self.outcome("success")

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "run": self.tracking_id, "state": self.state, "elapsed_seconds": round(self.elapsed_seconds, 1),
            "matches": self.matches, "tasks": self.states,
        }  # fmt: skip


async def status_of(client: Client, tracking_id: str, others: Sequence[str] = ()) -> RunStatus:
    """How far a run is.

    Args:
        tracking_id: of its batch; empty before it is begun.
        others: lineages that were in the queue when it began, which are worked off with it.

    Raises:
        NotFound: there is no such run.
    """
    states: dict[str, dict[str, int]] = {}
    put_off = 0
    lineages = [one for one in (tracking_id, *others) if one]
    for one in lineages:
        for row in await client.counts(one):
            of_kind = states.setdefault(row.kind, {})
            of_kind[row.state] = of_kind.get(row.state, 0) + row.tasks
            put_off += row.tasks if row.wait == DUE else 0
    lineage = await client.lineage(lineages[0]) if lineages else None
    if lineage is None:
        raise NotFound(f"there is no run {tracking_id}: `ramet status` lists the lineages")
    ended_at = lineage.ended_at if lineage.ended_at is not None else time.time()
    state = lineage.state if tracking_id else LineageState.RUNNING
    return RunStatus(tracking_id, state, max(0.0, ended_at - lineage.created_at), states, put_off=put_off)


def words_of(status: RunStatus) -> str:
    """A run in one line."""
    sources = status.count(SCRAPE_SOURCE)
    parts = [
        f"{status.count(SCRAPE_SOURCE, ended=True):,}/{counted(sources, 'source')}",
        f"{status.count(LISTING, ended=True):,}/{counted(status.count(LISTING), 'listing')}",
    ]
    looked_for = status.count(COMPANY) + status.count(SOURCE_DISCOVERY)
    if looked_for:
        ended = status.count(COMPANY, ended=True) + status.count(SOURCE_DISCOVERY, ended=True)
        parts.append(f"{ended:,}/{looked_for:,} companies and boards")
    parts += [f"{status.outcome(state):,} {word}" for state, word in OUTCOMES.items() if status.outcome(state)]
    if not status.over and status.listings_per_second >= 1:
        parts.append(f"{status.listings_per_second:,.0f}/s")
    return " · ".join(parts)


# --- views ----------------------------------------------------------------------------------------------------------


class View(Protocol):
    """Who is told how far a run is."""

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """Work begins."""

    def look(self, status: RunStatus) -> None:
        """A moment later."""

    def stopping(self, in_hand: int, /, *, again: bool) -> None:
        """A signal asked to stop; so many tasks are in hand. `again`: without waiting for them."""

    def close(self) -> None:
        """Work has ended, well or not."""


class BarView:
    """A progress bar, on a terminal."""

    def __init__(self, out: Console) -> None:
        self._progress = Progress(SpinnerColumn(), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = self._progress.add_task("", total=None)
        self._words = Text(no_wrap=True, overflow="ellipsis")
        # The words have a line of their own: beside the bar they would push it out of a narrow terminal.
        self._live = Live(Group(self._progress, self._words), console=out, transient=True)
        self._out = out

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """See `View`."""
        self._live.start()
        if not status.tracking_id:
            self._out.print(Text("first what is in the queue already"))
        elif resumed:
            self._out.print(Text(f"continuing a run that began {span(status.elapsed_seconds)} ago"))
        self.look(status)

    def look(self, status: RunStatus) -> None:
        """See `View`."""
        self._words.plain = words_of(status)
        total = status.count(LISTING)
        self._progress.update(self._bar, completed=status.count(LISTING, ended=True), total=total or None)

    def stopping(self, in_hand: int, /, *, again: bool) -> None:
        """See `View`."""
        self._live.console.print(Text(_stopping(in_hand, again=again)))

    def close(self) -> None:
        """See `View`."""
        self._live.stop()


class LineView:
    """A line now and then, where there is no terminal."""

    def __init__(self) -> None:
        self._lines = Lines()

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """See `View`."""
        if status.tracking_id:
            click.echo(f"{'continuing' if resumed else 'begun'}: {status.tracking_id}")
        else:
            click.echo("first what is in the queue already")

    def look(self, status: RunStatus) -> None:
        """See `View`."""
        if self._lines.is_due(status.states):
            click.echo(words_of(status))

    def stopping(self, in_hand: int, /, *, again: bool) -> None:
        """See `View`."""
        click.echo(_stopping(in_hand, again=again), err=True)

    def close(self) -> None:
        """See `View`."""


class JsonView(EventLines, LineView):
    """A JSON line per look that found something new."""


def _stopping(in_hand: int, *, again: bool) -> str:
    return STOPPING_NOW if again else stopping_words(in_hand, "task")


def view_for(*, as_json: bool) -> View:
    """Who is told how far a run is: a machine, a person at a terminal, or a log."""
    if as_json:
        return JsonView()
    return BarView(console()) if on_terminal() else LineView()
