"""Group commit: verbs that wait together are committed together; each fails alone, but a failed commit fails all."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ramet.model.task.task import NewTask
from ramet.store.errors import StoreBusy, StoreError
from ramet.store.requests import NewLineage, Write
from ramet.store.session import Session
from ramet.store.sqlite import group_commit
from ramet.store.sqlite import session as sqlite_session
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.support.waiting import HANG_SECONDS
from tests.support.world import in_threads


class Gate:
    """Holds the writer thread inside a verb, so that others gather behind it; and counts commits."""

    def __init__(self) -> None:
        self.commits = 0
        self.fail_commit: BaseException | None = None
        self.fail_begin = False
        self.begins: Callable[[], object] = lambda: None
        self.entered = threading.Event()
        self.opened = threading.Event()

    def hook(self, when: str, sql: str) -> None:
        if sql == "BEGIN IMMEDIATE" and when == "before":
            self.begins()
        if sql == "BEGIN IMMEDIATE" and when == "before" and self.fail_begin:
            self.fail_begin = False
            raise sqlite3.OperationalError("database is locked")
        if sql == "COMMIT" and when == "before":
            if self.fail_commit is not None:
                error, self.fail_commit = self.fail_commit, None
                raise error
            self.commits += 1

    def hold(self, session: Session) -> str:
        self.entered.set()
        assert self.opened.wait(HANG_SECONDS)
        return "held"


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def store(tmp_path: Path, gate: Gate) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "ramet.db", hook=gate.hook)
    gate.commits = 0
    yield store
    gate.opened.set()
    store.close_now()


def lineage(number: int, key: str = "a") -> NewLineage:
    return NewLineage(f"line{number}", [NewTask(f"{number}-{key}", "page", key, "null")])


async def behind(store: SqliteStore, gate: Gate, *verbs: Any) -> list[Any]:
    """Results of verbs that all arrived while the writer was held: they share the first transaction after it."""
    held = asyncio.create_task(store._writer.run(gate.hold))
    await asyncio.to_thread(gate.entered.wait, 60.0)
    waiting = [asyncio.ensure_future(verb) for verb in verbs]
    await asyncio.sleep(0)
    gate.opened.set()
    results = await asyncio.gather(held, *waiting, return_exceptions=True)
    return results[1:]


async def test_verbs_that_wait_together_share_a_commit(store: SqliteStore, gate: Gate) -> None:
    await behind(store, gate, *(store.submit([lineage(n)]) for n in range(50)))
    assert gate.commits <= 5
    assert len(await store.lineages(limit=1_000)) == 50


async def test_what_waits_is_left_to_the_next_commit_once_gathering_took_its_time(
    store: SqliteStore, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "GATHER_SECONDS_MAX", 0.0)
    await behind(store, gate, *(store.submit([lineage(n)]) for n in range(5)))
    assert gate.commits == 6
    assert len(await store.lineages()) == 5


async def test_a_lone_verb_is_committed_at_once(store: SqliteStore, gate: Gate) -> None:
    for number in range(3):
        await store.submit([lineage(number)])
        assert gate.commits == number + 1


async def test_every_answer_is_durable_when_it_comes(store: SqliteStore, gate: Gate) -> None:
    other = SqliteStore(store.path)

    async def submit(number: int) -> None:
        await store.submit([lineage(number)])
        assert await other.lineage(f"line{number}") is not None

    await behind(store, gate, *(submit(n) for n in range(20)))
    await other.close()


async def test_a_failing_verb_undoes_only_its_own_part(store: SqliteStore, gate: Gate) -> None:
    await store.submit([lineage(0)])
    told = await behind(
        store,
        gate,
        store.submit([lineage(1)]),
        store.submit([lineage(2), lineage(0, "other")]),
        store.ensure_tables(["CREATE TABLE mine (a)", "CREATE TABEL b (a)"]),
        store.revive(["nobody"], by="test"),
        store.submit([lineage(3)]),
    )
    assert [isinstance(answer, StoreError) for answer in told] == [False, True, True, True, False]
    assert {row.tracking_id for row in await store.lineages()} == {"line0", "line1", "line3"}
    with pytest.raises(StoreError, match="no such table"):
        await store.read("SELECT * FROM mine")
    assert await violations(store) == []


async def test_a_verb_whose_transaction_could_not_begin_is_told_so_and_never_run(
    store: SqliteStore, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_session, "BUSY_SECONDS", 0.0)
    gate.fail_begin = True
    with pytest.raises(StoreBusy, match=r"another process has held .*: stop it or try again"):
        await store.submit([lineage(1)])
    await store.submit([lineage(2)])
    assert {row.tracking_id for row in await store.lineages()} == {"line2"}


class Broken(BaseException):
    """Not an Exception: nothing between a statement and the transaction may swallow it."""


@pytest.mark.parametrize("error", [OSError("disk"), Broken("broken")], ids=["exception", "base exception"])
async def test_a_failing_commit_tells_everybody_and_writes_nothing(
    store: SqliteStore, gate: Gate, error: BaseException
) -> None:
    gate.fail_commit = error
    told = await behind(store, gate, *(store.submit([lineage(n)]) for n in range(10)))
    stored = {row.tracking_id for row in await store.lineages()}
    assert stored == {f"line{n}" for n, answer in enumerate(told) if not isinstance(answer, BaseException)}
    assert {type(answer) for answer in told} <= {list, type(error)}
    assert type(error) in {type(answer) for answer in told}
    await store.submit([lineage(99)])
    assert await violations(store) == []


def stops(verb: Callable[[Session], Any]) -> Callable[[Session], Any]:
    def run(session: Session) -> Any:
        verb(session)
        raise Broken("in the middle of a verb")

    return run


async def test_a_verb_that_breaks_the_transaction_leaves_nobody_waiting(store: SqliteStore, gate: Gate) -> None:
    write = stops(lambda session: session.run("CREATE TABLE half (a)"))
    told = await behind(store, gate, store.submit([lineage(1)]), store._writer.run(write), store.submit([lineage(2)]))
    assert isinstance(told[0], Broken)
    assert isinstance(told[1], Broken)
    assert await store.lineage("line1") is None
    if not isinstance(told[2], BaseException):
        assert await store.lineage("line2") is not None
    with pytest.raises(StoreError, match="no such table"):
        await store.read("SELECT * FROM half")


async def test_stopping_finishes_what_waits(tmp_path: Path, gate: Gate) -> None:
    store = SqliteStore(tmp_path / "ramet.db", hook=gate.hook)
    held = asyncio.create_task(store._writer.run(gate.hold))
    await asyncio.to_thread(gate.entered.wait, 60.0)
    waiting = [asyncio.create_task(store.submit([lineage(n)])) for n in range(30)]
    await asyncio.sleep(0)
    closing = asyncio.create_task(asyncio.to_thread(store.close_now))
    gate.opened.set()
    assert await held == "held"
    answers = await asyncio.gather(*waiting)
    await closing
    assert all(answer[0].created for answer in answers)
    again = SqliteStore(tmp_path / "ramet.db")
    assert len(await again.lineages()) == 30
    await again.close()


async def test_answers_go_back_to_the_loop_that_asked(store: SqliteStore) -> None:
    async def submit(number: int) -> None:
        for at in range(20):
            await store.submit([lineage(100 * number + at)])

    await in_threads(*((lambda n=n: submit(n)) for n in range(8)))
    assert len(await store.lineages(limit=1_000)) == 160


async def test_a_loop_that_ended_does_not_stop_the_writer(store: SqliteStore, gate: Gate) -> None:
    def give_up() -> None:
        async def main() -> None:
            asyncio.create_task(store.submit([lineage(1)]))  # noqa: RUF006 - given up on purpose
            await asyncio.sleep(0)

        asyncio.run(main())

    held = asyncio.create_task(store._writer.run(gate.hold))
    await asyncio.to_thread(gate.entered.wait, 60.0)
    await asyncio.to_thread(give_up)
    gate.opened.set()
    await held
    await store.submit([lineage(2)])
    assert {row.tracking_id for row in await store.lineages()} == {"line1", "line2"}


async def test_a_cancelled_caller_disturbs_nobody(store: SqliteStore, gate: Gate) -> None:
    held = asyncio.create_task(store._writer.run(gate.hold))
    await asyncio.to_thread(gate.entered.wait, 60.0)
    gone = asyncio.create_task(store.submit([lineage(1)]))
    stays = asyncio.create_task(store.submit([lineage(2)]))
    await asyncio.sleep(0)
    gone.cancel()
    gate.opened.set()
    await held
    assert (await stays)[0].created
    assert await store.lineage("line1") is not None


async def test_a_write_that_ends_the_transaction_is_not_taken_for_a_success(store: SqliteStore) -> None:
    from ramet.model.task import events as ev
    from ramet.store.requests import ClaimRequest, Settlement

    await store.submit([lineage(1), lineage(2)])
    first, second = await store.claim(ClaimRequest("w", ("default",), ("page",), 2, 300.0))
    bad = Settlement(first.standing.seq, 1, ev.Complete(1), writes=[Write("COMMIT")])
    good = Settlement(second.standing.seq, 1, ev.Complete(1))
    spoiled, settled = await store.settle([bad, good])
    assert [spoiled.state, settled.state] == ["pending", "success"]
    assert await violations(store) == []


async def test_who_waits_for_work_is_woken_before_the_answer(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken = list[str]()
    monkeypatch.setattr(store._writer, "_on_wake", lambda: woken.append("now"))
    await store.submit([lineage(1)])
    assert woken == ["now"], "a lone submit is picked up while its submitter still waits for the answer"


@pytest.fixture
def neighbour(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """Another process that writes."""
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


async def test_a_transaction_looks_again_and_again_until_another_process_has_written(
    store: SqliteStore, gate: Gate, neighbour: sqlite3.Connection
) -> None:
    looked = threading.Semaphore(0)
    gate.begins = looked.release
    waiting = asyncio.create_task(store.submit([lineage(1)]))
    for _ in range(3):
        assert await asyncio.to_thread(looked.acquire, timeout=HANG_SECONDS)
    assert not waiting.done()
    neighbour.execute("COMMIT")
    [answer] = await waiting
    assert answer.created


async def test_a_process_that_writes_for_too_long_is_told_of(
    store: SqliteStore, neighbour: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_session, "BUSY_SECONDS", 0.0)
    with pytest.raises(StoreBusy, match="another process has held"):
        await store.submit([lineage(1)])
    neighbour.execute("ROLLBACK")
    await store.submit([lineage(2)])
    assert [row.tracking_id for row in await store.lineages()] == ["line2"]
