"""``python -m benchmarks.compare``: every entrant in turns, beside a bare loop of the same rows, in one run."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

import ramet
from benchmarks import measure, report
from benchmarks.arithmetic import Drain, percentile
from benchmarks.engine import bare_loop, bare_loop_postgres
from benchmarks.engine.places import PostgresPlace
from benchmarks.entrants import ENTRANTS, RAMET_MIXED, Entrant, Failed, NotInstalled, before, commit
from benchmarks.peers.role import TEXT
from benchmarks.places import Database, fresh
from ramet.testing.postgres import Cluster

BATCH = 1_000
Answer = TypeVar("Answer")


class Size(NamedTuple):
    """How much to measure."""

    tasks: int
    repeats: int
    seconds_max: float
    """Of one drain; a peer that is not done by then is cut, and its rate is of what it ran."""
    levels: int
    """Generations below the root of the spawn tree."""
    samples: int
    """Pick-ups, in each turn."""
    kill_tasks: int
    kill_wait_seconds: float


QUICK = Size(3_000, 1, 5.0, 3, 30, 500, 20.0)
USUAL = Size(10_000, 3, 10.0, 4, 100, 2_000, 60.0)
REPEATED = ("drains_1", "drains_2", "trees", "mixed", "latency")
"""Parts that every turn measures anew."""


class Run:
    """One comparison on one kind of database."""

    def __init__(self, store: str, entrants: Sequence[Entrant], size: Size, server: str | None) -> None:
        self.store = store
        self.entrants = list(entrants)
        self.size = size
        self.server = server
        self.found: dict[str, dict[str, Any]] = defaultdict(dict)
        self.bare: list[dict[str, float]] = []
        self.version = ""

    def all(self) -> dict[str, Any]:
        """Measure everything; an entrant that fails is told with its reason and takes no further part."""
        for entrant in list(self.entrants):
            self._try(entrant, "about", self._about)
        for turn in range(1, self.size.repeats + 1):
            self._bare(turn)
            # There and back, so that nobody always follows the same one.
            for entrant in list(self.entrants)[:: 1 if turn % 2 else -1]:
                self._turn(turn, entrant)
        for entrant in list(self.entrants):
            if entrant.checkout is None:
                _tell(f"a kill: {entrant.title}")
                self._try(entrant, "kill", self._kill)
        return {"bare": self.bare, "entrants": dict(self.found), "version": self.version}

    def _turn(self, turn: int, entrant: Entrant) -> None:
        noops = measure.noops(self.size.tasks), measure.noops(2 * self.size.tasks)
        parts: list[tuple[str, Callable[..., dict[str, Any]], tuple[Any, ...]]] = [
            ("drains_1", self._drain, (noops[0], 1)),
            ("drains_2", self._drain, (noops[1], 2)),
            ("trees", self._drain, (measure.tree(self.size.levels), 1)),
            ("latency", self._latency, ()),
        ]
        if entrant.is_ramet:
            parts.append(("mixed", self._mixed, ()))
        for name, work, words in parts:
            _tell(f"turn {turn} of {self.size.repeats}: {entrant.title}, {name}")
            self._try(entrant, name, work, *words)

    def _try(self, entrant: Entrant, name: str, work: Callable[..., dict[str, Any]], *words: Any) -> None:
        if entrant not in self.entrants:
            return
        try:
            with self._place() as (database, folder):
                answer = work(entrant, database, folder, *words)
        except (Failed, NotInstalled, ValueError, TimeoutError) as error:
            _tell(f"  {error}")
            self.found[entrant.name]["failed"] = str(error)
            self.entrants.remove(entrant)
            return
        if name in REPEATED:
            self.found[entrant.name].setdefault(name, []).append(answer)
        else:
            self.found[entrant.name][name] = answer

    @contextmanager
    def _place(self) -> Iterator[tuple[Database, Path]]:
        with (
            tempfile.TemporaryDirectory(prefix="ramet-bench-") as folder,
            fresh(self.store, Path(folder), self.server) as database,
        ):
            yield database, Path(folder)

    def _about(self, entrant: Entrant, database: Database, folder: Path) -> dict[str, Any]:
        self.version = database.version()
        entrant.ask(folder, "prepare", database.address)
        told = entrant.ask(folder, "about", database.address)
        told["durability"] = told["durability"] or database.durability()
        if entrant.is_ramet:
            told["versions"]["ramet"] += f" {commit(entrant.checkout)}".rstrip()
        return told

    def _drain(
        self, entrant: Entrant, database: Database, folder: Path, load: measure.Load, workers: int
    ) -> dict[str, Any]:
        found: Drain = measure.drain(
            entrant,
            database,
            folder,
            self.found[entrant.name]["about"]["unfinished"],
            load,
            workers=workers,
            seconds_max=self.size.seconds_max,
        )
        _tell(f"  {found.drain_per_s:,.0f} per second{' (cut)' if found.cut else ''}")
        return found._asdict()

    def _mixed(self, entrant: Entrant, database: Database, folder: Path) -> dict[str, Any]:
        program = entrant._replace(module=RAMET_MIXED)
        return self._drain(program, database, folder, measure.mixed(self.size.tasks), 1)

    def _latency(self, entrant: Entrant, database: Database, folder: Path) -> dict[str, Any]:
        found = measure.pick_up(entrant, database, folder, self.size.samples)
        return {
            "p50_ms": percentile(found.latencies_ms, 0.5),
            "p99_ms": percentile(found.latencies_ms, 0.99),
            "submit_p50_ms": percentile(found.submits_ms, 0.5),
        }

    def _kill(self, entrant: Entrant, database: Database, folder: Path) -> dict[str, Any]:
        wait = self.size.kill_wait_seconds
        return measure.kill(entrant, database, folder, tasks=self.size.kill_tasks, wait_seconds=wait)._asdict()

    def _bare(self, turn: int) -> None:
        _tell(f"turn {turn} of {self.size.repeats}: the bare loop")
        with self._place() as (database, folder):
            if self.store == "sqlite":
                self.bare.append(bare_loop.run(folder, self.size.tasks, BATCH, TEXT)._asdict())
            else:
                self.bare.append(bare_loop_postgres.run(database.address, self.size.tasks, BATCH, TEXT)._asdict())
        _tell(f"  {self.bare[-1]['drain_per_s']:,.0f} per second")


@contextmanager
def _server(store: str, given: str | None) -> Iterator[str | None]:
    """The one that was given, or one of our own, as durable as it comes."""
    if store == "sqlite":
        yield None
    elif given is not None:
        PostgresPlace(given)  # one line now, where it cannot be used
        yield given
    else:
        with Cluster(durable=True) as cluster:
            yield cluster.url()


def _tell(text: str) -> None:
    click.echo(text, err=True)


def machine() -> dict[str, Any]:
    """Under which conditions."""
    return {
        "ramet": ramet.__version__,
        "python": platform.python_version(),
        "day": datetime.now(UTC).date().isoformat(),
        "processors": os.cpu_count(),
        "system": sys.platform,
        "load": load(),
    }


def load() -> float:
    """How busy the machine is, with ourselves in it."""
    return round(os.getloadavg()[0], 1)


@click.command()
@click.option("--store", "stores", type=click.Choice(["sqlite", "postgres"]), multiple=True, help="Default: both.")
@click.option("--peer", "peers", multiple=True, help="Only this one beside ramet (repeatable; default: all).")
@click.option(
    "--before",
    "checkout",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A checkout of ramet that takes part too.",
)
@click.option("--quick", is_flag=True, help="Small and once: to see that it works.")
@click.option("--tasks", type=click.IntRange(min=100), help="Tasks a drain, for each worker.")
@click.option("--repeats", type=click.IntRange(min=1), help="Turns.")
@click.option("--server", metavar="URL", help="A PostgreSQL that may be used (default: one is started for this run).")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, nothing else.")
@click.option("--write", "page", type=click.Path(dir_okay=False, path_type=Path), help="Put the tables into this page.")
def main(
    *,
    stores: tuple[str, ...],
    peers: tuple[str, ...],
    checkout: Path | None,
    quick: bool,
    tasks: int | None,
    repeats: int | None,
    server: str | None,
    as_json: bool,
    page: Path | None,
) -> None:
    """Compare ramet with other queues on this machine."""
    size = QUICK if quick else USUAL
    size = size._replace(tasks=tasks or size.tasks, repeats=repeats or size.repeats)
    known = {entrant.name for entrant in ENTRANTS}
    if set(peers) - known:
        raise click.UsageError(f"no peer {sorted(set(peers) - known)[0]!r}: there are {', '.join(sorted(known))}")
    if checkout is not None and not (checkout / "src" / "ramet").is_dir():
        raise click.UsageError(f"{checkout} is not a checkout of ramet: src/ramet is not there")
    if page is not None:
        try:
            report.check(page)
        except (OSError, ValueError) as error:
            raise click.UsageError(str(error)) from error
    # Ended in good order, so that no worker of a peer stays behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    found: dict[str, Any] = {"machine": machine(), "size": size._asdict()}
    for store in stores or ("sqlite", "postgres"):
        chosen = [each for each in ENTRANTS if each.store == store and (not peers or each.name in {*peers, "ramet"})]
        if checkout is not None:
            chosen.insert(1, before(checkout.resolve(), store))
        with _server(store, server) as address:
            found[store] = Run(store, chosen, size, address).all()
    found["machine"]["load_after"] = load()
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(report.text(found))
    if page is not None:
        report.write(page, found)


if __name__ == "__main__":
    main()
