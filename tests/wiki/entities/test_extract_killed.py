"""An extraction whose process is killed ends in the entities of one that was left alone, with every answer booked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.base import EmbeddedArticle
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.graphs.registry import open_graph_reader, open_graph_writer
from tests.support.waiting import until_now
from tests.wiki.article_texts import article_from_text
from tests.wiki.entities.extraction_server import Extractor, extractor
from tests.wiki.running.worker_crews import ask

KILLS = 10
CONCURRENCY = 3
PEOPLE = ("Ada", "Grace", "Joan", "Kathleen", "Mary", "Edith")
ARTICLES = {
    f"Page {number}": f"Here {PEOPLE[number % 6]} Ames met {PEOPLE[number * 5 % 6]} Burns, long before {number}.\n"
    f"== Life ==\nThen {PEOPLE[number % 5]} Ames went to Port {PEOPLE[number % 3]} with Pat Cole {number} times.\n"
    f"== Work ==\nIn {1800 + number} a letter to {PEOPLE[number * 7 % 6]} Burns was found at Port {PEOPLE[number % 6]}."
    for number in range(16)
}
SECTIONS = 3 * len(ARTICLES)
BOOKS = "SELECT amount, actual, closed_at FROM ramet_reservations"

pytestmark = [pytest.mark.timeout(900), pytest.mark.process, pytest.mark.network]


def make_graph(path: Path) -> None:
    model = HashingEmbedder()
    articles = [article_from_text(title, text) for title, text in ARTICLES.items()]
    with open_graph_writer(path, model_id=model.model_id, dimension=model.dimension) as graph:
        graph.load_articles([EmbeddedArticle(one, 0, tuple(model.embed(texts_of(one)))) for one in articles])


def command(folder: Path, database: str, provider: Extractor) -> list[str]:
    return [
        sys.executable, "-m", "ramet.cli", "wiki", "extract", "--graph", str(folder / "graph.sqlite"), "--yes",
        "--db", database, "--model", "small", "--price", "1:2", "--base-url", provider.url,
        "--max-cost", "1", "--concurrency", str(CONCURRENCY),
    ]  # fmt: skip


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY") and name != "RAMET_DB"}


def dump(folder: Path) -> list[str]:
    with open_graph_reader(folder / "graph.sqlite") as graph:
        return graph.dump()


def books(database: str) -> tuple[int, list[int], list[int]]:
    """What was spent, what answers cost, and what calls that were lost reserved."""
    rows = ask(database, BOOKS)
    [(spent, reserved)] = ask(database, "SELECT SUM(spent), SUM(reserved) FROM ramet_lineages")
    assert reserved == 0
    return (
        int(spent),
        [actual for _, actual, _ in rows if actual is not None],
        [one for one, actual, _ in rows if actual is None],
    )


def wait_for_calls(provider: Extractor, process: subprocess.Popen[bytes], wanted: int) -> None:
    until_now(lambda: sum(provider.asked.values()) >= wanted or process.poll() is not None, "it asks")


def test_ten_kills_lead_to_the_same_entities_and_every_call_is_booked(tmp_path: Path) -> None:
    killed_and_left_alone(tmp_path, str(tmp_path / "killed.db"))


def test_ten_kills_with_the_ledger_on_a_server_lead_to_the_same_entities(
    tmp_path: Path, ramet_postgres_url: str
) -> None:
    killed_and_left_alone(tmp_path, ramet_postgres_url)


def killed_and_left_alone(tmp_path: Path, ledger: str) -> None:
    """Compare an extraction that is killed ten times, with this database, with one on SQLite that is left alone."""
    alone, killed, quiet = tmp_path / "alone", tmp_path / "killed", str(tmp_path / "alone.db")
    for folder in (alone, killed):
        folder.mkdir()
        make_graph(folder / "graph.sqlite")
    with extractor() as provider:
        subprocess.run(command(alone, quiet, provider), env=environment(), check=True, capture_output=True)
        cost = provider.billed(1_000, 2_000)
        spent, answered, lost = books(quiet)
        assert (spent, len(answered), lost) == (cost, SECTIONS, [])
    with extractor(latency_seconds=0.05) as provider:
        again, kills = command(killed, ledger, provider), 0
        for turn in range(KILLS):
            with subprocess.Popen(again, env=environment(), stderr=subprocess.DEVNULL) as process:
                wait_for_calls(provider, process, sum(provider.asked.values()) + 1 + turn % 4)
                process.send_signal(signal.SIGKILL)
            kills += process.returncode == -signal.SIGKILL
        subprocess.run(again, env=environment(), check=True, capture_output=True)
        asked, billed = provider.asked, provider.billed(1_000, 2_000)
    spent, answered, lost = books(ledger)
    assert kills == KILLS
    assert dump(killed) == dump(alone)
    assert any(line.startswith("RELATES") for line in dump(killed))
    # Every section has one answer that was booked at its price. Calls whose answer died with the process are counted.
    assert len(asked) == len(answered) == SECTIONS
    assert sum(answered) == cost
    assert sum(asked.values()) - SECTIONS <= len(lost) <= KILLS * CONCURRENCY
    assert spent == cost + sum(lost)
    assert cost <= billed <= spent
