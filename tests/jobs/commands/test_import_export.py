"""The queue of the job finder that this pipeline took over from, as its document store and its tables export it."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from tests.jobs.commands.conftest import Place

AT = 1_761_161_410


def dated(n: int) -> dict[str, int]:
    return {"_seconds": AT + n, "_nanoseconds": 179_000_000}


def discovery(n: int, status: str, **more: Any) -> dict[str, Any]:
    """An address to look at: the row has none itself."""
    config = {"type_hint": "auto", "url": f"https://board{n}.example/jobs", "company_name": f"Firm {n}",
              "auto_enable": True, "validation_required": n % 2 == 0}  # fmt: skip
    return {"id": f"d{n}", "type": "source_discovery", "status": status, "url": "", "source_discovery_config": config,
            "company_name": "", "ancestry_chain": [], "spawn_depth": 0, "retry_count": 0, "max_retries": 3,
            "tracking_id": f"t{n}", "created_at": dated(n), "updated_at": dated(n + 60), "completed_at": None,
            "result_message": None, "source": "user_submission", **more}  # fmt: skip


def documents() -> list[dict[str, Any]]:
    """Twenty-five of them: discoveries in all states, listings in mid-pipeline, a company with two steps."""
    statuses = ["failed"] * 6 + ["pending"] * 4 + ["success"] * 3 + ["processing"] * 2
    rows = [discovery(n, status) for n, status in enumerate(statuses)]
    for n in range(8):
        status = ("pending", "success", "filtered", "skipped")[n % 4]
        rows.append(
            {"id": f"j{n}", "type": "job", "url": f"https://firm{n}.example/jobs/{n}?utm_source=mail", "status": status,
             "tracking_id": f"j{n}", "company_name": f"Firm {n}", "spawn_depth": 3, "ancestry_chain": [f"j{n}", "away"],
             "pipeline_state": {"job_data": {"title": "Baker"}}, "created_at": dated(n), "completed_at": dated(n + 9)}
        )  # fmt: skip
    company = {"type": "company", "url": "https://acme.example", "company_name": "Acme", "tracking_id": "c"}
    rows.append({**company, "id": "c1", "company_sub_task": "fetch", "status": "success"})
    rows.append({**company, "id": "c2", "company_sub_task": "extract", "status": "pending", "parent_item_id": "c1"})
    return rows


def tasks(place: Place) -> dict[str, dict[str, Any]]:
    """What arrived, by id; history keeps no key of its own."""
    states = ("pending", "success", "failed", "filtered", "skipped")
    found = [place.ramet("tasks", "--state", state, "--limit", "100", "--json") for state in states]
    return {task["id"]: task for one in found for task in map(json.loads, one.stdout.splitlines())}


def test_an_export_of_documents_arrives_as_it_is(place: Place) -> None:
    path = place.folder / "export.json"
    path.write_text(json.dumps({"documents": documents()}))
    for step in (["--check"], [], ["--enforce"]):
        done = place.run("import", str(path), *step)
        assert done.exit_code == 0, done.output
    found = tasks(place)
    assert Counter(task["state"] for task in found.values()) == {
        "failed": 6, "pending": 9, "success": 6, "filtered": 2, "skipped": 2,
    }  # fmt: skip
    failed, processing = found["d4"], found["d13"]
    assert (failed["kind"], failed["key"], failed["state"]) == (
        "SOURCE_DISCOVERY", "https://board4.example/jobs", "failed",
    )  # fmt: skip
    assert (failed["created_at"], failed["tracking_id"]) == (AT + 4, "t4")
    told = failed["payload"]
    assert (told["company_name"], told["validation_required"], found["d5"]["payload"]["validation_required"]) == (
        "Firm 4", True, False,
    )  # fmt: skip
    assert (processing["state"], found["c2"]["state"], found["c2"]["key"]) == ("pending", "pending", "acme.example")
    assert (found["j4"]["key"], found["j4"]["spawn_depth"]) == ("https://firm4.example/jobs/4", 3)


def test_the_one_document_of_the_report_arrives(place: Place) -> None:
    path = place.folder / "export.jsonl"
    path.write_text(json.dumps(discovery(7, "failed")))
    assert place.run("import", str(path)).exit_code == 0
    [task] = tasks(place).values()
    assert (task["key"], task["payload"]["url"]) == ("https://board7.example/jobs",) * 2


def test_an_ended_listing_is_not_scraped_again_and_a_company_is_looked_at_again(place: Place) -> None:
    rows = [{"id": "l", "type": "job", "status": "success", "url": "https://acme.example/jobs/1"},
            {"id": "c", "type": "company", "status": "success", "url": "https://acme.example"}]  # fmt: skip
    path = place.folder / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert place.run("import", str(path)).exit_code == 0
    with sqlite3.connect(place.database) as db:
        assert db.execute("SELECT kind, holder, state FROM ramet_uniques").fetchall() == [("LISTING", "l", "success")]
    db.close()


def test_a_table_with_its_payload_in_a_json_column_arrives(place: Place) -> None:
    path: Path = place.folder / "finder.db"
    said = {"source_discovery_config": {"url": "https://board1.example/jobs", "company_name": "Firm 1",
                                        "validation_required": True}}  # fmt: skip
    read = {"job_data": {"title": "Baker", "description": "We bake bread."}}
    acme = "https://acme.example"
    rows = [
        ("1", "source_discovery", "failed", None, said, {"error": "it timed out"}),
        ("2", "company", "pending", acme, {"company_name": "Acme", "company_sub_task": "extract"}, None),
        ("3", "company", "success", acme, {"company_name": "Acme", "company_sub_task": "fetch"}, None),
        ("4", "job", "processing", None, {"url": f"{acme}/jobs/4", "pipeline_state": read}, None),
        ("5", "job", "pending", f"{acme}/jobs/5", {"url": "https://other.example/"}, {"passed": True}),
    ]
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE job_queue (id, type, status, url, input, output, tracking_id, created_at)")
        db.executemany(
            "INSERT INTO job_queue VALUES (?, ?, ?, ?, ?, ?, 'T', '2025-11-01T12:00:00Z')",
            [(*row[:4], json.dumps(row[4]), row[5] and json.dumps(row[5])) for row in rows],
        )
    db.close()
    done = place.run("import", str(path), "--table", "job_queue")
    assert done.exit_code == 0, done.output
    assert place.run("import", str(path), "--table", "job_queue", "--enforce").exit_code == 0
    found = tasks(place)
    one, listing = found["1"], found["4"]
    assert (one["key"], one["payload"]["company_name"], one["payload"]["validation_required"]) == (
        "https://board1.example/jobs", "Firm 1", True,
    )  # fmt: skip
    assert (found["2"]["state"], found["2"]["key"], found["2"]["payload"]["name"]) == (
        "pending",
        "acme.example",
        "Acme",
    )
    assert (listing["key"], found["5"]["key"]) == ("https://acme.example/jobs/4", "https://acme.example/jobs/5")
    with sqlite3.connect(place.database) as db:
        [(state,)] = db.execute("SELECT pipeline_state FROM ramet_checkpoints")
    db.close()
    assert json.loads(state) == {"posting": read["job_data"]}
