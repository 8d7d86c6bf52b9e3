"""``ramet worker``: serve an app until a signal asks to drain."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

import click

from ramet import App, Client, RunReport, Worker
from ramet.cli.errors import CliError, say
from ramet.cli.options import Duration, database_option, find_modules_here, load
from ramet.cli.reload import SourceWatch, start_again
from ramet.commands.terminal import counted, plain
from ramet.engine.base import logs
from ramet.engine.base.logs import own_logger

log = own_logger("ramet.cli")

SAME_SIGNAL_SECONDS = 0.5
"""Launchers such as timeout(1) signal a process and then its group: two signals, one request."""

DRAIN_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Drainable(Protocol):
    """The part of a worker that signals reach."""

    @property
    def in_hand(self) -> int: ...
    def drain(self) -> None: ...
    def stop(self) -> None: ...


class WorkerOptions(NamedTuple):
    """Arguments of the command line."""

    target: str
    database: str
    queues: tuple[str, ...]
    kinds: tuple[str, ...]
    concurrency: int
    lease_seconds: float | None
    in_process: bool
    until_idle: bool
    once: bool
    run_seconds: float | None
    max_tasks: int | None
    reloads: bool


@click.command(short_help="Run the handlers of an app.")
@click.argument("target", metavar="APP", envvar="RAMET_APP")
@click.option(
    "--queue", "queues", multiple=True, help="Serve only this queue (repeatable; default: those of the kinds)."
)
@click.option("--kind", "kinds", multiple=True, help="Serve only this kind (repeatable; default: all of the app).")
@click.option("--concurrency", type=click.IntRange(1, 4_000), default=16, show_default=True, help="Handlers at once.")
@click.option(
    "--lease-seconds",
    type=click.FloatRange(min=1),
    help="How long a claim lives without a heartbeat (default: the setting worker.lease_seconds).",
)
@click.option("--in-process", is_flag=True, help="Run handlers in this process, not in a child: for debugging.")
@click.option(
    "--until-idle",
    is_flag=True,
    help="End when nothing that this worker serves is live; it waits for what is delayed, retried or snoozed.",
)
@click.option(
    "--once",
    is_flag=True,
    help="End when nothing that this worker serves is due: schedules and polls included, what is delayed is left.",
)
@click.option(
    "--for",
    "run_seconds",
    type=Duration(above=True),
    metavar="DURATION",
    help="End after so long, such as 50s or 5m: it drains before, and what still runs at the end goes back.",
)
@click.option("--reload", "reloads", is_flag=True, help="For development: begin again when a source file changes.")
@click.option("--max-tasks", type=click.IntRange(1), metavar="N", help="Claim N tasks and no more, then end.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="What to log; debug names every refused duplicate.",
)
@click.option("--json", "as_json", is_flag=True, help="Log JSON lines to standard output.")
@database_option
def worker(log_level: str, as_json: bool, **options: Any) -> None:
    """Run the handlers of APP: module:attribute, or a module or package with one app in it (environment: RAMET_APP).

    The first Ctrl-C, SIGTERM or SIGHUP drains: nothing more is claimed, running handlers end, the rest goes back. A
    second Ctrl-C or SIGTERM stops at once; what ran goes back too and will run again. With --reload a changed source
    file drains, a second change stops, and the worker begins again with what the files say then.

    With --once, --for or --max-tasks it ends by itself, for a cron job or a step of a pipeline, and says what it left.
    """
    if options["once"] and options["until_idle"]:
        raise CliError("--once and --until-idle contradict: leave --until-idle out to leave delayed tasks for later")
    logs.configure(logs.Format(log_level, as_json))
    arguments = WorkerOptions(**options)
    find_modules_here()
    watch = SourceWatch(arguments.target) if arguments.reloads else None
    try:
        code = asyncio.run(_serve(load(arguments.target), arguments, watch))
    except CliError as error:
        if watch is None:
            raise
        say(error)
        if not watch.due:  # Else it was a change that it met on its way.
            watch.loaded()
            asyncio.run(watch.changed())
        start_again()
    if watch is not None and watch.due:
        start_again()
    click.get_current_context().exit(code)


class Signals:
    """Handling of signals in a running worker."""

    def __init__(self, worker: Drainable, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._worker = worker
        self._monotonic = monotonic
        self._first_at = 0.0
        self.first: signal.Signals | None = None
        """The signal that asked for the drain."""
        self.stopped: signal.Signals | None = None
        """The signal that asked to stop without waiting."""

    def listen(self) -> None:
        """Take the signals over, in the running loop."""
        loop = asyncio.get_running_loop()
        for number in DRAIN_SIGNALS:
            loop.add_signal_handler(number, self.heard, number)

    def heard(self, number: signal.Signals) -> None:
        """Drain at the first signal, stop at a later one; SIGHUP never stops: a closing terminal may repeat it."""
        in_hand = counted(self._worker.in_hand, "task")
        if self.first is None:
            self.first, self._first_at = number, self._monotonic()
            log.warning("%s: draining, %s in progress; once more stops at once", number.name, in_hand)
            self._worker.drain()
        elif number == getattr(signal, "SIGHUP", None) or self.stopped is not None:
            return
        elif self._monotonic() - self._first_at >= SAME_SIGNAL_SECONDS:
            self.stopped = number
            log.warning("%s again: stopping, %s in progress go back", number.name, in_hand)
            self._worker.stop()


async def _serve(app: App, arguments: WorkerOptions, watch: SourceWatch | None) -> int:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(app.client(arguments.database))
        worker = _worker(app, client, arguments)
        signals = Signals(worker)
        signals.listen()
        log.info(
            "worker %s (pid %d) serves %s from %s, %d at once",
            worker.name,
            os.getpid(),
            ", ".join(arguments.kinds or [kind.name for kind in app.registry.kinds]),
            plain(client.place),
            arguments.concurrency,
        )
        if watch is not None:
            watch.loaded()
            stack.callback(asyncio.create_task(watch.drain(worker)).cancel)
        try:
            await worker.run()
        except RuntimeError as error:
            # A terminal's Ctrl-C can reach the handler process before it is ready.
            if signals.first is None:
                raise CliError(str(error)) from error
        log.info("worker %s ended; %s settled", worker.name, counted(worker.settled, "task"))
        if watch is not None and signals.first is not None:
            watch.due = False  # It was asked to end, whatever changed.
        if arguments.once or arguments.run_seconds is not None or arguments.max_tasks is not None:
            log.info("%s", report_words(await worker.report()))
            return 0 if signals.stopped is None else 128 + signals.stopped
        return await _exit_code(app, client, arguments, signals)


_ENDS = {
    "nothing_due": "nothing is due any more",
    "time": "the time is over",
    "tasks": "it claimed as many tasks as it may",
    "drained": "it was asked to drain",
}


def report_words(report: RunReport) -> str:
    """Say what a bounded run did, and what it leaves for the next."""
    states = ", ".join(f"{number} {state}" for state, number in report.states.items())
    left = f"{counted(report.due, 'task')} due"
    if report.next_due_at is not None:
        first = datetime.fromtimestamp(report.next_due_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        left += f" and {report.delayed} delayed, the first until {first}"
    return f"{_ENDS[report.ended]}; settled: {states or 'nothing'}; left: {left}"


def _worker(app: App, client: Client, arguments: WorkerOptions) -> Worker:
    for name in arguments.kinds:
        app.registry.get(name)
    try:
        return Worker(
            app,
            client,
            target=None if arguments.in_process else arguments.target,
            kinds=arguments.kinds or None,
            queues=arguments.queues or None,
            concurrency=arguments.concurrency,
            lease_seconds=arguments.lease_seconds,
            until_idle=arguments.until_idle,
            once=arguments.once,
            run_seconds=arguments.run_seconds,
            max_tasks=arguments.max_tasks,
        )
    except ValueError as error:
        raise CliError(f"{arguments.target}: {error}") from error


async def _exit_code(app: App, client: Client, arguments: WorkerOptions, signals: Signals) -> int:
    """Return 0 for a drain or no work left, 128 + the signal for a stop, 1 when the handlers' process failed."""
    if signals.stopped is not None:
        return 128 + signals.stopped
    if signals.first is not None:
        return 0
    kinds = arguments.kinds or [kind.name for kind in app.registry.kinds]
    return 0 if arguments.until_idle and await client.store.idle(kinds) else 1
