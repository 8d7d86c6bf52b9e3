"""A writer killed at any moment: what it acknowledged is there, whole; running again completes the graph."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.registry import open_graph_reader, open_graph_writer

pytestmark = pytest.mark.process

ARTICLES = 60
MODEL = HashingEmbedder(16)

# Loads every article, three at a time, with its links, and says which are acknowledged.
WRITER = """
import sys
from pathlib import Path
from ramet.wiki.graphs import ladybug_file
from tests.wiki.article_texts import article_from_text
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.base import EmbeddedArticle, GraphLink
from ramet.wiki.graphs.registry import open_graph_writer

path, count, log_bytes_max = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
ladybug_file.LOG_BYTES_MAX = log_bytes_max
model = HashingEmbedder(16)
with open_graph_writer(path, model_id=model.model_id, dimension=model.dimension) as graph:
    for start in range(0, count, 3):
        numbers = range(start, start + 3)
        articles = [
            article_from_text(f"A{n}", f"lead {n}\\n== H ==\\nbody {n}", categories=[f"C{n % 4}"]) for n in numbers
        ]
        graph.load_articles([
            EmbeddedArticle(a, n, tuple(model.embed(texts_of(a))))
            for n, a in zip(numbers, articles)
        ])
        graph.add_links([GraphLink(f"A{n}", f"A{(n * 7 + 1) % count}", "title", n + 1) for n in numbers])
        for n in numbers:
            print(n, flush=True)
"""


def run_writer(path: Path, *, kill_after: int | None = None, log_bytes_max: int = 1 << 24) -> set[int]:
    """Run the writer, killing it once it has acknowledged so many articles; what it acknowledged."""
    command = [sys.executable, "-c", WRITER, str(path), str(ARTICLES), str(log_bytes_max)]
    acknowledged: set[int] = set()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            acknowledged.add(int(line))
            if len(acknowledged) == kill_after:
                writer.kill()
    assert writer.returncode == (0 if kill_after is None else -signal.SIGKILL)
    return acknowledged


def check_whole(path: Path, acknowledged: set[int]) -> None:
    """Every acknowledged article is there; every article there has both sections and its category."""
    with open_graph_reader(path) as graph:
        lines = graph.dump()
    loaded = {int(line.split('"')[1][1:]) for line in lines if line.startswith("Article") and "true" in line}
    assert acknowledged <= loaded
    edges = [line for line in lines if line.startswith(("HAS_SECTION", "IN_CATEGORY"))]
    assert len(edges) == 3 * len(loaded)
    linked = {int(line.split('"')[1][1:]) for line in lines if line.startswith("LINKS_TO")}
    assert acknowledged <= linked <= loaded


@pytest.mark.parametrize(
    ("suffix", "log_bytes_max"),
    [("lbug", 1 << 24), pytest.param("lbug", 0, marks=pytest.mark.nightly), ("sqlite", 1 << 24)],
    ids=["ladybug-log", "ladybug-checkpoint-each-time", "sqlite"],
)
def test_a_graph_survives_kill_nine_and_ends_as_if_undisturbed(tmp_path: Path, suffix: str, log_bytes_max: int) -> None:
    if suffix == "lbug":
        pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    calm, shaken = tmp_path / f"calm.{suffix}", tmp_path / f"shaken.{suffix}"
    run_writer(calm)
    chance = random.Random(log_bytes_max)
    for _ in range(4):
        acknowledged = run_writer(shaken, kill_after=chance.randrange(1, ARTICLES - 3), log_bytes_max=log_bytes_max)
        check_whole(shaken, acknowledged)
    assert run_writer(shaken, log_bytes_max=log_bytes_max) == set(range(ARTICLES))
    with open_graph_reader(calm) as undisturbed, open_graph_reader(shaken) as disturbed:
        assert disturbed.dump() == undisturbed.dump()


def test_a_reader_completes_a_checkpoint_whose_writer_was_killed(tmp_path: Path) -> None:
    pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    path = tmp_path / "graph.lbug"
    acknowledged = run_writer(path, kill_after=9)
    # What a kill between freezing the log and folding it in leaves behind.
    log = path.with_name(path.name + ".wal")
    log.rename(log.with_name(log.name + ".checkpoint"))
    check_whole(path, acknowledged)
    with open_graph_writer(path, model_id=MODEL.model_id, dimension=MODEL.dimension) as graph:
        assert graph.counts().articles >= len(acknowledged)
