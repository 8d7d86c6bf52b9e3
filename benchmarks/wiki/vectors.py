"""Measure an index of vectors, its finds and its cost, beside a comparison with all, on one graph in one run.

    python -m benchmarks.wiki.vectors                       # 60,000 vectors of 384 numbers
    python -m benchmarks.wiki.vectors --vectors 200000 --json

The vectors are made up as those of texts lie: topics in few directions, and noise in all. Queries are more of them.
Recall is the share of the ten nearest sections that a search by the index finds, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ramet.wiki.graphs.base import EmbeddedArticle, FoundPassage
from ramet.wiki.graphs.registry import open_graph_reader, open_graph_writer
from ramet.wiki.pages import Article, Section

DIMENSION = 384
TOPICS, DIRECTIONS = 1_500, 96
SPREAD, NOISE = 0.7, 2.0
"""Of a vector around its topic, and in all directions; a topic itself has the length of about the root of 96."""
LIMIT = 10
BATCH = 1_000


def made_up(count: int) -> Iterator[list[float]]:
    """Yield vectors of length 1, the same every time."""
    rng = np.random.default_rng(1)
    directions = rng.standard_normal((DIRECTIONS, DIMENSION))
    topics = rng.standard_normal((TOPICS, DIRECTIONS))
    for _ in range(count):
        topic = topics[rng.integers(TOPICS)] + SPREAD * rng.standard_normal(DIRECTIONS)
        vector = topic @ directions + NOISE * rng.standard_normal(DIMENSION)
        yield (vector / np.linalg.norm(vector)).tolist()


def fill(path: Path, vectors: Iterator[list[float]], count: int) -> None:
    """Make a graph with an article of one passage for each vector."""
    with open_graph_writer(path, model_id="made-up", dimension=DIMENSION) as graph:
        for start in range(0, count, BATCH):
            graph.load_articles(
                [
                    EmbeddedArticle(article(number), 0, (next(vectors),))
                    for number in range(start, min(start + BATCH, count))
                ]
            )


def article(number: int) -> Article:
    """Return an article of a few words."""
    title = f"Page {number}"
    return Article(
        title=title, key=title, sections=(Section("", 1, f"Words of {number}."),), categories=(), description="",
        links=None,
    )  # fmt: skip


def timed(search: Callable[[list[float]], list[FoundPassage]], queries: list[list[float]]) -> tuple[list[Any], float]:
    """Return what was found for each query, and the median of the seconds."""
    found, seconds = [], []
    for query in queries:
        begun = time.perf_counter()
        found.append(search(query))
        seconds.append(time.perf_counter() - begun)
    return found, statistics.median(seconds)


def measure(asked: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Search before and after there is an index."""
    path = folder / "graph.sqlite"
    vectors = made_up(asked.vectors + asked.queries)
    fill(path, vectors, asked.vectors)
    queries = list(vectors)
    with open_graph_reader(path) as graph:
        exact, before = timed(lambda query: graph.search(query, limit=LIMIT), queries)
    begun, processor = time.perf_counter(), time.process_time()
    with open_graph_writer(path, model_id="made-up", dimension=DIMENSION) as writer:
        writer.index_vectors()
    built, spent = time.perf_counter() - begun, time.process_time() - processor
    with open_graph_reader(path) as graph:
        assert graph.unindexed_vectors() == 0, "there is an index"
        found, after = timed(lambda query: graph.search(query, limit=LIMIT), queries)
    same = sum(len(set(one) & set(other)) for one, other in zip(exact, found, strict=True))
    [index] = folder.glob("*.vectors-*")
    return {
        "vectors": asked.vectors,
        "recall_at_10": round(same / (LIMIT * len(queries)), 4),
        "exact_ms": round(before * 1e3, 1),
        "indexed_ms": round(after * 1e3, 2),
        "build_seconds": round(built, 1),
        "build_cpu_seconds": round(spent, 1),
        "index_mb": round(index.stat().st_size / 1e6, 1),
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.wiki.vectors", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--vectors", type=int, default=60_000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(asked, Path(folder))
    print(json.dumps(found) if asked.json else "\n".join(f"{name}: {value:,}" for name, value in found.items()))


if __name__ == "__main__":
    main()
