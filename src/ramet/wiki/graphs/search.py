"""Asking a graph in words, and following the links of what is found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from ramet.wiki.embedding.base import Embedder, Vector
from ramet.wiki.embedding.registry import open_embedder, spec_of
from ramet.wiki.errors import GraphError, GraphMismatch
from ramet.wiki.graphs.base import Direction, FoundPassage, GraphStore, SearchHit
from ramet.wiki.graphs.graph_file import check_model
from ramet.wiki.graphs.registry import open_graph_reader

LINKED_MAX = 1_000
"""Most articles that are looked into for one hit when its links are followed."""

FUSED = 100
"""Least sections of each ranking that are looked at where two become one."""

SECTIONS_PER_ARTICLE_GUESS = 20
"""Sections that are ranked for each linked article, of which its best is shown."""


class Ranking(StrEnum):
    """Ranking of sections: by the words of a query, by its meaning, or by both."""

    BOTH = "both"
    """The words of the query and its meaning."""
    WORDS = "words"
    VECTORS = "vectors"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of a search.

    Attributes:
        hits: the sections, best first.
        followed: for each hit, the best section of each of the best articles that its article links to.
        semantic: whether nearness of vectors means nearness of meaning.
        ranking: by what they were found: words alone where the graph has no vectors.
        compared: vectors that were compared one by one although they are many; 0 where an index found the nearest.
    """

    hits: list[SearchHit]
    followed: list[list[SearchHit]]
    semantic: bool
    ranking: Ranking
    compared: int


def search_graph(
    path: Path,
    text: str,
    *,
    limit: int,
    data_dir: Path,
    follow: int = 0,
    ranking: Ranking = Ranking.BOTH,
    embedder: str | None = None,
) -> SearchResult:
    """Return the sections of the graph at `path` that fit `text` best, by its words and the model of the vectors.

    Where the graph has no vectors, they are found by words alone. `embedder` names the model, as `open_embedder` takes
    it; without it, a graph of the default model or of the stand-in names it itself. A graph of another does not: a file
    from elsewhere must not choose where a query and a key are sent.

    Raises:
        GraphError: there is no graph, or it cannot be read; or it has no vectors, and they were asked for.
        GraphMismatch: its vectors come from a model that this release does not have.
        ExtraMissing, DatasetError: the model is not there.
    """
    model = QueryModel(path, embedder, data_dir)
    with open_graph_reader(path) as graph:
        ask = ranked(graph, text, model, ranking)
        hits = graph.read_hits(ask(limit, None), limit)
        followed = [_follow(graph, hit, follow, ask) if follow else [] for hit in hits]
        if not graph.dimension:
            ranking = Ranking.WORDS
        compared = 0 if ranking is Ranking.WORDS else graph.unindexed_vectors()
        return SearchResult(hits, followed, model.semantic, ranking, compared)


def section_url(hit: SearchHit) -> str:
    """Return the address at which a section is read; empty if there is none."""
    return f"{hit.url}#{quote(hit.heading.replace(' ', '_'))}" if hit.url and hit.heading else hit.url


Ask = Callable[[int, Collection[str] | None], list[FoundPassage]]
"""Function that ranks at least a number of best sections, of all articles or some; only shown ones are read."""


def _together(asks: Sequence[Ask]) -> Ask:
    def ask(limit: int, among: Collection[str] | None) -> list[FoundPassage]:
        return fused([ask_one(max(FUSED, limit), among) for ask_one in asks])

    return ask


def fused(rankings: Sequence[Sequence[FoundPassage]]) -> list[FoundPassage]:
    """Return the sections of several rankings as one, by the mean of their scores, each as a share of the best.

    A section that a ranking does not have gets nothing from it. The passage is that of the ranking where its share is
    larger, the earlier one's where they are equal. Ties are broken by title and position.
    """
    shares: dict[tuple[str, int], list[float]] = {}
    shown: dict[tuple[str, int], tuple[float, FoundPassage]] = {}
    for number, ranking in enumerate(rankings):
        best = max((one.score for one in ranking), default=0.0)
        for one in ranking:
            share = max(0.0, one.score) / best if best > 0 else 0.0
            place = (one.title_key, one.position)
            shares.setdefault(place, [0.0] * len(rankings))[number] = share
            if place not in shown or share > shown[place][0]:
                shown[place] = share, one
    found = [one._replace(score=sum(shares[place]) / len(rankings)) for place, (_, one) in shown.items()]
    return sorted(found, key=lambda one: (-one.score, one.title_key, one.position))


class QueryModel:
    """The model of a graph's vectors, opened when a query needs it."""

    def __init__(self, path: Path, spec: str | None, data_dir: Path) -> None:
        """Take the model that `spec` names, as `open_embedder` does; None for one that comes with ramet."""
        self._path = path
        self._spec = spec
        self._data_dir = data_dir
        self._opened: Embedder | None = None

    @property
    def semantic(self) -> bool:
        """Whether nearness of vectors means nearness of meaning; false before the model is opened."""
        return self._opened is not None and self._opened.semantic

    def vector(self, graph: GraphStore, text: str) -> Vector:
        """Return the vector of a query.

        Raises:
            GraphMismatch: the graph's vectors come from another model, or from one that must be named.
            ExtraMissing, DatasetError: the model is not there.
        """
        if self._opened is None:
            spec = self._spec or spec_of(graph.model_id)
            if spec is None:
                raise GraphMismatch(f"{self._path} holds vectors of {graph.model_id}: name that model with --embed")
            self._opened = open_embedder(spec, self._data_dir)
        if self._opened is None:
            raise GraphMismatch(f"{self._path} holds vectors of {graph.model_id}: --embed none cannot ask for them")
        info = {"embedding_model": graph.model_id, "embedding_dimension": str(graph.dimension)}
        check_model(self._path, info, model_id=self._opened.model_id, dimension=self._opened.dimension)
        return self._opened.embed_query(text)


def ranked(graph: GraphStore, text: str, model: QueryModel, ranking: Ranking) -> Ask:
    """Return the function that finds the sections that fit a text, by words alone where the graph has no vectors.

    Raises:
        GraphError: the graph has no vectors, and they were asked for.
        GraphMismatch, ExtraMissing, DatasetError: as `QueryModel.vector`.
    """
    if not graph.dimension:
        if ranking is Ranking.VECTORS:
            raise GraphError("the graph has no vectors: search it by words")
        ranking = Ranking.WORDS
    asks: list[Ask] = []
    if ranking is not Ranking.VECTORS:
        asks.append(lambda count, among: graph.search_words(text, limit=count, among=among))
    if ranking is not Ranking.WORDS:
        vector = model.vector(graph, text)
        asks.append(lambda count, among: graph.search(vector, limit=count, among=among))
    return asks[0] if len(asks) == 1 else _together(asks)


def _follow(graph: GraphStore, hit: SearchHit, count: int, ask: Ask) -> list[SearchHit]:
    near = graph.neighbors(hit.title_key, direction=Direction.OUT, depth=1, limit=LINKED_MAX)
    best: dict[str, FoundPassage] = {}
    for section in ask(count * SECTIONS_PER_ARTICLE_GUESS, [neighbor.title_key for neighbor in near]):
        best.setdefault(section.title_key, section)
    return graph.read_hits(best.values(), count)
