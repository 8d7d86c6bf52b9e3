"""Questions to a database that comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import psycopg
import pytest

from ramet.store.errors import StoreError, StoreUnreachable
from ramet.store.postgres import connect as postgres_reader
from ramet.store.postgres.store import PostgresStore
from ramet.store.postgres.writer import InlineConnection
from ramet.store.requests import ClaimRequest
from ramet.testing.postgres import Cluster, terminate_backends
from tests.store.sqlite.test_full_disk import lineage
from tests.support.waiting import until


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.mark.parametrize("inline", [False, True])
async def test_a_question_is_asked_again_when_its_connection_was_ended(ramet_postgres_url: str, inline: bool) -> None:
    store = PostgresStore(ramet_postgres_url, inline=inline)
    await store.submit([lineage(0)])
    for _ in range(3):
        assert terminate_backends(ramet_postgres_url) >= 1
        assert [row.tracking_id for row in await store.lineages()] == ["line0"]
    await store.close()


async def test_a_question_that_writes_is_refused_at_once(ramet_postgres_url: str) -> None:
    store = PostgresStore(ramet_postgres_url)
    with pytest.raises(StoreError, match="cannot execute DELETE in a read-only transaction") as refused:
        await store.read("DELETE FROM ramet_settings")
    assert not isinstance(refused.value, StoreUnreachable)
    await store.close()


async def test_a_question_waits_for_a_server_that_was_killed(cluster: Cluster) -> None:
    store = PostgresStore(cluster.create_database())
    await store.submit([lineage(0)])
    await asyncio.to_thread(cluster.kill)
    asked = [asyncio.create_task(store.lineages()) for _ in range(5)]
    await asyncio.to_thread(cluster.start)
    assert {row.tracking_id for rows in await asyncio.gather(*asked) for row in rows} == {"line0"}
    await store.close()


async def test_a_question_to_a_server_that_stays_away_is_given_up_by_all_who_wait(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(cluster.create_database())
    await asyncio.to_thread(cluster.kill)
    monkeypatch.setattr(postgres_reader, "PATIENCE_SECONDS", 0.2)
    told = await asyncio.gather(*(store.lineages() for _ in range(4)), return_exceptions=True)
    assert [type(error) for error in told] == [StoreUnreachable] * 4
    assert "\n" not in str(told[0])
    await store.close()


async def test_a_close_ends_the_waiting(cluster: Cluster) -> None:
    store = PostgresStore(cluster.create_database())
    opening: list[str] = []
    seen(store._reader, opening)
    await asyncio.to_thread(cluster.kill)
    asked = asyncio.create_task(store.lineages())
    await until(lambda: opening, "the question waits for its server")
    await store.close()
    with pytest.raises(StoreError, match="is closed: open it again"):
        await asked


def seen(reader: postgres_reader.Reader, opening: list[str]) -> None:
    """Note every time that the reader tries to connect."""
    really: Callable[[], object] = reader._open

    def open_session() -> object:
        opening.append("tried")
        return really()

    reader._open = open_session  # type: ignore[assignment]


async def test_a_refused_question_is_not_asked_again(ramet_postgres_url: str) -> None:
    store = PostgresStore(ramet_postgres_url, inline=True)
    asked: list[int] = []

    def wrong(session: object) -> None:
        asked.append(1)
        raise psycopg.errors.UndefinedTable

    with pytest.raises(psycopg.errors.UndefinedTable):
        store._reader.run(wrong)
    assert asked == [1]
    await store.close()


async def test_what_is_planned_once_is_kept_from_question_to_question(ramet_postgres_url: str) -> None:
    """Of a rollback the driver has the server forget every prepared statement."""
    store = PostgresStore(ramet_postgres_url, inline=True)
    prepared = "SELECT count(*) FROM pg_prepared_statements"
    for _ in range(8):
        await store.lineages()
        await store.claim(ClaimRequest("w", ["default"], ["nothing"], 1, 60.0))  # It finds nothing, and ends as well.
    assert isinstance(store._writer, InlineConnection)
    of_writer = store._writer._link._connected().connection
    assert (await store.read(prepared))[0][0] >= 1
    assert of_writer.execute(prepared).fetchall()[0][0] >= 2
    await store.close()
