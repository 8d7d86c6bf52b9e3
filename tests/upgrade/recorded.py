"""A database as a version of ramet left it: its schema in both dialects, and rows in every table, kept as a file.

``python -m tests.upgrade.recorded`` writes the file of the present version. The file of a released version is never
written again: what was released is out there.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from ramet.engine.client.schedules import Schedules
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.loops import tick
from ramet.model.flow.resources import WorkerStatus
from ramet.model.lineage.limits import Limits
from ramet.store.postgres.migrate import translated_steps
from ramet.store.schema.versions import PLAN
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.store.scenarios import every_verb
from tests.support.world import EFFECTS, SettableClock, World

FOLDER = Path(__file__).parent / "recorded"
Recorded = dict[str, Any]


def path_of(version: int) -> Path:
    """Where the file of a version is."""
    return FOLDER / f"v{version}.json"


def recorded(version: int = PLAN.version) -> Recorded:
    """A version's schema and rows; the present one's by default."""
    found: Recorded = json.loads(path_of(version).read_text(encoding="utf-8"))
    return found


def schema_now() -> Recorded:
    """The present version's statements, from an empty database on."""
    every = [list(step) for step in translated_steps(PLAN)]
    return {"sqlite": [s for step in PLAN.steps for s in step], "postgres": [s for step in every for s in step]}


async def _fill(path: Path) -> list[str]:
    """Rows in every table; what the checker says of the scenario's deliberate mistakes."""
    clock = SettableClock()
    store = SqliteStore(path, clock=clock, inline=True)
    world = World(store, clock)
    await world.store.ensure_tables([EFFECTS])
    for part in (every_verb.submit_and_settle, every_verb.commit_at_once, every_verb.spend, every_verb.bind_and_settle,
                 every_verb.go_through_stages, every_verb.follow_an_end, every_verb.end_from_outside,
                 every_verb.flow_control, every_verb.guard, every_verb.ask, every_verb.stand_in_line,
                 every_verb.join_and_go_on):  # fmt: skip
        await part(world)
    await Schedules(Registry(Limits()), world.store, Limits()).add("page", every_seconds=60.0)
    clock.advance(61.0)
    await tick(world.store, 60.0, Limits())
    await every_verb.rates(world)
    await world.store.stop("domain", "stopped.example", by="test")
    # Inline, nothing is measured: what is recorded may not depend on how long something took.
    store._timer.give_back({("claim", 4): (1, 0.02)})
    await world.store.see_worker(WorkerStatus("w", "here", 1, ("page",), ("default",), 4, clock.now, clock.now))
    ids = await world.submit(*(world.task(f"waiting {n}", priority=9) for n in range(3)), tracking_id="waiting")
    await world.submit(*(world.task(f"late {n}", delay_seconds=n * 10.0) for n in range(3)), tracking_id="late")
    waiter, _ = await world.claim(2)
    await world.store.note_wait(waiter.standing.seq, waiter.standing.fence, ids[2])
    await world.store.pause_path(("shut",), by="test")
    await world.store.cancel(ids[0], tree=False, by="test")
    await every_verb.set_aside_and_add(world)  # Last: the next claim follows what it leaves.
    found = await violations(world.store)
    await world.store.close()
    return found


def rows_of(connection: sqlite3.Connection) -> dict[str, Any]:
    """Columns and rows of all of our tables, in the order of their first columns."""
    found = {}
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'ramet_%'")
    for (table,) in sorted(tables.fetchall()):
        asked = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
        found[table] = {"columns": [column[0] for column in asked.description], "rows": asked.fetchall()}
    return found


def record() -> Recorded:
    """Make one of the present version."""
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_fill(Path(folder) / "ramet.db"))
        with closing(sqlite3.connect(Path(folder) / "ramet.db")) as connection:
            return {**schema_now(), "violations": found, "rows": rows_of(connection)}


def _coded(value: object) -> object:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    raise TypeError(type(value).__name__)


def decoded(row: list[Any]) -> list[Any]:
    """A row as it goes into a database."""
    return [base64.b64decode(value["bytes"]) if isinstance(value, dict) else value for value in row]


def make_sqlite(path: Path, of: Recorded) -> None:
    """The database as a file."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in of["sqlite"]:
            connection.execute(statement)
        connection.execute("DELETE FROM ramet_counters")
        for table, held in of["rows"].items():
            marks = ", ".join("?" * len(held["columns"]))
            sql = f"INSERT INTO {table} ({', '.join(held['columns'])}) VALUES ({marks})"
            connection.executemany(sql, [decoded(row) for row in held["rows"]])
        connection.commit()


def make_postgres(url: str, of: Recorded) -> None:
    """The database on a server; task numbers go on after the highest."""
    with psycopg.connect(url) as connection:
        for statement in of["postgres"]:
            connection.execute(statement.encode())
        connection.execute("DELETE FROM ramet_counters")
        for table, held in of["rows"].items():
            sql = f"COPY {table} ({', '.join(held['columns'])}) FROM STDIN"
            with connection.cursor().copy(sql.encode()) as copy:
                for row in held["rows"]:
                    copy.write_row(decoded(row))
        connection.execute("SELECT setval('ramet_task_numbers', (SELECT MAX(seq) FROM ramet_tasks))")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(record(), default=_coded, indent=0, ensure_ascii=False)
    path_of(PLAN.version).write_text(text + "\n", encoding="utf-8")
