"""The one thread that embeds and loads articles for many running handlers.

A graph admits one writer and one write transaction at a time, and batches pay: so handlers hand their article
over and wait, and the loader takes what is waiting, up to a limit, as one batch and one transaction.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from ramet.pipelines.wiki.articles import Article
from ramet.pipelines.wiki.embedding.base import Embedder, section_text
from ramet.pipelines.wiki.graphs.base import EmbeddedArticle, GraphStore

BATCH_SIZE_MAX = 32
"""Articles in one batch, at most."""


SECONDS_PER_ARTICLE_GUESS = 0.05
"""Until a batch was measured."""
SMOOTHING = 0.3


class LoaderClosed(RuntimeError):
    """The loader was closed before it could take the article. Running the task again is right."""


@dataclass(frozen=True, slots=True)
class _Request:
    article: Article
    expansion_depth: int
    loaded: Future[None] = field(default_factory=Future)


class Loader:
    """Loads articles into a graph, in batches, from a thread of its own.

    The graph and the embedder stay the caller's: close them after the loader. Use as a context manager.
    """

    def __init__(self, graph: GraphStore, embedder: Embedder, *, batch_size_max: int = BATCH_SIZE_MAX) -> None:
        """Start the thread. `embedder` must be the model of the graph."""
        assert (graph.model_id, graph.dimension) == (embedder.model_id, embedder.dimension)
        assert batch_size_max > 0
        self._graph = graph
        self._embedder = embedder
        self._batch_size_max = batch_size_max
        # None asks the thread to end after everything before it.
        self._waiting: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self.seconds_per_article = SECONDS_PER_ARTICLE_GUESS
        """How long an article takes, embedding included: a moving average over batches, for estimates."""
        self._admission = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="wiki-loader", daemon=True)
        self._thread.start()

    async def load(self, article: Article, expansion_depth: int) -> None:
        """Embed `article` and load it; when this returns, its transaction is committed.

        Cancelling the wait takes the article out of the queue if its batch has not begun; otherwise it is
        loaded, which is harmless.

        Raises:
            LoaderClosed: nothing was written.
            Exception: what embedding or loading this very article raised; the others of its batch are not
                affected.
        """
        await asyncio.wrap_future(self.submit(article, expansion_depth))

    def submit(self, article: Article, expansion_depth: int) -> Future[None]:
        """As `load`, for callers without an event loop: the future ends as `load` would.

        Raises:
            LoaderClosed: nothing was written.
        """
        request = _Request(article, expansion_depth)
        with self._admission:
            if self._closed:
                raise LoaderClosed("the loader is closed")
            self._waiting.put(request)
        return request.loaded

    def close(self) -> None:
        """Load what was handed over, then end the thread. Further calls do nothing."""
        with self._admission:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _run(self) -> None:
        while batch := self._next_batch():
            self._load([request for request in batch if request.loaded.set_running_or_notify_cancel()])

    def _next_batch(self) -> list[_Request]:
        """Wait for one request, and take what else is waiting; empty when the end was asked for."""
        batch: list[_Request] = []
        while len(batch) < self._batch_size_max:
            try:
                request = self._waiting.get(block=not batch)
            except queue.Empty:
                break
            if request is None:
                if batch:
                    self._waiting.put(None)
                break
            batch.append(request)
        return batch

    def _load(self, batch: list[_Request]) -> None:
        """Load a batch; if that fails, each article alone, so that an error reaches the one who caused it."""
        try:
            self._write(batch)
        except Exception as error:
            if len(batch) == 1:
                batch[0].loaded.set_exception(error)
                return
            for request in batch:
                self._load([request])
            return
        for request in batch:
            request.loaded.set_result(None)

    def _write(self, batch: Sequence[_Request]) -> None:
        if not batch:
            return
        # A task that was given to a second worker can hand in the same article twice.
        by_key: dict[str, _Request] = {}
        for request in sorted(batch, key=lambda request: request.expansion_depth):
            by_key.setdefault(request.article.key, request)
        texts = [
            section_text(request.article, section)
            for request in by_key.values()
            for section in request.article.sections
        ]
        began_at = time.monotonic()
        vectors = iter(self._embedder.embed(texts))
        self._graph.load_articles(
            [
                EmbeddedArticle(
                    request.article,
                    request.expansion_depth,
                    tuple(next(vectors) for _ in request.article.sections),
                )
                for request in by_key.values()
            ]
        )
        measured = (time.monotonic() - began_at) / len(by_key)
        self.seconds_per_article += SMOOTHING * (measured - self.seconds_per_article)
