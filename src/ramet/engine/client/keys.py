"""The part of the client that finds things by a key, in any spelling of it (DESIGN §5)."""

from __future__ import annotations

from functools import partial

from ramet.engine.explain.key import KeyExplanation, explain_key, first_found, spellings, spellings_of
from ramet.engine.kinds.registry import Handler, Registry
from ramet.model.task.task import Block, Task
from ramet.model.views import BlockPage
from ramet.store.store import Store


class KeysClient:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store
    registry: Registry

    def spellings(self, kind: str | Handler | None, key: str) -> list[str]:
        """The stored keys that every lookup of this key compares, the surest first.

        Those of a kind that this program registers are what its key function makes of the text. Of others, and where
        the key function needs more than a text, they are the text as it is written, and the canonical text, URL, title
        and payload of it.
        """
        return spellings_of(self.registry, kind, key)

    async def blocks(self, tracking_id: str, *, limit: int = 1_000, **filters: str) -> list[Block]:
        """Spawns that the guard refused in a lineage; filter by ``kind``, ``key`` (in any spelling) or ``reason``."""
        if "key" not in filters:
            return await self.store.blocks(tracking_id, limit=limit, **filters)
        wanted = [{**filters, "key": one} for one in self.spellings(filters.get("kind"), filters["key"])]
        return await first_found(wanted, lambda one: self.store.blocks(tracking_id, limit=limit, **one))

    async def block_page(
        self,
        tracking_id: str,
        *,
        kind: str | None = None,
        key: str | None = None,
        reason: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> BlockPage:
        """Spawns that the guard refused in a lineage by kind, key and reason, a page at a time (at most 1,000).

        One page looks at 5,000 of them, so it may have fewer than asked for, or none, and still name where to go on.

        Args:
            key: in any spelling, see :meth:`spellings`.
            after: :attr:`~ramet.BlockPage.next_after` of the page before this one.

        Raises:
            ValueError: ``after`` is not of an earlier page.
        """
        keys = () if key is None else self.spellings(kind, key)
        return await self.store.block_page(tracking_id, kind=kind, keys=keys, reason=reason, limit=limit, after=after)

    async def explain_key(self, kind: str, key: str, tracking_id: str | None = None) -> KeyExplanation | None:
        """Who has a kind and key, who was refused it and why, from stored rows; None when nothing is known of it.

        Args:
            key: in any spelling, see :meth:`spellings`.
            tracking_id: look only in this lineage; without it the newest are looked at.
        """
        return await explain_key(self.store, kind, self.spellings(kind, key), tracking_id)

    async def tasks_with_key(self, key: str, *, limit: int = 50) -> tuple[Task, ...]:
        """Tasks with this key in any spelling, of any kind in any lineage (at most 1,000; which, where there are more,
        is not said)."""
        return await first_found(spellings(key), partial(self.store.tasks_with_key, limit=limit))
