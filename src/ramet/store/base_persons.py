"""The part of the Store protocol for what people do beyond single tasks; see :mod:`ramet.store.base`."""

from __future__ import annotations

from typing import Protocol

from ramet.model.acts import Act


class PersonsStore(Protocol):
    """What people ask of a database."""

    async def acts(self, tracking_id: str | None = None, *, limit: int = 100, before: int | None = None) -> list[Act]:
        """What people did to one lineage, or to anything; newest first, at most 1,000, before an act's number."""
        ...
