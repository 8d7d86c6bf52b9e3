"""Tallies, as methods of a store; :mod:`ramet.store.base_tallies` has the promises."""

from __future__ import annotations

from functools import partial

from ramet.model.tallies import Tallies
from ramet.store.facade.runs import Verbs
from ramet.store.rows import tallies as tallying


class TallyVerbs(Verbs):
    """See :class:`ramet.store.base_tallies.TallyStore`."""

    async def tallies(self, since: float | None = None, *, kinds: bool = True) -> Tallies:
        return await self._read(partial(tallying.tallies, since=since, kinds=kinds))
