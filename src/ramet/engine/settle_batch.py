"""How much a worker settles in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ramet.engine.work import Work
from ramet.store.base import Settlement

SETTLE_BATCH = 1_000
SETTLE_BATCH_ON_PATHS = 500
"""So many ends let as many others in at once, of those that one transaction may look at; more would leave the rest to
transactions of their own."""


def settled_together(outcomes: Sequence[Settlement], works: Mapping[int, Work]) -> Sequence[Settlement]:
    """What comes first of these outcomes.

    Args:
        works: what is in hand, by number.
    """
    batch = outcomes[:SETTLE_BATCH]
    on_paths = 0
    for at, item in enumerate(batch):
        work = works.get(item.seq)
        if work is not None and work.path is not None:
            on_paths += 1
            if on_paths > SETTLE_BATCH_ON_PATHS:
                return batch[:at]
    return batch
