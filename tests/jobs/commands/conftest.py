"""The commands in a folder of their own, over rows that a task of the test writes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pydantic import BaseModel

from ramet import App, Context, Worker
from ramet.cli import main
from ramet.engine.base.clock import new_id
from ramet.jobs.app import app
from ramet.jobs.commands.group import jobs

DAY = 86_400.0
WRITER = "tests.write"


class Rows(BaseModel):
    """Statements to run."""

    statements: list[tuple[str, list[Any]]]


def writing() -> App:
    """An app that writes what it is told, into the pipeline's tables."""
    from ramet.jobs.app import DEFINITIONS

    made = App(tables=DEFINITIONS)

    @made.task(WRITER, key=lambda payload: new_id(), queue=WRITER)
    async def write(ctx: Context, payload: Rows) -> None:
        for sql, parameters in payload.statements:
            ctx.write(sql, parameters)

    return made


@dataclass
class Place:
    """A folder to run commands in."""

    folder: Path
    database: str

    def run(self, *words: str, database: bool = True) -> Result:
        """A command, in this process."""
        where = ("--db", self.database) if database else ()
        main.add_command(jobs)
        return CliRunner().invoke(main, ["jobs", *words, *where])

    def ramet(self, *words: str) -> Result:
        """A command of the engine."""
        return CliRunner().invoke(main, [*words, "--db", self.database])

    def told(self, *words: str) -> Any:
        """What a command says with --json."""
        result = self.run(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def write(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> str:
        """Run statements in one transaction, by a task; its id."""

        async def wrote() -> str:
            made = writing()
            async with made.client(self.database) as client:
                rows = Rows(statements=[(sql, list(parameters)) for sql, parameters in statements])
                told = await client.submit(WRITER, rows)
                await Worker(made, client, until_ended=told.tracking_id).run()
                task = await client.get(told.id)
                assert task is not None
                assert task.state == "success", task.error
                return told.id

        return asyncio.run(wrote())

    def add(self, table: str, **values: Any) -> None:
        """A row; lists and objects become JSON."""
        kept = [json.dumps(value) if isinstance(value, list | dict) else value for value in values.values()]
        marks = ", ".join("?" for _ in kept)
        self.write([(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", kept)])

    def add_listing(self, listing_id: str, **values: Any) -> str:
        """A listing; its id."""
        now = time.time()
        usual: dict[str, Any] = {
            "url": listing_id, "title": "Senior Python Engineer", "company": "Acme", "location": "Portland, OR",
            "status": "filtered", "first_seen_at": now - DAY, "last_seen_at": now, "posted_at": now - 3 * DAY,
            "tracking_id": "run", "task_id": new_id(), "spawn_depth": 2,
        }  # fmt: skip
        self.add("jobs_listings", **{"listing_id": listing_id, **usual, **values})
        return listing_id

    def add_match(self, listing_id: str, worth: float, **values: Any) -> str:
        """A match with its listing; its id."""
        now = time.time()
        of_listing = {name: values.pop(name) for name in LISTING_FIELDS if name in values}
        self.add_listing(listing_id, **{"status": "matched", **of_listing})
        usual: dict[str, Any] = {
            "tracking_id": "run", "match_score": worth, "static_score": worth, "application_priority": "High",
            "adjustments": [{"category": "skills", "reason": "4 of 5 wanted", "points": 30}],
            "matched_skills": ["python", "react"], "missing_skills": ["go"], "method": "rules", "saved_at": now,
        }  # fmt: skip
        self.add("jobs_matches", **{"listing_id": listing_id, **usual, **values})
        return listing_id

    def add_source(self, source_id: str, **values: Any) -> str:
        """A source; its id."""
        now = time.time()
        usual: dict[str, Any] = {
            "name": "Acme", "source_type": "greenhouse", "url": "https://boards.greenhouse.io/acme",
            "instruction": {"type": "json"}, "status": "active", "confidence": "high", "discovered_at": now - DAY,
            "allow_empty": 0, "last_scraped_at": now - 3_600, "last_status": "success", "last_count": 12,
            "most_listings": 12, "suspect": 0, "tracking_id": "run", "task_id": "t", "spawn_depth": 1,
            "updated_at": now,
        }  # fmt: skip
        self.add("jobs_sources", **{"source_id": source_id, **usual, **values})
        return source_id

    def files(self) -> set[str]:
        """What there is in the folder."""
        return {path.name for path in self.folder.iterdir()}


LISTING_FIELDS = (
    "url", "title", "company", "location", "salary_min", "salary_max", "salary_currency", "closed_at", "score", "facts",
    "filter_result", "company_id", "source_id", "description", "posted_at",
    "fingerprint", "text_hash",
)  # fmt: skip


def refusal(result: Result) -> str:
    """The one line of a command that was refused."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    [line] = result.stderr.splitlines()
    assert line.startswith("ramet: ")
    return line.removeprefix("ramet: ")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """An empty folder."""
    monkeypatch.delenv("RAMET_DB", raising=False)
    monkeypatch.chdir(tmp_path)
    assert app is not None
    return Place(tmp_path, str(tmp_path / "jobs.db"))
