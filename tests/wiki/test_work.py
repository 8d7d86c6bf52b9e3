"""Runs that others work on: submitted by one process, fetched, parsed and embedded by a second, loaded by a third."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ramet.cli import main
from tests.support.waiting import HANG_SECONDS
from tests.wiki.made_up_wikis import SEEDS, graph_of, write_world

QUICK = ("--embed", "hashing", "--max-articles", "20", "--max-depth", "2")


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["wiki", *words, "--db", str(folder / "wiki.db")])


def expand(folder: Path, *words: str) -> Result:
    world = write_world(folder / "world.jsonl", articles=40)
    where = ("--source", str(world), "--graph", str(folder / "wiki.sqlite"))
    return run(folder, "expand", *SEEDS, *where, *QUICK, *words)


@pytest.mark.process
def test_one_process_submits_one_fetches_parses_and_embeds_and_one_loads(tmp_path: Path) -> None:
    here, alone = tmp_path / "here", tmp_path / "alone"
    for folder in (here, alone):
        folder.mkdir()
    submitted = expand(here, "--no-work")
    assert submitted.exit_code == 0, submitted.output
    assert "ramet wiki work --only load" in submitted.output
    assert not (here / "wiki.sqlite").exists()
    name = json.loads(run(here, "status", "--json").stdout)["run"]
    words = [sys.executable, "-m", "ramet.cli", "wiki", "work", "--until-ended", name, "--db", str(here / "wiki.db")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as others:
        loading = run(here, "work", "--only", "load", "--until-ended", name)
        told = others.communicate(timeout=HANG_SECONDS)[1]
    assert (loading.exit_code, others.returncode) == (0, 0), loading.output + told
    assert "working on fetch, parse, embed" in told
    assert expand(alone).exit_code == 0
    assert graph_of(here) == graph_of(alone)
    with closing(sqlite3.connect(here / "wiki.db")) as database:
        rows = database.execute(
            "SELECT DISTINCT t.kind, a.worker FROM ramet_tasks t JOIN ramet_attempts a ON a.seq = t.seq"
        ).fetchall()
    workers = {kind: worker for kind, worker in rows if worker}
    assert workers["wiki.article.fetch"] == workers["wiki.article.parse"] != workers["wiki.article.load"]


def test_submitting_says_how_and_again_begins_nothing_more(tmp_path: Path) -> None:
    first = json.loads(expand(tmp_path, "--no-work", "--json").stdout)
    again = json.loads(expand(tmp_path, "--no-work", "--json").stdout)
    assert first["event"] == "submitted"
    assert first["passes"] == again["passes"]


def test_working_where_there_is_no_database_or_no_such_run_is_one_line(tmp_path: Path) -> None:
    nowhere = run(tmp_path, "work")
    assert (nowhere.exit_code, "no database at" in nowhere.stderr) == (2, True)
    expand(tmp_path, "--no-work")
    unknown = run(tmp_path, "work", "--until-ended", "wiki-nothing")
    assert (unknown.exit_code, "no wiki run wiki-nothing" in unknown.stderr) == (2, True)
