"""The part of the Store protocol that says what is known of a kind and key."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ramet.model.lineage.guard import Elsewhere
from ramet.model.task.task import Block, Task


class Known(NamedTuple):
    """What is stored about a kind and key."""

    tasks: tuple[Task, ...]
    """Tasks that have this identity, those of the newest lineages first."""
    blocks: tuple[Block, ...]
    """Refused spawns of it, the one that was refused last first."""
    holder: Elsewhere | None
    """Who holds the key over all lineages, for kinds with ``unique="global"``; that task's lineage may be pruned."""
    more: bool
    """There is, or there may be, more than was looked at."""


class ExplainingStore(Protocol):
    """Who has an identity, and which spawns of it were refused (promise I8)."""

    async def known(self, kind: str, key: str, tracking_id: str | None = None, *, limit: int = 100) -> Known:
        """What is stored about a kind and key, in one lineage or in any.

        Of any lineage, at most 5,000 identities with this key are looked at, and the blocks of the newest 1,000
        lineages of each state and of those that the tasks found belong to. At most ``limit`` (1,000) of each.
        """
        ...
