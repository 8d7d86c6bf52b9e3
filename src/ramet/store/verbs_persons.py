"""What people do beyond single tasks, as methods of a store; :mod:`ramet.store.base_persons` has the promises."""

from __future__ import annotations

from functools import partial

from ramet.model.acts import Act
from ramet.store import acts
from ramet.store.verbs import Verbs


class PersonsVerbs(Verbs):
    """See :class:`ramet.store.base_persons.PersonsStore`."""

    async def acts(self, tracking_id: str | None = None, *, limit: int = 100, before: int | None = None) -> list[Act]:
        return await self._read(partial(acts.acts, tracking_id=tracking_id, limit=limit, before=before))
