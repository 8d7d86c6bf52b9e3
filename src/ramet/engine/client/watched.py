"""The store with observers beside it: they are called with what became durable through it, afterwards.

Only where the environment asks for an observer or the app has functions for events; otherwise the store is the store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

from ramet.engine.base.events import EventObserver, Listeners
from ramet.engine.base.observe import StoreObserver, observer
from ramet.model.task.task import TERMINAL, TaskState
from ramet.store.answers import ClaimedTask, SettleResult, SubmitResult
from ramet.store.errors import StoreError
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from ramet.store.store import Store

REMEMBERED_MAX = 100_000
"""Most claims without a settlement (their leases lapsed) and unreported ends that are remembered; the oldest are
forgotten first.
"""
READ_MAX = 500
"""Ended tasks that are read at once."""
ENDING = frozenset({"sweep", "cancel", "cancel_lineage", "exclude", "act_on_tasks"})
"""Verbs after which observers are called with what ended."""

Answer = TypeVar("Answer")


def watched(store: Store, listeners: Listeners, now: Callable[[], float]) -> Store:
    """Return the store, watched where the environment or the app asks for it.

    Args:
        listeners: the app's functions for events.
        now: Unix seconds, by the clock of the database.
    """
    observers: list[StoreObserver] = [EventObserver(listeners, now)] if listeners else []
    if (watching := observer()) is not None:
        observers.append(watching)
    if not observers or isinstance(store, _ObservedStore):
        return store
    return cast(Store, _ObservedStore(store, observers))


class _ObservedStore:
    """All verbs of the store; after some of them the observers are called.

    The store itself names every task that one of its transactions ended. A settlement reports its own; all others,
    which no worker has a claim of, are read and reported here.
    """

    def __init__(self, store: Store, observers: Sequence[StoreObserver]) -> None:
        self._store = store
        self._observers = observers
        self._claims: dict[tuple[int, int], ClaimedTask] = {}
        self._ended: deque[int] = deque(maxlen=REMEMBERED_MAX)
        """Numbers of tasks whose end was not reported yet. The store's threads add to it."""
        self._settling: list[frozenset[int]] = []
        """Tasks of settlements under way: whether these tell of an end is not known yet."""
        store.watch_ends(self._ended.extend)

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        return partial(self._then_tell, verb) if name in ENDING else verb

    async def _then_tell(self, verb: Callable[..., Awaitable[Answer]], *args: object, **kwargs: object) -> Answer:
        answer = await verb(*args, **kwargs)
        await self._tell_ends()
        return answer

    async def submit(self, lineages: Sequence[NewLineage]) -> list[SubmitResult]:
        answers = await self._store.submit(lineages)
        for one in self._observers:
            one.submitted(lineages, answers)
        return answers

    async def claim(self, request: ClaimRequest) -> list[ClaimedTask]:
        found = await self._store.claim(request)
        for claimed in found:
            self._claims[claimed.standing.seq, claimed.standing.fence] = claimed
        while len(self._claims) > REMEMBERED_MAX:
            del self._claims[next(iter(self._claims))]
        await self._tell_ends()
        return found

    async def settle(self, batch: Sequence[Settlement]) -> list[SettleResult]:
        seqs = frozenset([item.seq for item in batch])
        self._settling.append(seqs)
        reported: set[int] = set()
        try:
            answers = await self._store.settle(batch)
            for item, answer in zip(batch, answers, strict=True):
                claim = (item.seq, item.fence)
                claimed = self._claims.get(claim)
                if claimed is not None and answer.refused is None:
                    for one in self._observers:
                        one.settled(claimed, item, answer)
                    if answer.state in TERMINAL:
                        reported.add(item.seq)
                if answer.state != TaskState.PROCESSING:
                    self._claims.pop(claim, None)
        finally:
            self._settling.remove(seqs)
        await self._tell_ends(reported)
        return answers

    async def close(self) -> None:
        await self._tell_ends()
        await self._store.close()

    async def _tell_ends(self, reported: Collection[int] = ()) -> None:
        """Report the ends that no settlement reports; those of ``reported`` were."""
        if not self._ended:
            return
        left = set(reported)
        others = []
        for _ in range(len(self._ended)):
            seq = self._ended.popleft()
            if seq in left:
                left.discard(seq)
            elif any(seq in seqs for seqs in self._settling):
                self._ended.append(seq)
            else:
                others.append(seq)
        with suppress(StoreError):  # The task has ended, whatever listeners do.
            for at in range(0, len(others), READ_MAX):
                for task in await self._store.tasks_of(others[at : at + READ_MAX]):
                    if task.state.terminal:
                        for one in self._observers:
                            one.ended(task)
