"""Reads of one moment: what others commit meanwhile is not seen, and a read is one round trip instead of three."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from ramet.store.base import Store
from ramet.store.session import Session

Found = TypeVar("Found")


class _Reads:
    """Stands for a store of which one only reads."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def read(self, sql: str) -> list[Any]:
        return self._session.rows(sql)


async def in_snapshot(store: Store, look: Callable[[Store], Coroutine[Any, Any, Found]]) -> Found:
    """Call ``look`` with a store whose ``read`` is all in one transaction; it may wait for nothing else."""

    def run(session: Session) -> Found:
        try:
            look(cast(Store, _Reads(session))).send(None)
        except StopIteration as end:
            return cast(Found, end.value)
        raise AssertionError("it waits for something that is no read")

    found: Found = await cast(Any, store)._read(run)
    return found
