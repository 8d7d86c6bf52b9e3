"""What operators and maintenance do, as methods of a store; :mod:`ramet.store.base_operations` has the promises."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ramet.store.base_operations import Prunable, SettingChange, SettingRow
from ramet.store.facade.runs import Verbs
from ramet.store.maintenance import prune as pruning
from ramet.store.rows import settings


class OperationsVerbs(Verbs):
    """See :class:`ramet.store.base_operations.OperationsStore`."""

    async def setting_rows(self) -> list[SettingRow]:
        return await self._read(settings.setting_rows)

    async def change_settings(self, changes: Sequence[SettingChange], *, by: str, reason: str | None = None) -> int:
        return await self._write(partial(settings.change_settings, changes=changes, by=by, reason=reason))

    async def prune(self, before: float, *, limit: int = 100, rows: int = 5_000) -> int:
        return await self._write(partial(pruning.prune, before=before, limit=limit, rows=rows))

    async def prunable(self, before: float, *, limit: int = 1_000_000_000) -> Prunable:
        return await self._read(partial(pruning.prunable, before=before, limit=limit))
