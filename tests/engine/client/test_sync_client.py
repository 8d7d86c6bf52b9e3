"""The client without an event loop: the same methods, from any thread, fenced and durable like the other."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Claim, ClaimLost, Client, Spawn, StoreError, SyncClaim, SyncClient, TaskFailed
from ramet.engine.client.schedules import Schedules
from ramet.engine.client.settings import Settings
from ramet.engine.client.sync_client import SyncSchedules, SyncSettings
from tests.invariants.check import violations
from tests.support.waiting import until_now, worked_off

ONLY_ASYNC = {"take", "take_again", "keep_alive"}
"""For the engine: what both clients are made of."""
PARTS_OF_THE_ENGINE = {"registry", "store", "clock"}
"""What a client is made with; the async client has them for programs that need them."""


@pytest.fixture
def app() -> App:
    app = App(tables=["CREATE TABLE IF NOT EXISTS effects (name TEXT)"])

    @app.task("double")
    async def double(ctx: Any, n: int) -> int:
        return 2 * n

    return app


@pytest.fixture
def client(app: App, tmp_path: Path) -> Iterator[SyncClient]:
    with app.sync_client(tmp_path / "ramet.db") as client:
        yield client
        assert client.wait_for(violations(client.asynchronous.store)) == []


def public(kind: type) -> dict[str, Any]:
    return {name: member for name, member in inspect.getmembers(kind) if not name.startswith("_") and callable(member)}


def parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())[1:]


@pytest.mark.parametrize(
    ("asynchronous", "plain"),
    [(Client, SyncClient), (Claim, SyncClaim), (Schedules, SyncSchedules), (Settings, SyncSettings)],
)
def test_the_two_have_the_same_methods_with_the_same_parameters(asynchronous: type, plain: type) -> None:
    theirs = {name: member for name, member in public(asynchronous).items() if name not in ONLY_ASYNC}
    ours = public(plain)
    assert theirs.keys() - ours.keys() == set()
    assert ours.keys() - theirs.keys() <= {"wait_for"} | ONLY_ASYNC
    for name, member in theirs.items():
        assert parameters(ours[name]) == parameters(member), name
        assert not inspect.iscoroutinefunction(inspect.unwrap(ours[name], stop=lambda f: True)), name


def test_what_a_client_has_beside_methods_the_other_has_too(client: SyncClient) -> None:
    def names(one: object) -> set[str]:
        return {name for name in dir(one) if not name.startswith("_")}

    theirs, ours = names(client.asynchronous), names(client)
    assert theirs - ours - ONLY_ASYNC <= PARTS_OF_THE_ENGINE
    assert ours - theirs <= {"wait_for", "asynchronous"}
    assert client.place == client.asynchronous.place
    assert client.spellings("double", "2") == client.asynchronous.spellings("double", "2")


def test_schedules_and_settings_answer_without_await(client: SyncClient) -> None:
    made = client.schedules.add("double", 2, every_seconds=60, name="often")
    assert [found.name for found in client.schedules.all()] == [made.name] == ["often"]
    assert client.schedules.pause("often")
    assert client.settings.set("limits.max_tasks", "7") == 7
    assert client.settings.get("limits.max_tasks").value == 7
    assert client.settings.unset("limits.max_tasks")


def test_submit_ask_and_wait_while_a_worker_runs(app: App, client: SyncClient) -> None:
    submitted = client.submit("double", 21, key="k")
    assert client.queue_size(submitted.tracking_id) == 1
    client.wait_for(worked_off(app, client.asynchronous))
    assert client.result(submitted.id) == 42
    assert [task.key for task in client.all_tasks(kind="double")] == ["k"]
    assert client.blocks(submitted.tracking_id) == []
    gone = client.submit("double", 1)
    client.cancel(gone.id)
    with pytest.raises(TaskFailed):
        client.result(gone.id)


def test_a_claim_that_another_program_took_is_settled_here(client: SyncClient) -> None:
    client.submit("double", 21)
    [taken] = client.claim("double", worker="elsewhere")
    [again] = client.resume_claims([taken.pair])
    assert isinstance(again, SyncClaim)
    assert client.heartbeat_many([taken.pair]) == {}
    assert again.complete(42).state == "success"
    [lost] = client.resume_claims([taken.pair])
    assert isinstance(lost, ClaimLost)
    assert client.claim_fate(*taken.pair).settled


def test_claims_are_worked_on_without_a_loop(client: SyncClient) -> None:
    client.submit_many([("page", n) for n in range(3)], one_lineage=True)
    first, second, third = client.claim("page", n=3)
    with first:
        first.write("INSERT INTO effects (name) VALUES ('first')")
        first.advance("half", {"n": 1})
        ended = first.complete("done", spawns=[Spawn("page", "child")])
    assert (ended.state, [answer.reason for answer in ended.spawns]) == ("success", [None])
    with pytest.raises(ZeroDivisionError), second:
        raise ZeroDivisionError
    with client.keep([third]):
        assert third.payload == 2
    counts = {count.state.value: count.tasks for count in client.distribution()}
    assert counts == {"success": 1, "pending": 3}
    assert client.read("SELECT name FROM effects") == [("first",)]


def test_a_lost_claim_is_told_at_the_next_verb_or_at_the_end(client: SyncClient) -> None:
    submitted = client.submit("page")
    [claim] = client.claim("page", lease_seconds=1.5)

    def work() -> None:
        with claim:
            client.cancel(submitted.id)
            until_now(lambda: claim.lost, "a heartbeat that learns it")

    with pytest.raises(ClaimLost, match="while working on it"):
        work()
    with pytest.raises(ClaimLost):
        claim.complete()


def test_many_threads_share_a_client(client: SyncClient) -> None:
    with ThreadPoolExecutor(8) as threads:
        submitted = list(threads.map(lambda n: client.submit("page", n), range(40)))
    assert len({item.id for item in submitted}) == 40
    assert client.queue_size() == 40


async def test_it_works_where_a_loop_is_running(tmp_path: Path) -> None:
    assert asyncio.get_running_loop() is not None
    with App().sync_client(tmp_path / "ramet.db") as client:
        assert client.queue_size() == 0
        client.submit("page")
        assert client.queue_size() == 1


def test_closing_ends_the_thread_and_what_comes_after_says_so(app: App, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    client = app.sync_client(tmp_path / "ramet.db")
    client.submit("page")
    client.close()
    client.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(RuntimeError, match="is closed"):
        client.submit("page")


def test_from_its_own_loop_it_says_what_to_do_instead_of_hanging(client: SyncClient) -> None:
    async def wrong() -> Any:
        return client.queue_size()

    with pytest.raises(RuntimeError, match="client's own event loop"):
        client.wait_for(wrong())


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_after_a_fork_it_says_what_to_do_instead_of_hanging(client: SyncClient) -> None:
    ours, theirs = multiprocessing.Pipe()

    def child() -> None:
        try:
            client.queue_size()
        except RuntimeError as error:
            theirs.send(str(error))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    assert ours.poll(60)
    assert "forked" in ours.recv()
    process.join()


def test_a_database_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no database"):
        App().sync_client(tmp_path / "missing.db", create=False)
