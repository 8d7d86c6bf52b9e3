"""Views that follow a job, and the tables of `status`. Nothing that comes from outside is markup."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ramet import as_usd
from ramet.commands.terminal import ProgressLines, columns, console, counted, emit, on_terminal, plain, short_usd
from ramet.llm.app import NO_CEILING
from ramet.llm.pricing.mode_choice import span
from ramet.llm.status import ItemState, JobStatus, JobWait

DAY_SECONDS = 86_400.0
STYLES = {
    "queued": "cyan", "running": "blue", "paused": "yellow", "succeeded": "green", "partly": "yellow", "failed": "red",
    "cancelled": "yellow",
}  # fmt: skip


def money(status: JobStatus) -> str:
    """Spent, reserved and limit, in few words."""
    lineage = status.job.lineage
    text = f"{short_usd(lineage.spent)} spent"
    if lineage.reserved:
        text += f" + {short_usd(lineage.reserved)} reserved"
    return text if costs_nothing(status) else f"{text} of {short_usd(lineage.max_cost or 0)}"


def costs_nothing(status: JobStatus) -> bool:
    """Return whether the job has no ceiling since no call of it costs anything."""
    return status.job.lineage.max_cost == NO_CEILING and all(
        price.free for price in status.job.settings.prices.values()
    )


def summary(status: JobStatus) -> str:
    """Return a job in one line."""
    parts = [f"{status.done:,}/{status.total:,} items", *_live_parts(status)]
    return " · ".join(parts)


def _live_parts(status: JobStatus) -> list[str]:
    parts = [
        f"{status.items[state]:,} {state}"
        for state in (ItemState.SUBMITTING, ItemState.PROCESSING, ItemState.FAILED)
        if status.items[state]
    ]
    if status.items_per_second is not None and not status.over:
        parts.append(f"{status.items_per_second:,.3g} items/s, {status.tokens_per_second or 0:,.0f} tokens/s")
    parts.append(money(status))
    if status.eta_seconds is not None and not status.over:
        parts.append(f"about {span(status.eta_seconds)} left")
    if status.state == "paused":
        parts.append(f"paused: {plain(status.reason or 'by a person')}")
    if status.wait is not None:
        parts.append(waits(status.wait))
    return parts


def waits(wait: JobWait) -> str:
    """Cause of a job's wait, and its end."""
    until = datetime.fromtimestamp(wait.until, UTC)
    moment = f"{until:%H:%M} UTC" if wait.until - time.time() < DAY_SECONDS else f"{until:%Y-%m-%d %H:%M} UTC"
    return f"waits until {moment}: {plain(wait.what)}"


def paused(status: JobStatus) -> str:
    """Return the words for a job that is paused: why, and what to do."""
    return f"job {plain(status.job.name)} is paused: {plain(status.reason or 'by a person')}\n{resume_words(status)}"


def resume_words(status: JobStatus) -> str:
    """Return what to do about a job that is paused."""
    return f"`ramet llm resume {plain(status.job.name)}` lets it go on, once that is put right"


# --- following --------------------------------------------------------------------------------------------------


class BarView:
    """A progress bar, on a terminal."""

    def __init__(self, out: Console) -> None:
        self._progress = Progress(SpinnerColumn(), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = self._progress.add_task("", total=None)
        self._words = Text(no_wrap=True, overflow="ellipsis")
        # The words have a line of their own: beside the bar they would push it out of a narrow terminal.
        self._live = Live(Group(self._progress, self._words), console=out, transient=True)
        self._live.start()

    def look(self, status: JobStatus) -> None:
        """Draw the present status."""
        self._words.plain = " · ".join(_live_parts(status))
        self._progress.update(self._bar, completed=status.done, total=status.total)

    def close(self) -> None:
        """There is nothing more to tell."""
        self._live.stop()


class LineView:
    """A line now and then, where there is no terminal."""

    def __init__(self) -> None:
        self._lines = ProgressLines()

    def look(self, status: JobStatus) -> None:
        """See `BarView`."""
        if self._lines.is_due((status.items, status.state, status.wait)):
            click.echo(summary(status))

    def close(self) -> None:
        """See `BarView`."""


class NoView:
    """Shows nothing."""

    def look(self, status: JobStatus) -> None:
        """See `BarView`."""

    def close(self) -> None:
        """See `BarView`."""


class JsonView(LineView):
    """A JSON line per look that found something new."""

    def __init__(self) -> None:
        self._lines = ProgressLines(seconds=0.0)

    def look(self, status: JobStatus) -> None:
        """See `BarView`."""
        if self._lines.is_due((status.items, status.state, status.job.lineage.reserved)):
            emit({"event": "progress", **status.as_json()})


def view_for(*, as_json: bool) -> BarView | LineView:
    """Return the view of a job's progress: for a machine, a person at a terminal, or a log."""
    if as_json:
        return JsonView()
    return BarView(console()) if on_terminal() else LineView()


# --- showing ----------------------------------------------------------------------------------------------------


def show_jobs(found: Sequence[JobStatus]) -> Table:
    """All jobs, a line each."""
    table = columns(header="dim")
    for name in ("job", "state", "done", "failed", "spent", "limit", "age", "input"):
        table.add_column(name, justify="right" if name in ("done", "failed", "spent", "limit", "age") else "left")
    for one in found:
        table.add_row(
            Text(plain(one.job.name)), Text(one.state, style=STYLES.get(one.state, "")),
            f"{one.done:,}/{one.total:,}", f"{one.items[ItemState.FAILED]:,}", short_usd(one.job.lineage.spent),
            "-" if costs_nothing(one) else short_usd(one.job.lineage.max_cost or 0), span(one.elapsed_seconds),
            Text(plain(one.job.settings.source)),
        )  # fmt: skip
    return table


def show_status(status: JobStatus) -> RenderableType:
    """Everything that `status` tells of a job but the slots."""
    settings = status.job.settings
    head = Text.assemble(
        (plain(status.job.name), "bold"), "  ", (status.state, STYLES.get(status.state, "")),
        f" · {counted(settings.rows, 'row')}, {counted(settings.items, 'item')} · {span(status.elapsed_seconds)}",
    )  # fmt: skip
    lines = [
        f"{plain(settings.source)} · {settings.mode} at {plain(settings.place)}: {plain(', '.join(settings.prices))}"
    ]
    if status.reason or status.state == "paused":
        lines.append(f"{status.state}: {plain(status.reason or 'by a person')}")
    if status.state == "paused":
        lines.append(resume_words(status))
    if status.wait is not None:
        lines.append(waits(status.wait))
    states = columns(header="dim")
    for state in ItemState:
        states.add_column(state.value, justify="right")
    states.add_row(*(f"{status.items[state]:,}" if status.items[state] else "·" for state in ItemState))
    table = columns(header=None)
    for name, told in _facts(status):
        table.add_row(Text(name, style="dim"), Text(told))
    parts: list[RenderableType] = [head, Text("\n".join(lines), style="dim"), Text(), states, Text(), table]
    if status.first_failure:
        parts += [Text(), Text(_failed(status, status.first_failure), style="yellow")]
    return Group(*parts)


def _failed(status: JobStatus, why: str) -> str:
    """Return the reason why items failed, and what a person can do about it."""
    name = plain(status.job.name)
    asks = f"`ramet llm results {name}` says why each failed, `ramet llm resume {name} --retry-failed` asks them again"
    if why.startswith("cost:"):
        asks = f"`ramet llm resume {name} --max-cost DOLLARS --retry-failed` raises the ceiling and asks them again"
    return f"{status.items[ItemState.FAILED]:,} failed, the first as {plain(why)}\n{asks}"


def _facts(status: JobStatus) -> list[tuple[str, str]]:
    lineage = status.job.lineage
    told = [("spent", as_usd(lineage.spent)), ("reserved", as_usd(lineage.reserved))]
    if not costs_nothing(status):
        soft = lineage.soft_cost if lineage.soft_cost != lineage.max_cost else None
        told += [("stops submitting at", as_usd(soft))] if soft is not None else []
        told.append(("limit", as_usd(lineage.max_cost or 0)))
    if lineage.under_reserved:
        told.append(("beyond what was reserved", as_usd(lineage.under_reserved)))
    told.append(("tokens", f"{status.input_tokens:,} in, {status.output_tokens:,} out"))
    if status.items_per_second is not None:
        told.append(("rate", f"{status.items_per_second:,.3g} items/s, {status.tokens_per_second or 0:,.0f} tokens/s"))
    if status.eta_seconds is not None:
        told.append(("left", f"about {span(status.eta_seconds)}"))
    if status.late:
        told.append(("late", counted(status.late, "answer") + " that came after its item had ended; paid, kept"))
    if status.refused:
        told.append(("refused for now", counted(status.refused, "item") + " by the provider: sent again"))
    if status.ambiguous:
        told.append(("ambiguous", counted(status.ambiguous, "submit") + " of which the answer was lost"))
    if not status.over:
        told.append(("ends at the latest", f"in {span(max(0.0, lineage.deadline_at - time.time()))}"))
    return told
