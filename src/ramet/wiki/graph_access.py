"""Asking a graph from Python: what `ramet wiki search` and `neighbors` ask, typed, beside an expansion that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from ramet import InvalidKey, title_key
from ramet.wiki.errors import NotInGraph
from ramet.wiki.graphs.base import Direction, GraphSection, GraphStore, Neighbor, SearchHit
from ramet.wiki.graphs.entities import Entity, name_key
from ramet.wiki.graphs.graph_file import no_graph
from ramet.wiki.graphs.registry import Graph, open_graph_reader
from ramet.wiki.graphs.search import QueryModel, Ranking, ranked
from ramet.wiki.question_answers import PASSAGES, WikiAnswer, answer_question
from ramet.wiki.sources.dataset import default_data_dir

if TYPE_CHECKING:
    from ramet.llm import Model

__all__ = [
    "Direction",
    "Entity",
    "GraphReader",
    "GraphSection",
    "Neighbor",
    "Ranking",
    "SearchHit",
    "WikiAnswer",
    "open_graph",
]


class GraphReader:
    """A graph to be asked, from :func:`open_graph`. Each call sees the graph as it is at that moment.

    Its methods may be called from any thread. The model of the graph's vectors is loaded at the first search that needs
    it and kept.
    """

    def __init__(self, path: Path, *, data_dir: Path, embedder: str | None) -> None:
        """Use :func:`open_graph`, which checks that there is a graph."""
        self.path = path
        self._model = QueryModel(path, embedder, data_dir)

    def search(
        self, text: str, *, limit: int = 5, ranking: Ranking = Ranking.BOTH, among: Sequence[str] | None = None
    ) -> list[SearchHit]:
        """Return the sections that fit a text best, best first, each with the passage that fits.

        Args:
            text: a question, or words.
            limit: sections, at most.
            ranking: by words and meaning, or by one of them. A graph without vectors is searched by words.
            among: titles of the articles to look into; None: all.

        Raises:
            GraphError: the graph cannot be read, or has no vectors and they were asked for.
            GraphMismatch: its vectors come from a model that has to be named to :func:`open_graph`.
            NotInGraph: it does not have one of `among`.
            ExtraMissing, DatasetError: the model is not there.
        """
        with self._open() as graph:
            keys = None if among is None else [find_article(graph, title).title_key for title in among]
            return graph.read_hits(ranked(graph, text, self._model, ranking)(limit, keys), limit)

    def read(self, title: str, heading: str | None = None) -> list[GraphSection]:
        """Return the sections of an article, in order; with `heading` those of that heading, or below that path.

        Args:
            title: of the article, or of a redirect to it.
            heading: of a section, or the path of it (`Economy > Army`); an empty text for the lead.

        Raises:
            NotInGraph: there is no such article, or section; or it is known from links only.
            GraphError: the graph cannot be read.
        """
        with self._open() as graph:
            article = find_article(graph, title)
            sections = graph.sections(article.title_key)
        if not article.loaded:
            raise NotInGraph(f"{article.title!r} is known from links only: it was not loaded")
        if heading is None:
            return sections
        found = [one for one in sections if heading in (one.heading, one.path) or one.path.startswith(f"{heading} > ")]
        if not found:
            raise NotInGraph(f"{article.title!r} has no section {heading!r}")
        return found

    def neighbors(
        self, title: str, *, direction: Direction = Direction.OUT, depth: int = 1, limit: int = 50
    ) -> list[Neighbor]:
        """Return the articles around one, nearest first; those that were not loaded are among them.

        Args:
            title: of the article, or of a redirect to it.
            direction: follow its links, the links to it, or both.
            depth: links to go along, at most.
            limit: articles, at most.

        Raises:
            NotInGraph: there is no such article.
            GraphError: the graph cannot be read.
        """
        with self._open() as graph:
            article = find_article(graph, title)
            return graph.neighbors(article.title_key, direction=direction, depth=depth, limit=limit)

    def ask(
        self, question: str, *, model: Model | str, max_cost: int | None, database: str | Path, passages: int = PASSAGES
    ) -> WikiAnswer:
        """Answer a question by a model from the passages that fit it best, with citations that were checked.

        Blocks, and runs an event loop of its own.

        Args:
            question: in any language that the graph's search reads.
            model: as for :func:`ramet.llm.ask`.
            max_cost: nano-dollars, at most; None for a model that costs nothing.
            database: where the question's task, its cost and the answer are kept; made if it is not there.
            passages: that the model is given, at most.

        Raises:
            UserError: the graph cannot be searched, the model not asked, the ceiling is too low, or there is no answer.
            StoreError: the database cannot be used.
        """
        return answer_question(
            self, question, model=model, max_cost=max_cost, database=str(database), passages=passages
        )

    def entities(self, name: str, *, limit: int = 20) -> list[Entity]:
        """Return the entities of this name or alias, or else those whose names hold it; none before an extraction.

        Args:
            name: in whatever case.
            limit: entities, at most.

        Raises:
            GraphError: the graph cannot be read.
        """
        with self._open() as graph:
            return entities_called(graph, name)[:limit]

    def _open(self) -> AbstractContextManager[Graph]:
        return open_graph_reader(self.path)


def open_graph(path: str | Path, *, data_dir: str | Path | None = None, embedder: str | None = None) -> GraphReader:
    """Open a graph that `ramet wiki expand` made, to be asked.

    Args:
        path: of the graph file.
        data_dir: where fetched models are kept; None: where the command line keeps them.
        embedder: the model of the graph's vectors, as `ramet wiki expand --embed` takes it. A graph of a model that
            comes with ramet needs none named; a file from elsewhere must not choose where queries are sent.

    Raises:
        GraphError: there is no graph.
    """
    place = Path(path)
    if not place.exists():
        raise no_graph(place)
    return GraphReader(place, data_dir=default_data_dir() if data_dir is None else Path(data_dir), embedder=embedder)


def find_article(graph: GraphStore, title: str) -> Neighbor:
    """Return the article that a person means by a title, by whatever name the graph knows it.

    Raises:
        NotInGraph: it knows none.
    """
    try:
        key = title_key(title)
    except InvalidKey as error:
        raise NotInGraph(f"{title!r} is not a valid title: {error}") from error
    # A wiki may tell titles apart by the case of their first letter.
    for spelling in (key, " ".join(title.replace("_", " ").split())):
        if found := graph.find(spelling):
            return found
    raise NotInGraph(f"the graph has no article {title!r}; a search finds words of titles")


def entities_called(graph: GraphStore, name: str) -> list[Entity]:
    """Return the entities that a person means by a name, by key."""
    wanted = name_key(name)
    exact, partly = [], []
    for entity in graph.entities():
        names = [name_key(one) for one in (entity.name, *entity.aliases)]
        if wanted in (*names, entity.entity_key):
            exact.append(entity)
        elif any(wanted in one for one in names):
            partly.append(entity)
    return exact or partly
