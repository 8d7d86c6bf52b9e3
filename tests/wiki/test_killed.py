"""Expansions in processes of their own, killed by kill -9 at moments that a seed chooses by how far they were."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ramet.cli import main
from ramet.wiki.errors import DatasetError
from ramet.wiki.graphs.ladybug import LadybugGraph
from ramet.wiki.sources import dataset
from ramet.wiki.sources.registry import BUNDLED
from ramet.wiki.tables import WikiState
from tests.support.waiting import HANG_SECONDS
from tests.wiki.made_up_wikis import SEEDS, what_is_left, write_world

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
pytest.importorskip("ahocorasick", reason="the extra [wiki] is not installed")

KILLS = 10
TICK_SECONDS = 0.002
"""Between two looks at the database, while waiting for the process to end."""
QUICK = ("--embed", "hashing", "--max-depth", "2")
PROGRESS = """
    SELECT COUNT(*) + COUNT(loaded_at) + COUNT(processed_at) + COALESCE(SUM(links_count), 0) FROM wiki_articles"""

pytestmark = [pytest.mark.timeout(900), pytest.mark.process]


def command(folder: Path, world: str, articles: int, *more: str) -> list[str]:
    where = ["--db", str(folder / "wiki.db"), "--graph", str(folder / "wiki.lbug"), "--max-articles", str(articles)]
    return [sys.executable, "-m", "ramet.cli", "wiki", "expand", *SEEDS, "--source", world, *where, *more]


def processed(left: dict[str, list[Any]]) -> int:
    """How many articles a run has in its graph."""
    return sum(row[3] == WikiState.PROCESSED for row in left["articles"])


@contextmanager
def running(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A command in a process group of its own, which is gone afterwards."""
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def progress(folder: Path) -> int:
    """How many rows and moments are durable: grows with every step of an expansion."""
    if not (folder / "wiki.db").exists():
        return 0
    with closing(sqlite3.connect(f"file:{folder / 'wiki.db'}?mode=ro", uri=True, timeout=HANG_SECONDS)) as database:
        if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'wiki_articles'").fetchall():
            return 0
        [(rows,)] = database.execute(PROGRESS).fetchall()
    return int(rows)


def wait_for_progress(process: subprocess.Popen[str], folder: Path, wanted: int) -> bool:
    """False when it came to its good end before that: a busy machine looks too rarely to catch the last steps."""
    while progress(folder) < wanted:
        try:
            process.wait(TICK_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        output = process.communicate()[0]
        assert process.returncode == 0, f"ended with {process.returncode} before its progress was {wanted}: {output}"
        return False
    return True


def finish(arguments: list[str]) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def kill_and_resume(arguments: list[str], folder: Path, moments: list[int]) -> int:
    """Run until each of the moments, kill the whole group, run again; at last run to the end. Returns the kills."""
    kills = 0
    for moment in moments:
        with running(arguments) as process:
            if not wait_for_progress(process, folder, max(moment, progress(folder) + 1)):
                break
            os.killpg(process.pid, signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
            kills += 1
    finish(arguments)
    return kills


def moments_until(end: int, count: int, seed: int) -> list[int]:
    """So many moments, spread over the progress; the last steps come in large strides, which a kill could miss."""
    rng = random.Random(seed)
    return sorted(rng.randrange(1, int(end * 0.8)) for _ in range(count))


def check_equal(found: dict[str, list[Any]], expected: dict[str, list[Any]]) -> None:
    for name, rows in expected.items():
        assert found[name] == rows, name


@pytest.mark.parametrize(("articles", "times"), [(16, 3), pytest.param(60, KILLS, marks=pytest.mark.nightly)])
def test_an_expansion_that_is_killed_many_times_ends_in_the_same_graph(
    tmp_path: Path, articles: int, times: int
) -> None:
    world = str(write_world(tmp_path / "world.jsonl", articles=articles * 3 // 2))
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    for folder in (calm, killed):
        folder.mkdir()
    more = ("--embed", "hashing", "--concurrency", "4")
    finish(command(calm, world, articles, *more))
    arguments = command(killed, world, articles, *more)
    assert kill_and_resume(arguments, killed, moments_until(progress(calm), times, seed=20)) > times // 2
    expected = what_is_left(calm)
    assert processed(expected) == articles
    check_equal(what_is_left(killed), expected)


def test_a_killed_worker_s_orphans_end_and_the_next_goes_on(tmp_path: Path) -> None:
    world = str(write_world(tmp_path / "world.jsonl", articles=60))
    arguments = command(tmp_path, world, 20, *QUICK)
    with running(arguments) as process:
        wait_for_progress(process, tmp_path, 20)
        process.kill()
        finish(arguments)
    assert processed(what_is_left(tmp_path)) == 20


def test_killed_handlers_are_replaced_while_the_expansion_goes_on(tmp_path: Path) -> None:
    world = str(write_world(tmp_path / "world.jsonl", articles=60))
    with running(command(tmp_path, world, 20, *QUICK)) as process:
        wait_for_progress(process, tmp_path, 20)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        os.kill(int(children[0]), signal.SIGKILL)
        output = process.communicate(timeout=HANG_SECONDS)[0]
        assert process.returncode == 0, output
    assert processed(what_is_left(tmp_path)) == 20


def test_status_and_search_work_beside_a_running_expansion(tmp_path: Path) -> None:
    world = str(write_world(tmp_path / "world.jsonl", articles=60))

    def ask(command: str, *words: str) -> str:
        # In this process: on a busy machine another one needs longer to start than the expansion to end.
        result = CliRunner().invoke(main, ["wiki", command, *words, "--db", str(tmp_path / "wiki.db"), "--json"])
        assert result.exit_code == 0, result.output
        return result.stdout

    with running(command(tmp_path, world, 60, "--embed", "hashing")) as process:
        wait_for_progress(process, tmp_path, 60)
        told = json.loads(ask("status"))
        hits = ask("search", "houses").splitlines()
        output = process.communicate(timeout=HANG_SECONDS)[0]
    assert process.returncode == 0, output
    assert (told["state"], told["graph_holds"]["articles"] > 0, len(hits) > 0) == ("running", True, True)
    assert json.loads(ask("status"))["articles"] == 60


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)])
def test_a_signal_drains_and_the_same_command_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    world = str(write_world(tmp_path / "world.jsonl", articles=60))
    arguments = command(tmp_path, world, 20, *QUICK)
    with running(arguments) as process:
        wait_for_progress(process, tmp_path, 20)
        process.send_signal(number)
        output = process.communicate(timeout=HANG_SECONDS)[0]
    assert process.returncode == 128 + number
    assert "to continue:" in output
    assert "Place 000" in output.split("to continue:")[1]
    with closing(sqlite3.connect(tmp_path / "wiki.db")) as database:
        assert database.execute("SELECT COUNT(*) FROM ramet_live WHERE state = 'processing'").fetchall() == [(0,)]
    finish(arguments)
    assert processed(what_is_left(tmp_path)) == 20


@pytest.mark.nightly
def test_five_hundred_real_articles_killed_ten_times_end_in_the_same_graph(tmp_path: Path) -> None:
    try:
        dataset.fetch(dataset.ENGLISH_LEADS, dataset.default_data_dir())
        dataset.fetch(dataset.MINILM_TOKENIZER, dataset.default_data_dir())
    except DatasetError as error:
        pytest.skip(f"the bundled articles cannot be had: {error}")
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    for folder in (calm, killed):
        folder.mkdir()
    arguments = [[word for word in command(folder, BUNDLED, 500) if word not in SEEDS] for folder in (calm, killed)]
    for words in arguments:
        words += ["Alan Turing", "Ada Lovelace"]
    finish(arguments[0])
    assert kill_and_resume(arguments[1], killed, moments_until(progress(calm), KILLS, seed=5)) > KILLS // 2
    check_equal(what_is_left(killed), what_is_left(calm))
    with LadybugGraph.open_reader(killed / "wiki.lbug") as graph:
        assert graph.counts().articles == 500
