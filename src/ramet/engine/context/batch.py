"""Batch handlers: many tasks of a kind in one call, each with its own claim, its own requests and its own outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from ramet.engine.base.work import Work
from ramet.engine.context.context import BaseContext, Context, SyncContext
from ramet.engine.kinds.options import Execution
from ramet.engine.kinds.signatures import FirstArgument

AnyContext = TypeVar("AnyContext", bound=BaseContext)


class _Batch(FirstArgument, Sequence[AnyContext], Generic[AnyContext]):
    """The contexts of all tasks of one call, in the order of the payloads.

    ``for ctx, payload in zip(batch, payloads)``: what is asked for through a task's own context (spawns, writes,
    progress) belongs to that task and carries its fence.
    """

    returned: Any = None
    """Value that the handler returned, for middleware after its ``yield``."""

    def __init__(self, contexts: Sequence[AnyContext]) -> None:
        self._contexts = contexts

    def __len__(self) -> int:
        return len(self._contexts)

    @overload
    def __getitem__(self, at: int) -> AnyContext: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[AnyContext]: ...
    def __getitem__(self, at: int | slice) -> AnyContext | Sequence[AnyContext]:
        return self._contexts[at]

    def __iter__(self) -> Iterator[AnyContext]:
        return iter(self._contexts)

    @property
    def lifespan(self) -> Any:
        """Value that the app's :meth:`lifespan` yielded in this process; None without one."""
        return self._contexts[0].lifespan

    @property
    def cancelled(self) -> bool:
        """True once the call is to stop: its time is over, or none of its tasks is this worker's any more."""
        return all(context.cancelled for context in self._contexts)

    @property
    def remaining_seconds(self) -> float:
        """Seconds left for this call: the least that is left for one of its tasks."""
        return min(context.remaining_seconds for context in self._contexts)


class BatchContext(_Batch[Context]):
    """The first argument of an ``async def`` batch handler."""


class SyncBatchContext(_Batch[SyncContext]):
    """The first argument of a plain batch handler, which runs in a thread."""


def batch_of(contexts: Sequence[BaseContext]) -> BatchContext | SyncBatchContext:
    """Return the first argument of a batch handler."""
    plain = [context for context in contexts if isinstance(context, SyncContext)]
    return SyncBatchContext(plain) if plain else BatchContext([c for c in contexts if isinstance(c, Context)])


class MiscountedResults(Exception):
    """A batch handler returned something other than one result for each task."""


def results_of(returned: Any, count: int) -> Sequence[Any]:
    """One result for each task of a call.

    Raises:
        MiscountedResults: the message says what to return.
    """
    if returned is None:
        return [None] * count
    if not isinstance(returned, Sequence) or isinstance(returned, str | bytes):
        raise MiscountedResults(f"a batch handler returned a {type(returned).__name__}: return a list, or None")
    results = list(returned)  # Read once, here: a sequence of the handler's own may raise.
    if len(results) != count:
        raise MiscountedResults(f"a batch handler returned {len(results)} results for {count} tasks: one for each")
    return results


class BatchCollector:
    """Collects works of batch kinds until there are enough for a call, or the first has waited long enough."""

    def __init__(self, kinds: Mapping[str, Execution], ready: Callable[[list[Work]], None]) -> None:
        """Args:
        kinds: those with batch handlers.
        ready: takes the works of one call.
        """
        self._kinds = kinds
        self._ready = ready
        self._gathered: dict[str, list[Work]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def take(self, works: Iterable[Work]) -> list[Work]:
        """Keep what is to be gathered; returns the rest. A task that is ending runs by itself."""
        rest = []
        for work in works:
            how = self._kinds.get(work.kind)
            if how is None or work.ending is not None:
                rest.append(work)
                continue
            gathered = self._gathered.setdefault(work.kind, [])
            gathered.append(work)
            if len(gathered) >= how.batch:
                self._flush(work.kind)
            elif len(gathered) == 1:
                loop = asyncio.get_running_loop()
                self._timers[work.kind] = loop.call_later(how.batch_seconds, self._flush, work.kind)
        return rest

    def _flush(self, kind: str) -> None:
        timer = self._timers.pop(kind, None)
        if timer is not None:
            timer.cancel()
        gathered = self._gathered.pop(kind, None)
        if gathered:
            self._ready(gathered)

    def flush(self) -> None:
        """Wait for no more."""
        for kind in list(self._gathered):
            self._flush(kind)

    def __len__(self) -> int:
        return sum(map(len, self._gathered.values()))

    @property
    def works(self) -> list[Work]:
        """Everything that still waits for company."""
        return [work for gathered in self._gathered.values() for work in gathered]

    def drop(self, claims: Collection[tuple[int, int]]) -> None:
        """Forget these."""
        for gathered in self._gathered.values():
            gathered[:] = [work for work in gathered if (work.seq, work.fence) not in claims]

    def clear(self) -> None:
        """Forget everything."""
        for timer in self._timers.values():
            timer.cancel()
        self._gathered, self._timers = {}, {}
