"""Who has a kind and key, who was refused it and why, who won (promise I8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ramet.engine.explain.blocks import refusals
from ramet.model.causes import Cause
from ramet.model.lineage.guard import Elsewhere
from ramet.model.task.task import Block, Task
from ramet.store.base import Store

SHOWN_MAX = 100
"""Holders, and refusals, of one kind and key that are told."""


class KeyExplanation(NamedTuple):
    """What is stored about a kind and key."""

    kind: str
    key: str
    """As it is stored: as asked for, or as canonical text, URL or title of that."""
    tasks: tuple[Task, ...]
    """Tasks that have this identity, the newest first; at most one in a lineage."""
    blocks: tuple[Block, ...]
    """Refused spawns of it, the one that was refused last first."""
    why: tuple[Cause, ...]
    """Of each of the blocks why, with its numbers, the winner and what would allow it."""
    holder: Elsewhere | None
    """Of a kind with ``unique="global"`` who holds the key now, over all lineages."""
    holder_pruned: bool
    """The holder's lineage was pruned; it holds the key all the same."""
    more: bool
    """There may be more than was looked at: name the lineage."""


async def explain_key(
    store: Store, kind: str, keys: Iterable[str], tracking_id: str | None = None
) -> KeyExplanation | None:
    """What is known of a kind and the first of these keys of which anything is; None when nothing is."""
    for spelling in keys:
        known = await store.known(kind, spelling, tracking_id, limit=SHOWN_MAX)
        if known.tasks or known.blocks or known.holder is not None:
            lineages = {}
            for name in {block.tracking_id for block in known.blocks}:
                lineage = await store.lineage(name)
                if lineage is not None:
                    lineages[name] = lineage
            why = await refusals(store, known.blocks, lineages)
            pruned = known.holder is not None and await store.get(known.holder.id) is None
            return KeyExplanation(kind, spelling, known.tasks, known.blocks, why, known.holder, pruned, known.more)
    return None
