"""The store with an observer beside it: what became durable through it is told, after it did.

Only where there is an observer; otherwise the store is the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from ramet.engine.observing import Observer, observer
from ramet.model.task import TERMINAL, TaskState
from ramet.store.base import Claimed, ClaimRequest, NewLineage, Settled, Settlement, Store, Submitted
from ramet.store.errors import StoreError

REMEMBERED_MAX = 100_000
"""Claims that nobody settles (their leases lapsed) are forgotten, the oldest first."""


def watched(store: Store) -> Store:
    """The store, watched where the environment asks for it."""
    watching = observer()
    if watching is None or isinstance(store, _Watched):
        return store
    return cast(Store, _Watched(store, watching))


class _Watched:
    """Everything of the store, and four verbs after which the observer is told."""

    def __init__(self, store: Store, watching: Observer) -> None:
        self._store = store
        self._watching = watching
        self._claims: dict[tuple[int, int], Claimed] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def submit(self, lineages: Sequence[NewLineage]) -> list[Submitted]:
        answers = await self._store.submit(lineages)
        self._watching.submitted(lineages, answers)
        return answers

    async def claim(self, request: ClaimRequest) -> list[Claimed]:
        found = await self._store.claim(request)
        for claimed in found:
            self._claims[claimed.standing.seq, claimed.standing.fence] = claimed
        while len(self._claims) > REMEMBERED_MAX:
            del self._claims[next(iter(self._claims))]
        return found

    async def settle(self, batch: Sequence[Settlement]) -> list[Settled]:
        answers = await self._store.settle(batch)
        for item, answer in zip(batch, answers, strict=True):
            claim = (item.seq, item.fence)
            claimed = self._claims.get(claim)
            if claimed is not None and answer.refused is None:
                self._watching.settled(claimed, item, answer)
            if answer.state != TaskState.PROCESSING:
                self._claims.pop(claim, None)
            for told in answer.items:
                if told.refused is None and told.state is not None and TaskState(told.state) in TERMINAL:
                    await self._ended(told.task_id)
        return answers

    async def cancel(self, task_id: str, *, tree: bool, by: str, reason: str | None = None) -> bool:
        done = await self._store.cancel(task_id, tree=tree, by=by, reason=reason)
        if done:
            await self._ended(task_id)
        return done

    async def _ended(self, task_id: str) -> None:
        task = None
        with suppress(StoreError):  # What was settled is settled, whoever hears of it.
            task = await self._store.get(task_id)
        if task is not None and task.state.terminal:
            self._watching.ended(task)
