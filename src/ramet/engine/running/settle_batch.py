"""Size of a worker's settling transactions, and the treatment of settlements that fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ramet.engine.base.work import Work, unsettled
from ramet.model.task import events as ev
from ramet.store.answers import SettleResult
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.requests import Settlement
from ramet.store.store import Store

log = own_logger("ramet.worker")

SETTLE_BATCH = 1_000
SETTLE_BATCH_ON_PATHS = 500
"""Most ends in one transaction that let others in, of those that it may look at; more would leave the rest to
transactions of their own.
"""


def settled_together(outcomes: Sequence[Settlement], works: Mapping[int, Work]) -> Sequence[Settlement]:
    """Return the first of these outcomes that are settled together.

    Args:
        works: the held tasks, by number.
    """
    batch = outcomes[:SETTLE_BATCH]
    on_paths = [
        at for at, item in enumerate(batch) if (work := works.get(item.seq)) is not None and work.path is not None
    ]
    return batch[: on_paths[SETTLE_BATCH_ON_PATHS]] if len(on_paths) > SETTLE_BATCH_ON_PATHS else batch


async def settled_or_error(store: Store, batch: Sequence[Settlement]) -> list[SettleResult]:
    """Settle a batch; what the store cannot settle for a fault of its own or of one of them becomes that one's error.

    Guarantee: nothing but a `StoreError` comes out, after which all of it may be settled again: by its fence each
    takes effect once. One that cannot even become an error is answered as ``unsettled``: its lease lapses.

    Raises:
        StoreError: the database is away, busy or full.
    """
    try:
        return await store.settle(batch)
    except StoreError:
        raise
    except Exception as error:
        log.exception("%d tasks could not be settled together", len(batch))
        return [await _settle_one(store, item, error) for item in batch]


async def _settle_one(store: Store, item: Settlement, error: Exception) -> SettleResult:
    wanted = [unsettled(item, "it could not be settled", error)] if type(item.event) is not ev.Error else []
    for one in (item, *wanted):
        try:
            [answer] = await store.settle([one])
            return answer
        except StoreError:
            raise
        except Exception:
            log.exception("task %d could not be settled", item.seq)
    return SettleResult(item.seq, None, "unsettled")
