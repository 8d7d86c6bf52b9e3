"""The import, as methods of a store; :mod:`ramet.store.base_import` has the promises."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ramet.store.base_import import Arrival, ImportDone, Imported, ImportPlace, ImportRow
from ramet.store.facade.runs import Verbs
from ramet.store.imports import import_tasks as importing


class ImportVerbs(Verbs):
    """See :class:`ramet.store.base_import.ImportStore`."""

    async def import_places(
        self, task_ids: Sequence[str], tracking_ids: Sequence[str] = ()
    ) -> tuple[list[ImportPlace], dict[str, int]]:
        return await self._read(partial(importing.places, task_ids=task_ids, tracking_ids=tracking_ids))

    async def import_tasks(
        self,
        name: str,
        batch: Sequence[Arrival],
        *,
        line_up_at: float | None = None,
        hold_until: float | None = None,
    ) -> Imported:
        return await self._write(
            partial(
                importing.import_tasks, name=name, batch=batch, line_up_at=line_up_at, hold_until=hold_until,
            )
        )  # fmt: skip

    async def import_release(self, tracking_id: str, hold_until: float) -> None:
        await self._write(partial(importing.release, tracking_id=tracking_id, hold_until=hold_until))

    async def import_line_up(self, rows: Sequence[tuple[int, str]], since: float) -> None:
        await self._write(partial(importing.line_up, rows=rows, since=since))

    async def import_begin(self, name: str, by: str) -> ImportRow:
        return await self._write(partial(importing.begin, name=name, by=by))

    async def import_imports(self) -> list[ImportRow]:
        return await self._read(importing.imports)

    async def import_end(self, name: str, by: str, did: ImportDone, *, close: bool) -> None:
        await self._write(partial(importing.end, name=name, by=by, did=did, close=close))

    async def import_verify(self, task_ids: Sequence[str]) -> dict[str, str]:
        return await self._read(partial(importing.verify, task_ids=task_ids))

    async def import_recount(self, tracking_ids: Sequence[str]) -> dict[str, str]:
        return await self._read(partial(importing.recount, tracking_ids=tracking_ids))
