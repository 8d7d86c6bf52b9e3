"""The queue of another job finder becomes this pipeline's tasks."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from ramet.jobs.commands.group import jobs
from tests.jobs.commands.conftest import Place, refusal

ROWS = [
    {"id": "1", "type": "JOB", "url": "https://boards.greenhouse.io/acme/jobs/1", "status": "pending"},
    {"id": "2", "type": "COMPANY", "url": "https://acme.com", "company_name": "Acme", "status": "pending"},
]


def written(place: Place, rows: list[dict[str, str]]) -> Path:
    path = place.folder / "queue.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_become_listings_and_companies(place: Place) -> None:
    path = written(place, ROWS)
    checked = place.run("import", str(path), "--check")
    assert checked.exit_code == 0, checked.output
    assert "would create 2 tasks" in checked.stdout
    assert place.files() == {"queue.jsonl"}
    assert place.run("import", str(path)).exit_code == 0
    assert place.run("import", str(path), "--enforce").exit_code == 0
    tasks = [json.loads(line) for line in place.ramet("tasks", "--json").stdout.splitlines()]
    assert {(task["kind"], task["key"]) for task in tasks} == {
        ("LISTING", "https://boards.greenhouse.io/acme/jobs/1"), ("COMPANY", "acme.com"),
    }  # fmt: skip


def test_the_database_is_this_pipelines_unless_another_is_named(place: Place) -> None:
    path = written(place, ROWS)
    assert place.run("import", str(path), database=False).exit_code == 0
    assert "jobs.db" in place.files()


def test_a_row_that_is_none_is_one_line(place: Place) -> None:
    path = written(place, [{"id": "1", "type": "JOB", "url": "no address", "status": "confused"}])
    assert "line 1" in refusal(place.run("import", str(path)))
    assert place.files() == {"queue.jsonl"}
    assert refusal(place.run("import", "missing.jsonl"))


def test_it_is_a_part_of_the_command_line(place: Place) -> None:
    shown = place.run("import", "--help", database=False)
    assert shown.exit_code == 0
    assert "--enforce" in shown.stdout
    alone = CliRunner().invoke(jobs, ["import", "x.jsonl"])
    assert "run it as `ramet jobs import`" in str(alone.exception)
