"""The verbs that every worker and client needs, as methods of a store; :mod:`ramet.store.base` has the promises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from ramet.model.lineage.lineage import Lineage
from ramet.model.task.task import Block, Task, TaskHistory
from ramet.model.values import NewBlob
from ramet.store.answers import Claimed, Ran, Settled, Submitted
from ramet.store.base_queries import KindCount, TaskPage, TaskQuery
from ramet.store.facade.runs import Verbs
from ramet.store.reads import history
from ramet.store.reads import tasks as querying
from ramet.store.requests import ClaimRequest, NewLineage, Settlement, Statement
from ramet.store.rows import blobs, own_tables, settings
from ramet.store.session import Session
from ramet.store.verbs import claim as claiming
from ramet.store.verbs import fenced as transacting
from ramet.store.verbs import operate
from ramet.store.verbs import settle as settling
from ramet.store.verbs import submit as creating
from ramet.store.verbs.settle import NOT_STORED, UNSETTLEABLE, failed


class CoreVerbs(Verbs):
    """See :class:`ramet.store.base.Store`."""

    async def submit(self, lineages: Sequence[NewLineage]) -> list[Submitted]:
        return [*await self._write_together(creating.submit, lineages, "submit")]

    async def claim(self, request: ClaimRequest) -> list[Claimed]:
        return await self._write_beside(partial(claiming.claim, request=request), "claim")

    async def settle(self, batch: Sequence[Settlement]) -> list[Settled]:
        try:
            return [*await self._write_together(settling.settle, batch, "settle")]
        except UNSETTLEABLE as error:
            if len(batch) == 1:
                return [*await self._write_together(settling.settle, [failed(batch[0], NOT_STORED, error)], "settle")]
        # It is not known whose fault it is; what follows is, each part in a transaction of its own.
        half = len(batch) // 2
        return [*await self.settle(batch[:half]), *await self.settle(batch[half:])]

    async def put_blob(self, settlement: Settlement, blob: NewBlob, bytes_max: int) -> Settled:
        return await self._write_beside(
            partial(transacting.put_blob, settlement=settlement, blob=blob, bytes_max=bytes_max)
        )

    async def blob(self, tracking_id: str, sha256: str) -> bytes | None:
        return await self._read(partial(blobs.read_blob, tracking_id=tracking_id, sha256=sha256))

    async def transact(self, settlement: Settlement, statements: Sequence[Statement]) -> tuple[Settled, list[Ran]]:
        return await self._write_beside(partial(transacting.transact, settlement=settlement, statements=statements))

    async def heartbeat(self, held: Sequence[tuple[int, int]], lease_seconds: float) -> frozenset[int]:
        return await self._write_beside(partial(claiming.heartbeat, held=held, lease_seconds=lease_seconds))

    async def ends(self) -> int:
        return await self._read(querying.ends)

    async def cancel(self, task_id: str, *, tree: bool = False, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(operate.cancel, task_id=task_id, tree=tree, by=by, reason=reason))

    async def cancel_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(operate.cancel_lineage, tracking_id=tracking_id, by=by, reason=reason))

    async def revive(
        self,
        task_ids: Sequence[str],
        *,
        by: str,
        reason: str | None = None,
        extend_seconds: float | None = None,
    ) -> list[str]:
        await self._follow(task_ids)
        return await self._write(
            partial(operate.revive, task_ids=task_ids, by=by, reason=reason, extend_seconds=extend_seconds)
        )

    async def get(self, task_id: str) -> Task | None:
        return await self._read(partial(querying.get, task_id=task_id))

    async def tasks_of(self, seqs: Sequence[int]) -> list[Task]:
        return await self._read(partial(querying.tasks_of, seqs=seqs))

    async def history(self, task_id: str) -> TaskHistory | None:
        return await self._read(partial(history.history, task_id=task_id))

    async def tasks(self, query: TaskQuery) -> TaskPage:
        return await self._read(partial(querying.tasks, query=query))

    async def stale(self, tracking_id: str | None = None, *, limit: int = 100) -> list[Task]:
        return await self._read(partial(querying.stale, tracking_id=tracking_id, limit=limit))

    async def has_live(self, kind: str, key: str, tracking_id: str | None = None) -> bool:
        return await self._read(partial(querying.has_live, kind=kind, key=key, tracking_id=tracking_id))

    async def lineage(self, tracking_id: str) -> Lineage | None:
        return await self._read(partial(querying.lineage, tracking_id=tracking_id))

    async def lineages(self, *, states: Iterable[str] = (), limit: int = 100) -> list[Lineage]:
        return await self._read(partial(querying.lineages, states=states, limit=limit))

    async def roots(self, tracking_id: str) -> list[Task]:
        return await self._read(partial(querying.roots, tracking_id=tracking_id))

    async def child_counts(self, task_ids: Sequence[str]) -> dict[str, int]:
        return await self._read(partial(querying.child_counts, task_ids=task_ids))

    async def blocks(self, tracking_id: str, *, limit: int = 1_000, **filters: str) -> list[Block]:
        return await self._read(partial(querying.blocks, tracking_id=tracking_id, limit=limit, filters=filters))

    async def block_totals(self, tracking_id: str) -> dict[tuple[str, str], int]:
        return await self._read(partial(querying.block_totals, tracking_id=tracking_id))

    async def counts(self, tracking_id: str | None = None) -> list[KindCount]:
        return await self._read(partial(querying.counts, tracking_id=tracking_id))

    async def settings(self) -> dict[str, Any]:
        return await self._read(settings.settings)

    async def put_setting(self, key: str, value: Any, value_type: str, description: str) -> None:
        await self._write(
            partial(settings.put_setting, key=key, value=value, value_type=value_type, description=description)
        )

    async def ensure_tables(self, statements: Sequence[str]) -> None:
        await self._write(partial(own_tables.ensure, statements=statements))

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        def run(session: Session, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
            session.plan_freely()
            return session.rows(sql, parameters)

        return await self._read(partial(run, sql=sql, parameters=parameters))

    async def idle(self, kinds: Sequence[str]) -> bool:
        return await self._read(partial(querying.idle, kinds=kinds))

    async def any_live(self, kinds: Sequence[str]) -> bool:
        return await self._read(partial(querying.any_live, kinds=kinds))

    async def next_due_at(self) -> float | None:
        return await self._read(querying.next_due_at)
