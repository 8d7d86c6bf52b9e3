"""The tables of the job finder that this pipeline took over from: companies, sources, and matches with their status."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.commands.conftest import Place
from tests.jobs.world.openings import made_up
from tests.jobs.world.world import World

WHEN = "2025-11-01T12:00:00Z"
COMPANIES = [
    {"id": "c1", "name": "Acme", "name_lower": "acme", "website": "https://www.acme.example/about",
     "about": "Acme builds ferries. " * 10, "culture": "We work where we like, and write things down. " * 3,
     "tech_stack": '["python", "go"]', "tier": "A", "priority_score": 112.0, "created_at": WHEN, "updated_at": WHEN},
    {"id": "c2", "name": "Birch", "website": None, "tech_stack": "[]", "tier": "Z", "created_at": WHEN},
    {"id": "c3", "name": "", "website": "https://nameless.example"},
]  # fmt: skip
SOURCES = [
    {"id": "s1", "name": "Acme Jobs", "source_type": "greenhouse", "status": "active",
     "config_json": '{"board_token": "acme"}', "company_id": "c1", "company_name": "Acme"},
    {"id": "s2", "name": "Birch", "source_type": "greenhouse", "status": "disabled",
     "config_json": '{"board_token": "birch"}', "company_id": "c2", "company_name": "Birch"},
    {"id": "s3", "name": "None", "source_type": "api", "status": "active", "config_json": "{}"},
]  # fmt: skip
LISTINGS = [
    {"id": "l1", "url": "https://boards.greenhouse.io/acme/jobs/900?gh_src=x", "title": "Senior Python Engineer",
     "company_name": "Acme", "company_id": "c1", "location": "Remote",
     "description": "Python and Go. The salary is $150,000 a year.",
     "posted_date": WHEN, "status": "analyzed"},
    {"id": "l2", "url": "https://birch.example/jobs/2", "title": "Baker", "company_name": "Birch", "description": "x"},
]  # fmt: skip
MATCHES = [
    {"id": "m1", "job_listing_id": "l1", "match_score": 91, "matched_skills": '["python"]', "missing_skills": "[]",
     "match_reasons": '["it is remote"]', "status": "applied", "status_note": "sent on Monday", "applied_at": WHEN},
    {"id": "m2", "job_listing_id": "l2", "match_score": 72, "status": "ignored", "ignored_at": WHEN},
    {"id": "m3", "job_listing_id": "gone", "match_score": 80, "status": "active"},
]  # fmt: skip
QUEUE = [{"id": "q1", "type": "job", "status": "success", "url": "https://acme.example/jobs/1", "created_at": WHEN}]
TABLES: dict[str, Any] = {
    "companies": COMPANIES, "job_sources": SOURCES, "job_listings": LISTINGS, "job_matches": MATCHES,
}  # fmt: skip


def database(place: Place, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
    path = place.folder / "finder.sqlite"
    with sqlite3.connect(path) as made:
        for name, rows in tables.items():
            columns = list(dict.fromkeys(column for row in rows for column in row))
            made.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" for _ in columns)
            made.executemany(
                f"INSERT INTO {name} VALUES ({marks})", [[row.get(column) for column in columns] for row in rows]
            )
    made.close()
    return path


def check_taken_over(place: Place) -> None:
    """What was known there is shown by the commands."""
    companies = {one["company_id"]: one for one in place.told("company", "list")}
    assert {name: (one["name"], one["tier"], one["status"]) for name, one in companies.items()} == {
        "acme.example": ("Acme", "A", "active"), "name:birch": ("Birch", None, "pending"),
    }  # fmt: skip
    sources = {one["source_id"]: one["status"] for one in place.told("sources", "list")}
    assert sources == {"greenhouse:acme": "pending_validation", "greenhouse:birch": "disabled"}
    shown = {one["title"]: one for one in place.told("matches", "--all")}
    senior = shown["Senior Python Engineer"]
    assert (senior["match_score"], senior["application_priority"], senior["url"]) == (91, "High", LISTINGS[0]["url"])
    assert (senior["status"], senior["note"]) == ("applied", "sent on Monday")
    assert shown["Baker"]["status"] == "dismissed"
    why = place.told("why", senior["listing_id"])
    assert why["match"]["explanation"] == "it is remote"


def test_a_database_arrives_with_its_records_and_its_queue(place: Place) -> None:
    path = database(place, {**TABLES, "job_queue": QUEUE})
    checked = place.run("import", str(path), "--check")
    assert "would take over 2 companies, 2 sources, 2 matches" in checked.stdout
    assert "would create 1 task" in checked.stdout
    assert place.files() == {"finder.sqlite"}
    done = place.run("import", str(path))
    assert done.exit_code == 0, done.output
    assert "took over 2 companies, 2 sources, 2 matches" in done.stdout
    assert "`ramet jobs run` tests 1 board" in done.stdout
    for said in ("row 3 of companies: it has no name", "row 3 of job_sources: None has no address",
                 "row 3 of job_matches: its listing is not there"):  # fmt: skip
        assert said in done.stderr
    check_taken_over(place)
    assert place.run("import", str(path), "--enforce").exit_code == 0


def test_a_document_arrives_as_a_database_does_and_twice_is_as_once(place: Place) -> None:
    path = place.folder / "export.json"
    path.write_text(json.dumps({name.replace("_", "-"): rows for name, rows in TABLES.items()}))
    for _ in range(2):
        done = place.run("import", str(path))
        assert done.exit_code == 0, done.output
    check_taken_over(place)
    rows = place.ramet("tasks", "--kind", "SOURCE_DISCOVERY", "--json").stdout.splitlines()
    assert len(rows) <= 2


def test_what_is_known_here_stays(place: Place) -> None:
    place.add_match("https://boards.greenhouse.io/acme/jobs/900", 66, title="As we read it")
    place.add_source("greenhouse:birch", name="Ours")
    path = place.folder / "export.json"
    path.write_text(json.dumps(TABLES))
    assert place.run("import", str(path)).exit_code == 0
    [one] = [one for one in place.told("matches", "--all") if "acme" in one["listing_id"]]
    assert (one["match_score"], one["title"]) == (66, "As we read it")
    [birch] = [one for one in place.told("sources", "list") if one["source_id"] == "greenhouse:birch"]
    assert (birch["name"], birch["status"]) == ("Ours", "active")


@pytest.mark.network
def test_boards_that_were_active_are_tested_and_scraped_by_the_first_run(place: Place, world: World) -> None:
    world.board("greenhouse", "acme", made_up(3), company="Acme")
    path = database(place, TABLES)
    assert place.run("init", "--sample").exit_code == 0
    assert place.run("import", str(path)).exit_code == 0
    result = place.run("run", "--all")
    assert result.exit_code == 0, result.output
    [source] = [one for one in place.told("sources", "list") if one["source_id"] == "greenhouse:acme"]
    assert (source["status"], source["last_status"], source["last_count"]) == ("active", "success", 3)


def test_a_table_that_is_none_of_them_is_left_to_the_import_of_queues(place: Place) -> None:
    path = database(place, {"items": [{"id": "1", "type": "job", "url": "https://acme.example/jobs/1"}]})
    assert place.run("import", str(path)).exit_code == 0
    assert place.told("company", "list") == []
