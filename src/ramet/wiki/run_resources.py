"""Resources that the handlers of a run share in their process: its source, its embedder and its graph.

All of it is opened when first needed and kept until the process ends in good order. After a crash nothing is closed;
sources and graphs stay whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ramet.fetch.host_gate import SharedGate
from ramet.wiki.embedding.base import Embedder
from ramet.wiki.embedding.registry import model_of, open_embedder
from ramet.wiki.errors import RunNotFound
from ramet.wiki.graphs.base import GraphStore
from ramet.wiki.graphs.registry import open_graph_writer
from ramet.wiki.runs import RunSettings, settings_of
from ramet.wiki.sources.base import ArticleSource, SourceOptions
from ramet.wiki.sources.mediawiki import MediaWikiSource
from ramet.wiki.sources.registry import open_source, source_state

if TYPE_CHECKING:
    from ramet import Client

Key = TypeVar("Key")
Thing = TypeVar("Thing")


def source_options(settings: RunSettings) -> SourceOptions:
    """Return the options of a run's source."""
    return SourceOptions(
        user_agent=settings.user_agent,
        links=settings.links,
        requests_per_second=settings.requests_per_second,
        private=settings.private,
        text=settings.text,
    )


class Expansions:
    """Sources, embedders and graphs that are open in a process. Runs on the same graph share its one writer."""

    def __init__(self) -> None:
        self._settings: dict[str, RunSettings] = {}
        self._sources: dict[tuple[RunSettings, str], ArticleSource] = {}
        self._embedders: dict[tuple[str, str], Embedder | None] = {}
        self._graphs: dict[tuple[str, str], GraphStore] = {}
        self._opening: asyncio.Lock | None = None

    async def settings(self, client: Client, tracking_id: str) -> RunSettings:
        """Return the settings of the pass of this lineage.

        Raises:
            RunNotFound: its first task is not there (a person deleted it, or it is not a pass of a run).
        """
        found = self._settings.get(tracking_id)
        if found is None:
            first = await settings_of(client, tracking_id)
            if first is None or first.run is None:
                raise RunNotFound(f"the lineage {tracking_id} has no first task with the settings of a wiki run")
            found = self._settings[tracking_id] = first.run
        return found

    async def source(self, client: Client, settings: RunSettings) -> ArticleSource:
        """Return the source of a run's articles; a file that changed is read again.

        Raises:
            WikiError: it cannot be opened on this machine.
        """
        state = await asyncio.to_thread(source_state, settings.source)
        return await self._once(self._sources, (settings, state), lambda: self._open_source(client, settings))

    async def embedder(self, settings: RunSettings) -> Embedder | None:
        """Return the embedder of a run; None when it wants no vectors.

        Raises:
            WikiError: a package or a model of it is not there.
        """
        name = (settings.embedder, settings.data_dir)
        return await self._once(
            self._embedders, name, lambda: open_embedder(settings.embedder, Path(settings.data_dir))
        )

    async def graph(self, settings: RunSettings) -> GraphStore:
        """Return the graph of a run, for writing.

        Raises:
            GraphBusy: another process writes it.
            WikiError: it cannot be opened.
        """
        model_id, dimension = await self._model(settings)
        path = Path(settings.graph)
        return await self._once(
            self._graphs,
            (settings.graph, model_id),
            lambda: open_graph_writer(path, model_id=model_id, dimension=dimension, language=settings.language),
        )

    async def _model(self, settings: RunSettings) -> tuple[str, int]:
        known = model_of(settings.embedder)
        if known is not None:
            return known
        embedder = await self.embedder(settings)
        assert embedder is not None
        return embedder.model_id, embedder.dimension

    def close(self) -> None:
        """Close the graphs, which are files that others wait for. A later use opens them again."""
        graphs, self._graphs = self._graphs, {}
        self._settings, self._sources, self._embedders = {}, {}, {}
        for graph in graphs.values():
            graph.close()

    def _open_source(self, client: Client, settings: RunSettings) -> ArticleSource:
        source = open_source(settings.source, Path(settings.data_dir), source_options(settings))
        if isinstance(source, MediaWikiSource):
            source.gate = SharedGate(client, source.resource, requests_per_second=settings.requests_per_second)
        return source

    async def _once(self, opened: dict[Key, Thing], key: Key, make: Callable[[], Thing]) -> Thing:
        if key not in opened:
            self._opening = self._opening or asyncio.Lock()
            async with self._opening:
                if key not in opened:
                    opened[key] = await asyncio.to_thread(make)
        return opened[key]
