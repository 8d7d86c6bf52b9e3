"""What handlers ask of the database beside their settlements: small verbs by name, with JSON values.

A handler in a child process has its supervisor run the errand, which writes in the supervisor's own batches. An
errand is not refused for a lost claim here: the store's fence decides, and settling money is never refused at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ramet.engine.context.blobs import keep_blob
from ramet.engine.context.data import transact
from ramet.engine.context.rates import adapt, take
from ramet.model.cost import Actual, ReserveRequest
from ramet.store.base import Store


async def run_errand(store: Store, name: str, arguments: Sequence[Any]) -> Any:
    """Run one errand; its answer consists of JSON values.

    Raises:
        ValueError: there is no such errand.
        StoreError: the database failed.
    """
    errand = _ERRANDS.get(name)
    if errand is None:
        raise ValueError(f"no errand {name!r} (known: {', '.join(sorted(_ERRANDS))})")
    return await errand(store, *arguments)


async def _reserve(store: Store, reservation_id: str, seq: int, fence: int, amount: int) -> list[Any]:
    [answer] = await store.reserve([ReserveRequest(reservation_id, seq, fence, amount)])
    return list(answer)


async def _settle_reserved(store: Store, reservation_id: str, amount: int) -> list[Any]:
    [answer] = await store.settle_reserved([Actual(reservation_id, amount)])
    return list(answer)


async def _bind(store: Store, seq: int, fence: int, task_ids: Sequence[str]) -> list[Any]:
    return list(await store.bind(seq, fence, task_ids))


async def _bound(store: Store, settler_id: str, limit: int, after: str | None) -> list[Any]:
    return list(await store.bound(settler_id, limit=limit, after=after))


_ERRANDS: dict[str, Callable[..., Awaitable[Any]]] = {
    "adapt": adapt,
    "bind": _bind,
    "bound": _bound,
    "reserve": _reserve,
    "settle_reserved": _settle_reserved,
    "put_blob": keep_blob,
    "take": take,
    "transact": transact,
}
