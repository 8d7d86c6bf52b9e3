"""What the handlers of a run share in their process: its source of articles, its graph and the loader.

All of it is opened when first needed and kept until the process ends in good order. After a crash nothing is closed;
the graph bears that.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ramet.pipelines.wiki.articles import Article
from ramet.pipelines.wiki.embedding.opening import open_embedder
from ramet.pipelines.wiki.graphs.base import GraphLink, GraphStore
from ramet.pipelines.wiki.graphs.ladybug import LadybugGraph
from ramet.pipelines.wiki.loader import Loader
from ramet.pipelines.wiki.runs import RunSettings, find_run
from ramet.pipelines.wiki.sources.article_set import ArticleSet, open_source

if TYPE_CHECKING:
    from ramet import Client

LOOK_AGAIN_SHARE = 0.8
"""Of a long estimate: what is left is estimated again then. Waiting too long would cost more than looking again."""
SETTLING_SECONDS = 0.25
"""From the last article in the graph to the last task that has ended."""


@dataclass(frozen=True, slots=True)
class Writing:
    """A graph that this process writes, with the loader in front of it."""

    graph: GraphStore
    loader: Loader

    async def load(self, article: Article, expansion_depth: int) -> None:
        """See `Loader.load`."""
        await self.loader.load(article, expansion_depth)

    def seconds_for(self, articles: int) -> float:
        """How long to wait for so many to be loaded."""
        seconds = articles * self.loader.seconds_per_article
        return max(SETTLING_SECONDS + min(seconds, 1.0), LOOK_AGAIN_SHARE * seconds)

    async def add_links(self, links: Sequence[GraphLink]) -> None:
        """See `GraphStore.add_links`."""
        await asyncio.to_thread(self.graph.add_links, links)


@dataclass(frozen=True, slots=True)
class Expansion:
    """One run, opened."""

    settings: RunSettings
    source: ArticleSet
    writing: Writing


class Expansions:
    """The opened runs of a process. Runs on the same graph share its one writer."""

    def __init__(self) -> None:
        self._opening = threading.Lock()
        self._by_run: dict[str, Expansion] = {}
        self._sources: dict[tuple[str, str], ArticleSet] = {}
        self._writing: dict[tuple[str, bool], Writing] = {}
        self._closing = ExitStack()

    async def of(self, client: Client, tracking_id: str) -> Expansion:
        """The run of this name, opened if it is not yet.

        Raises:
            WikiError: its source, its model or its graph cannot be opened; `GraphBusy` if another process writes it.
        """
        found = self._by_run.get(tracking_id)
        if found is None:
            run = await find_run(client, tracking_id)
            found = await asyncio.to_thread(self._open, tracking_id, run.settings)
        return found

    def close(self) -> None:
        """Load what is waiting and close everything. What comes later opens anew."""
        with self._opening:
            closing, self._closing = self._closing, ExitStack()
            self._by_run, self._sources, self._writing = {}, {}, {}
            closing.close()

    def _open(self, tracking_id: str, settings: RunSettings) -> Expansion:
        with self._opening:
            if tracking_id not in self._by_run:
                self._by_run[tracking_id] = Expansion(settings, self._source(settings), self._writer(settings))
            return self._by_run[tracking_id]

    def _source(self, settings: RunSettings) -> ArticleSet:
        name = (settings.source, settings.data_dir)
        if name not in self._sources:
            self._sources[name] = open_source(settings.source, Path(settings.data_dir))
        return self._sources[name]

    def _writer(self, settings: RunSettings) -> Writing:
        name = (settings.graph, settings.semantic)
        if name not in self._writing:
            embedder = open_embedder(semantic=settings.semantic, data_dir=Path(settings.data_dir))
            graph = LadybugGraph.open_writer(
                Path(settings.graph), model_id=embedder.model_id, dimension=embedder.dimension
            )
            self._closing.callback(graph.close)
            loader = Loader(graph, embedder)
            self._closing.callback(loader.close)
            self._writing[name] = Writing(graph, loader)
        return self._writing[name]
