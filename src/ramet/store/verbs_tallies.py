"""Tallies, as methods of a store; :mod:`ramet.store.base_tallies` has the promises."""

from __future__ import annotations

from functools import partial

from ramet.model.tallies import Tallies
from ramet.store import tallying
from ramet.store.verbs import Verbs


class TallyVerbs(Verbs):
    """See :class:`ramet.store.base_tallies.TallyStore`."""

    async def tallies(self, since: float | None = None, *, kinds: bool = True) -> Tallies:
        return await self._read(partial(tallying.tallies, since=since, kinds=kinds))
