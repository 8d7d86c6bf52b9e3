"""Output about a run: text made harmless, the views that follow a run, and the tables and trees of its commands.

Titles and texts come from outside. Whatever could steer a terminal is shown as an escape, and nothing is read as
markup.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ramet.commands.options import short_path
from ramet.commands.terminal import (
    STOPPING_NOW,
    ProgressLines,
    columns,
    counted,
    emit,
    plain,
    span,
    stopping_words,
)
from ramet.wiki.commands.options import command_of
from ramet.wiki.graphs.base import SearchHit
from ramet.wiki.graphs.registry import GraphInfo
from ramet.wiki.runs import Run, RunSettings
from ramet.wiki.status import FailedTitle, RunStatus
from ramet.wiki.tables import WikiState

PASSES_SHOWN = 3
STALE_SHOWN = 3
DEPTHS_SHOWN = 10
LINES_SHOWN = 8
SEEDS_SHOWN = 3
STYLES = {
    WikiState.DISCOVERED: "cyan",
    WikiState.CLAIMED: "blue",
    WikiState.LOADED: "yellow",
    WikiState.PROCESSED: "green",
    WikiState.FAILED: "red",
    WikiState.ALIAS: "dim",
    WikiState.EXCLUDED: "dim",
}
RUN_STYLES = {"running": "blue", "finished": "green", "failed": "red", "cancelled": "yellow", "paused": "yellow"}


def meanings_of_blocks(settings: RunSettings) -> dict[str, str]:
    """Return the meanings of the guard's reasons for a run with these settings, a line each."""
    cap = f"the run may load {counted(settings.max_articles, 'article')} (--max-articles)"
    return {
        "in_flight": "another link of the same level came first",
        "done": "the run has that article already",
        "budget": cap,
        "fan_out": cap,
        "depth": f"farther than {counted(settings.max_depth, 'link')} from the seeds (--max-depth)",
        "deadline": "the time of the pass was over: `expand` again goes on",
        "cancelled": "the run was cancelled",
        "stop_list": "the title is on the deny list (`ramet deny-list list`)",
    }


def seeds_of(run: Run) -> str:
    """Return the first few seeds of a run, and how many more there are."""
    more = len(run.seeds) - SEEDS_SHOWN
    return ", ".join(run.seeds[:SEEDS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


# --- following a run --------------------------------------------------------------------------------------------


def summary(status: RunStatus) -> str:
    """Return a run in one line."""
    states = status.states
    parts = [f"{status.loaded}/{status.expected} articles", f"level {status.level}"]
    parts += [f"{states[state]} {state.value}" for state in (WikiState.CLAIMED, WikiState.FAILED) if states[state]]
    if status.articles_per_second is not None:
        parts.append(f"{status.articles_per_second:.0f}/s")
    if status.eta_seconds is not None:
        parts.append(f"about {span(status.eta_seconds)} left")
    return " · ".join([*parts, *waits(status)[:1]])


class BarView:
    """A progress bar, on a terminal."""

    def __init__(self, out: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=out,
            transient=True,
        )
        self._bar = self._progress.add_task("starting", total=None)
        self._out = out

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """See `View`."""
        if status.live:
            if resumed:
                self._out.print(Text(f"continuing: {counted(status.loaded, 'article')} are there already"))
            self._progress.start()
        else:
            self._out.print(Text(_over(status)))

    def look(self, status: RunStatus) -> None:
        """See `View`."""
        rate = f" · {status.articles_per_second:.0f}/s" if status.articles_per_second is not None else ""
        left = f" · ≤ {span(status.eta_seconds)}" if status.eta_seconds else ""
        failed = f" · {status.states[WikiState.FAILED]} failed" if status.states[WikiState.FAILED] else ""
        self._progress.update(
            self._bar,
            completed=status.loaded,
            total=status.expected,
            description=f"level {status.level}{rate}{left}{failed}{''.join(f' · {one}' for one in waits(status)[:1])}",
        )

    def stopping(self, articles: int, /, *, again: bool) -> None:
        """See `View`."""
        self._progress.console.print(Text(_stopping(articles, again=again)))

    def close(self) -> None:
        """See `View`."""
        self._progress.stop()


class LineView:
    """A line now and then, where there is no terminal."""

    def __init__(self) -> None:
        self._lines = ProgressLines()

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """See `View`."""
        if status.live:
            verb = "continuing" if resumed else "expanding"
            click.echo(f"{verb} {status.run.run_id}: {plain(seeds_of(status.run))}")
        else:
            click.echo(_over(status))

    def look(self, status: RunStatus) -> None:
        """See `View`."""
        if self._lines.is_due((status.loaded, status.level, _missing(status))):
            click.echo(summary(status))

    def stopping(self, articles: int, /, *, again: bool) -> None:
        """See `View`."""
        click.echo(_stopping(articles, again=again), err=True)

    def close(self) -> None:
        """See `View`."""


class JsonView(LineView):
    """A JSON line per look that found something new: other numbers, or something else that it waits for."""

    def __init__(self) -> None:
        self._lines = ProgressLines(seconds=0.0)

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """See `View`."""
        emit({"event": "begin", "resumed": resumed, **status.as_json()})

    def look(self, status: RunStatus) -> None:
        """See `View`."""
        if self._lines.is_due((dict(status.states), _missing(status))):
            emit({"event": "progress", **status.as_json()})


def _missing(status: RunStatus) -> list[str]:
    """Return the awaited cause, without its duration."""
    return sorted({*status.waiting, *(f"{one.name}: {one.reason}" for one in status.paused)})


def _over(status: RunStatus) -> str:
    return f"there is nothing left to do: this very run is {status.state} already; for another, use another --db"


def _stopping(articles: int, *, again: bool) -> str:
    return STOPPING_NOW if again else stopping_words(articles, "article")


# --- showing a run ----------------------------------------------------------------------------------------------


def show_status(status: RunStatus, database: str | None, graph: GraphInfo | None) -> RenderableType:
    """Return all that `wiki status` shows, in at most 80 columns.

    Args:
        status: what to show.
        database: its address as it may be shown, for the command that continues the run; None: do not speak of that.
        graph: what its graph is and holds, where it could be read.
    """
    run = status.run
    head = Text.assemble(
        (plain(seeds_of(run)), "bold"), "  ", (status.state, RUN_STYLES.get(status.state, "")),
        f" · {counted(status.loaded, 'article')} of at most {run.settings.max_articles:,}",
        f" · {span(status.elapsed_seconds)}",
    )  # fmt: skip
    place = f"run {run.run_id} · graph {plain(short_path(run.settings.graph))}"
    parts: list[RenderableType] = [head, Text(place, style="dim"), *_passes(status), Text(), _by_depth(status)]
    parts += [Text(_progress_line(status), style="dim")]
    if graph is not None:
        parts += [Text(), Text(_graph_line(graph)), Text(_vectors_line(graph), style="dim")]
    parts += _held_up(status)
    if status.live and database is not None:
        parts += [Text(), Text(summary(status) if _worked_on(status) else _idle(status, database))]
    if status.failures:
        parts += [Text("\nnot loaded, by reason", style="bold"), _reasons(status.failures, {})]
    if status.blocks:
        parts += [
            Text("\nlinks not followed, by reason", style="bold"),
            _reasons(status.blocks, meanings_of_blocks(run.settings)),
        ]
    return Group(*parts)


def _by_depth(status: RunStatus) -> Table:
    table = columns()
    table.add_column("depth", justify="right")
    for state in WikiState:
        table.add_column(state.value, justify="right", style=STYLES[state])
    table.add_column("all", justify="right")
    rows = [(str(depth), states) for depth, states in sorted(status.depths.items())]
    if len(rows) > DEPTHS_SHOWN:
        rest = sum((Counter(states) for _, states in rows[DEPTHS_SHOWN:]), Counter[WikiState]())
        rows = [*rows[:DEPTHS_SHOWN], (f"≥ {DEPTHS_SHOWN}", dict(rest))]
    for name, states in [*rows, ("all", dict(status.states))]:
        counts = [states.get(state, 0) for state in WikiState]
        table.add_row(name, *(f"{count:,}" if count else "·" for count in counts), f"{sum(counts):,}")
    means = status.mean_depths
    table.add_row("mean", *(f"{means[state]:.1f}" if state in means else "·" for state in WikiState), "", style="dim")
    return table


def _passes(status: RunStatus) -> Iterable[Text]:
    """Yield the passes of a run that has several, the latest ones."""
    if len(status.passes) > 1:
        shown = " · ".join(f"{one.sort} {one.state}" for one in status.passes[-PASSES_SHOWN:])
        earlier = "… " if len(status.passes) > PASSES_SHOWN else ""
        yield Text(f"passes: {earlier}{shown}", style="dim")


def _progress_line(status: RunStatus) -> str:
    parts = [f"{status.percent_complete:.0f} % of {counted(status.titles, 'title')} in the graph",
             f"{status.queue_size:,} waiting", f"{status.active:,} in work",
             f"{100 * status.failure_rate:.0f} % failed"]  # fmt: skip
    return " · ".join(parts)


def _graph_line(graph: GraphInfo) -> str:
    held = graph.counts
    return (
        f"the graph holds {counted(held.articles, 'article')}, {counted(held.sections, 'section')}, "
        f"{counted(held.categories, 'category', 'categories')}, {counted(held.links, 'link')}"
    )


def _vectors_line(graph: GraphInfo) -> str:
    if not graph.dimension:
        return "no vectors: searched by words"
    return f"vectors of {plain(graph.model_id)}, compared one by one"


def waits(status: RunStatus, *, now: float | None = None) -> list[str]:
    """Return the causes for which a run waits, a line each: hosts that pause, and what is missing."""
    now = time.time() if now is None else now
    paused = [
        f"{plain(one.name)} is not asked for another {span(one.until - now)}: {plain(one.reason)}"
        for one in status.paused
    ]
    missing = [f"waiting: {plain(reason)} ({counted(count, 'title')})" for reason, count in status.waiting.items()]
    return [*paused, *missing]


def _held_up(status: RunStatus, *, now: float | None = None) -> list[RenderableType]:
    """Return the awaited causes of a run, and its silent workers."""
    now = time.time() if now is None else now
    lines = waits(status, now=now)
    for one in status.stale[:STALE_SHOWN]:
        depth = "" if one.expansion_depth is None else f" at depth {one.expansion_depth}"
        lines.append(f"stale: {plain(one.title)}{depth}, claimed {span(now - one.claimed_at)} ago to {one.stage}")
    if len(status.stale) > STALE_SHOWN:
        lines.append(f"stale: {len(status.stale) - STALE_SHOWN:,} more claims of silent workers")
    return [Text("\n" + "\n".join(lines[:LINES_SHOWN]), style="yellow")] if lines else []


def _worked_on(status: RunStatus) -> bool:
    """Return whether a worker seems to serve the run: articles are claimed, or none waits and some were just loaded."""
    states = status.states
    if states[WikiState.CLAIMED]:
        return True
    return status.articles_per_second is not None and not states[WikiState.DISCOVERED]


def _idle(status: RunStatus, database: str) -> str:
    return f"nothing is being loaded just now; to continue:\n  {plain(command_of(status.run, database))}"


def _reasons(reasons: dict[str, int], meaning: dict[str, str]) -> Table:
    table = columns(header=None)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(style="dim")
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(f"{count:,}", Text(plain(reason)), Text(meaning.get(reason, "")))
    return table


def show_failed(failed: Sequence[FailedTitle]) -> Table:
    """Return the titles that are not articles of the run, with the reason."""
    table = columns()
    table.add_column("title", overflow="fold")
    table.add_column("reason", style="red")
    table.add_column("depth", justify="right")
    table.add_column("because", overflow="fold", style="dim")
    for one in failed:
        table.add_row(plain(one.title), plain(one.reason), f"{one.expansion_depth:,}", plain(one.detail))
    return table


def show_hit(hit: SearchHit, mark: str, width: int, *, url: str = "") -> Iterable[Text]:
    """Yield a search result behind its mark: where, how good, the passage that fits, and where it is read."""
    place = f"{plain(hit.title)} § {plain(hit.path or hit.heading)}" if hit.heading else plain(hit.title)
    yield Text.assemble(mark, (place, "bold"), (f"  {hit.score:.2f} · {_far(hit.expansion_depth)}", "dim"))
    indent = " " * len(mark)
    beginning = Text(indent + plain(" ".join(hit.passage.split()))[: 3 * width])
    beginning.truncate(min(width, 160), overflow="ellipsis")
    yield beginning
    if url:
        yield Text(indent + plain(url), style="dim")


def _far(depth: int) -> str:
    return "a seed" if depth == 0 else f"{counted(depth, 'link')} from a seed"


def discovery_tree(rows: Sequence[tuple[Any, ...]], *, width: int, depth: int) -> Iterable[Tree]:
    """Yield a part of how articles were found, from the rows of `questions.ARTICLES`: a tree per seed."""
    children: dict[str | None, list[tuple[str, str]]] = {}
    for key, title, *_, source, _ in sorted(rows, key=lambda row: (row[2], row[0])):
        children.setdefault(source, []).append((key, title))

    def grow(branch: Tree, key: str, levels: int) -> None:
        found = children.get(key, [])
        shown = found[:width] if levels else []
        for child, title in shown:
            grow(branch.add(Text(plain(title))), child, levels - 1)
        if len(found) > len(shown):
            branch.add(Text(f"… and {len(found) - len(shown):,} more" if shown else f"… {len(found):,}", style="dim"))

    for key, title in children.get(None, []):
        tree = Tree(Text(plain(title), style="bold"), guide_style="dim")
        grow(tree, key, depth)
        yield tree
