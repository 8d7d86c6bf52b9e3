"""Asking a graph in words, and following the links of what is found."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.embedding.minilm import MiniLmEmbedder
from ramet.wiki.embedding.registry import DEFAULT, HASHING, open_embedder
from ramet.wiki.errors import GraphMismatch
from ramet.wiki.graphs.base import Direction, GraphStore, SearchHit
from ramet.wiki.graphs.graph_file import check_model
from ramet.wiki.graphs.ranking import words_of
from ramet.wiki.graphs.registry import open_graph_reader

LINKED_MAX = 1_000
"""Articles that are looked into for one hit, at most, when its links are followed."""

SECTIONS_PER_ARTICLE_GUESS = 20
"""Linked articles show their best section each; so many sections are ranked for each of them."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        hits: the sections, best first.
        followed: for each hit, the best section of each of the best articles that its article links to.
        semantic: whether nearness means nearness of meaning.
        by_words: whether words were looked for, because that was asked or because the graph has no vectors.
    """

    hits: list[SearchHit]
    followed: list[list[SearchHit]]
    semantic: bool
    by_words: bool


def search_graph(
    path: Path,
    text: str,
    *,
    limit: int,
    data_dir: Path,
    follow: int = 0,
    by_words: bool = False,
    embedder: str | None = None,
) -> SearchResult:
    """The sections of the graph at `path` that are nearest to `text`, by the model that its vectors come from.

    With `by_words`, or where the graph has no vectors, those that hold the most of its words. `embedder` names the
    model, as `open_embedder` takes it; without it, a graph of the default model or of the stand-in names it itself. A
    graph of another does not: a file from somebody else must not choose where a query and a key are sent.

    Raises:
        GraphError: there is no graph, or it cannot be read.
        GraphMismatch: its vectors come from a model that this release does not have.
        ExtraMissing, DatasetError: the model is not there.
    """
    with open_graph_reader(path) as graph:
        if by_words or graph.vector_index == "none":
            ask, semantic, by_words = _for_words(graph, text), False, True
        else:
            ask, semantic = _for_meaning(graph, path, text, embedder, data_dir)
        hits = ask(limit, None)
        followed = [_follow(graph, hit, follow, ask) if follow else [] for hit in hits]
    return SearchResult(hits, followed, semantic, by_words)


def section_url(hit: SearchHit) -> str:
    """Where a section is read; empty if nowhere."""
    return f"{hit.url}#{quote(hit.heading.replace(' ', '_'))}" if hit.url and hit.heading else hit.url


_Ask = Callable[[int, Collection[str] | None], list[SearchHit]]
"""The best so many sections, of all articles or of some."""


def _for_words(graph: GraphStore, text: str) -> _Ask:
    words = words_of(text)
    return lambda limit, among: graph.search_words(words, limit=limit, among=among)


def _for_meaning(graph: GraphStore, path: Path, text: str, spec: str | None, data_dir: Path) -> tuple[_Ask, bool]:
    if spec is None:
        spec = {HashingEmbedder().model_id: HASHING, MiniLmEmbedder.model_id: DEFAULT}.get(graph.model_id)
    if spec is None:
        raise GraphMismatch(f"{path} holds vectors of {graph.model_id}: name that model with --embed")
    embedder = open_embedder(spec, data_dir)
    if embedder is None:
        raise GraphMismatch(f"{path} holds vectors of {graph.model_id}: --embed none cannot ask for them")
    info = {"embedding_model": graph.model_id, "embedding_dimension": str(graph.dimension)}
    check_model(path, info, model_id=embedder.model_id, dimension=embedder.dimension)
    [vector] = embedder.embed([text])
    return lambda limit, among: graph.search(vector, limit=limit, among=among), embedder.semantic


def _follow(graph: GraphStore, hit: SearchHit, count: int, ask: _Ask) -> list[SearchHit]:
    near = graph.neighbors(hit.title_key, direction=Direction.OUT, depth=1, limit=LINKED_MAX)
    best: dict[str, SearchHit] = {}
    for section in ask(count * SECTIONS_PER_ARTICLE_GUESS, [neighbor.title_key for neighbor in near]):
        best.setdefault(section.title_key, section)
    return list(best.values())[:count]
