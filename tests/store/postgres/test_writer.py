"""The threads that write: who is answered what when calls are made together, given up, or never answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import psycopg
import pytest

from ramet.store.errors import StoreError, StoreUnreachable
from ramet.store.postgres import writer
from ramet.store.postgres.store import PostgresStore
from ramet.store.postgres.writer import InlineConnection, WriterConnection
from ramet.store.session import Session
from tests.store.sqlite.test_full_disk import lineage
from tests.support.waiting import until


@pytest.fixture
async def store(ramet_postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(ramet_postgres_url)
    yield store
    await store.close()


class Gathering:
    """A verb whose first call waits until the test lets it go on, so that those after it are made together."""

    def __init__(self, refused: Exception) -> None:
        self.refused = refused
        self.calls: list[Sequence[str]] = []
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self, session: Session, items: Sequence[str]) -> list[str]:
        self.calls.append(list(items))
        if items == ["first"]:
            self.begun.set()
            self.may_end.wait()
        if "refused" in items:
            raise self.refused
        session.wake()
        return [f"{item} done" for item in items]

    async def run(self, store: PostgresStore, *calls: Sequence[str]) -> list[Any]:
        """What each of these calls, which wait for the first one, is answered."""
        first = asyncio.create_task(store._write_together(self, ["first"]))
        await until(self.begun.is_set, "the first call runs")
        others = [asyncio.create_task(store._write_together(self, items)) for items in calls]
        await asyncio.sleep(0)  # Each stands in line before it first waits.
        self.may_end.set()
        assert await first == ["first done"]
        return await asyncio.gather(*others, return_exceptions=True)


async def test_calls_that_are_made_together_are_answered_each_its_own(store: PostgresStore) -> None:
    verb = Gathering(ValueError("no"))
    assert await verb.run(store, ["a", "b"], ["c"]) == [["a done", "b done"], ["c done"]]
    assert verb.calls == [["first"], ["a", "b", "c"]]


async def test_of_calls_that_are_made_together_only_the_one_that_is_refused_learns_of_it(store: PostgresStore) -> None:
    verb = Gathering(ValueError("no"))
    assert await verb.run(store, ["a"], ["refused"], ["b", "c"]) == [["a done"], verb.refused, ["b done", "c done"]]
    assert verb.calls == [["first"], ["a", "refused", "b", "c"], ["a"], ["refused"], ["b", "c"]]


async def test_where_the_database_is_away_none_of_those_made_together_is_tried_by_itself(store: PostgresStore) -> None:
    verb = Gathering(StoreUnreachable("it is away"))
    assert await verb.run(store, ["a"], ["refused"]) == [verb.refused] * 2
    assert verb.calls == [["first"], ["a", "refused"]]


async def test_the_answer_to_somebody_who_has_left_disturbs_nobody(store: PostgresStore) -> None:
    verb = Gathering(ValueError("no"))
    wrong: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: wrong.append(context))
    left = asyncio.create_task(store._write_together(verb, ["first"]))
    await until(verb.begun.is_set, "it runs")
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    verb.may_end.set()
    assert await store._write_together(verb, ["second"]) == ["second done"]
    assert wrong == []


async def test_after_the_end_nothing_is_written(ramet_postgres_url: str) -> None:
    store = PostgresStore(ramet_postgres_url)
    await store.close()
    with pytest.raises(StoreError, match="the database is closed: open it again"):
        await store.stop("domain", "stopped.example", by="test")


def test_who_waits_for_a_database_that_stays_away_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []

    def away() -> psycopg.Connection[Any]:
        tried.append(0.0)
        raise psycopg.OperationalError("no route to host\nand more")

    monkeypatch.setattr(writer, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(StoreUnreachable, match=r"the database is away \(no route to host\): see that it runs"):
        WriterConnection(away, None, None, 0).run(lambda session: None, "beside")
    assert len(tried) == 1


async def test_what_the_server_has_forgotten_is_prepared_again(ramet_postgres_url: str) -> None:
    """The driver lets it forget all that is prepared after a rollback."""
    store = PostgresStore(ramet_postgres_url, inline=True)
    assert isinstance(store._writer, InlineConnection)
    connection = store._writer._link._connected().connection
    for number in range(3):
        await store.submit([lineage(number)])
        connection.execute("DEALLOCATE ramet_known", prepare=False)
    assert len(await store.lineages()) == 3
    await store.close()
