"""Processes that work on one expansion together, killed and replaced while it goes on."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ramet.testing.postgres_server.programs import until
from ramet.testing.postgres_server.server import connect
from ramet.wiki.pipeline import TARGET
from ramet.wiki.runs import EMBEDDING, FETCHING, LOADING, PARSING
from tests.support.waiting import HANG_SECONDS
from tests.wiki.mediawiki import MediaWiki
from tests.wiki.mediawiki_pages import ATLAS
from tests.wiki.running.real_runs import ARTICLES_MAX, CONTACT, DEPTH_MAX, GRAPH

LEASE_SECONDS = 3
"""So soon after its worker was killed a claim comes back."""
SWEEP_SECONDS = 0.5
PROGRESS = """
    SELECT COUNT(*) + COUNT(loaded_at) + COUNT(processed_at) + COALESCE(SUM(links_count), 0) FROM wiki_articles"""
ENDED = "SELECT COUNT(*) FROM ramet_lineages WHERE live = 0"
LEFT = {
    "articles": "SELECT title_key, title, expansion_depth, wiki_state, discovered_from, links_count, error, alias_of, "
    "own_task FROM wiki_articles",
    "links": "SELECT source_key, targets FROM wiki_outlinks",
    "pages": "SELECT title_key FROM wiki_pages",
    "slots": "SELECT host, slot FROM wiki_host_slots",
}


def ask(database: str, sql: str) -> list[tuple[Any, ...]]:
    """The answer of a database, of either kind; sorted, as they sort texts differently."""
    if "://" in database:
        with connect(database) as connection:
            found = connection.execute(sql.encode()).fetchall()
    else:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=HANG_SECONDS)) as file:
            found = file.execute(sql).fetchall()
    return sorted((tuple(row) for row in found), key=repr)


def progress(database: str) -> int:
    """How many rows and moments are durable: grows with every step of an expansion."""
    [(rows,)] = ask(database, PROGRESS)
    return int(rows)


def left(database: str) -> dict[str, list[tuple[Any, ...]]]:
    """What the domain tables say when all is over, whatever happened meanwhile."""
    return {name: ask(database, sql) for name, sql in LEFT.items()}


def expand_command(wiki: MediaWiki, database: str, folder: Path) -> list[str]:
    """The command that expands the whole wiki into a folder."""
    bounds = ["--max-articles", str(ARTICLES_MAX), "--max-depth", str(DEPTH_MAX)]
    where = ["--db", database, "--graph", str(folder / GRAPH), "--data", str(folder / "data")]
    source = ["--source", wiki.api, "--contact", CONTACT, "--no-embed"]
    return [sys.executable, "-m", "ramet.cli", "wiki", "expand", ATLAS, *source, *where, *bounds]


def worker_command(database: str, *queues: str) -> list[str]:
    """The command of a worker for some stages."""
    served = [word for queue in queues for word in ("--queue", queue)]
    return [sys.executable, "-m", "ramet.cli", "worker", TARGET, "--db", database, *served, "--concurrency", "8"]


BEFORE_LOADING = (FETCHING, PARSING, EMBEDDING)
LOADER = (LOADING,)


class Crew:
    """Processes by name, each in a group of its own; what they say is in a file."""

    def __init__(self, database: str, folder: Path, commands: dict[str, list[str]]) -> None:
        self._database, self._folder, self._commands = database, folder, commands
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.kills = 0

    def start(self, *names: str) -> None:
        """Start some of them; all by default."""
        for name in names or self._commands:
            with self._log(name).open("ab") as log:
                self._running[name] = subprocess.Popen(
                    self._commands[name], stdout=log, stderr=log, start_new_session=True
                )

    def kill(self, name: str) -> None:
        """`kill -9` of a process with its children."""
        process = self._running.pop(name)
        if process.poll() is None:
            self.kills += 1
        with_children(process)

    def kill_at_random(self, names: Sequence[str], moments: Sequence[int], rng: random.Random) -> None:
        """At each of these moments of progress kill one and start it again."""
        for moment in moments:
            self.wait(lambda moment=moment: progress(self._database) >= moment or self.ended())
            if self.ended():
                return
            name = rng.choice(names)
            self.kill(name)
            self.start(name)

    def ended(self) -> bool:
        """Whether nothing of the run is live."""
        return ask(self._database, ENDED) != [(0,)]

    def wait(self, condition: Any, what: str = "progress") -> None:
        """Wait for something, as long as all of them work."""

        def looked() -> bool:
            self.check()
            return bool(condition())

        until(looked, what, seconds=HANG_SECONDS)

    def check(self) -> None:
        """Nobody has ended by themselves, but who had nothing left to do."""
        for name, process in self._running.items():
            if process.poll() not in (None, 0):
                raise AssertionError(f"{name} ended with {process.returncode}: {self._log(name).read_text()[-2000:]}")

    def close(self) -> None:
        """End all of them."""
        for process in self._running.values():
            with_children(process)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


def with_children(process: subprocess.Popen[bytes]) -> None:
    """End a process group at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def crew_of(database: str, folder: Path, commands: dict[str, list[str]]) -> Iterator[Crew]:
    """A crew that is gone afterwards; nobody works yet."""
    crew = Crew(database, folder, commands)
    try:
        yield crew
    finally:
        crew.close()


def moments_until(end: int, count: int, rng: random.Random) -> list[int]:
    """So many moments, spread over the progress; the last steps come in large strides, which a kill could miss."""
    return sorted(rng.randrange(1, int(end * 0.9)) for _ in range(count))
