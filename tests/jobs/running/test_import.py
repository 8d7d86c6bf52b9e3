"""Rows of the queue that the pipeline was designed for: a JOB is a LISTING, a company's sub-tasks are the company."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from ramet.cli import main
from ramet.jobs import pipeline

ROWS = [
    {"id": "1", "type": "COMPANY", "url": "https://acme.example/", "company_name": "Acme", "status": "pending",
     "company_sub_task": "fetch", "tracking_id": "t1"},
    {"id": "2", "type": "COMPANY", "url": "https://acme.example/", "company_name": "Acme", "status": "pending",
     "company_sub_task": "extract", "tracking_id": "t1", "parent_item_id": "1"},
    {"id": "3", "type": "JOB", "url": "https://acme.example/jobs/1?utm_source=x", "company_name": "Acme",
     "status": "pending", "tracking_id": "t1", "parent_item_id": "1"},
    {"id": "4", "type": "job", "url": "https://birch.example/jobs/7", "status": "failed", "error_details": "boom"},
]  # fmt: skip


def test_jobs_are_listings_and_sub_tasks_are_their_company(tmp_path: Path) -> None:
    file, database = tmp_path / "queue.jsonl", str(tmp_path / "jobs.db")
    file.write_text("\n".join(json.dumps(row) for row in ROWS))
    command = ["import", str(file), "--kinds", pipeline.TARGET, "--db", database]
    for step in (["--check"], [], ["--enforce"]):
        done = CliRunner().invoke(main, [*command, *step], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    with pipeline.app.sync_client(database) as client:
        tasks = list(client.all_tasks())
    found = sorted((task.kind, task.key, str(task.state)) for task in tasks)
    assert [row for row in found if row[2] in ("pending", "failed")] == [
        ("COMPANY", "acme.example", "pending"),
        ("LISTING", "https://acme.example/jobs/1", "pending"),
        ("LISTING", "https://birch.example/jobs/7", "failed"),
    ]
