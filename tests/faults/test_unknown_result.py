"""The answer to a COMMIT is lost, or the COMMIT is: at every writing verb, and the verb is done exactly once.

One run through every verb is made three times: undisturbed, with every answer to a COMMIT swallowed, with every first
COMMIT cut off before the server. Callers are told the same and the databases end up the same.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from inspect import getmembers, getsource, isfunction
from typing import Any, NamedTuple

import pytest

from ramet.store.answers import MonitorStepResult
from ramet.store.errors import StoreError, StoreUncertain
from ramet.store.postgres import writer
from ramet.store.postgres.session import connect
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import NewLineage, SettingChange
from tests.postgres.proxy import Proxy
from tests.postgres.servers import databases
from tests.store.scenarios.every_verb import run_everything
from tests.support.comparable_rows import comparable
from tests.support.waiting import until
from tests.support.world import SettableClock, World

TAKES_A_VERB = re.compile(r"self\._write\w*\(\s*(?:partial\(\s*)?(\w+)\.(\w+)")
NUMBERED = re.compile(r"\b(seq)=(\d+)")
DRAWN = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
Rows = dict[str, list[str]]
Disturb = Callable[[str], AbstractContextManager[object]]
"""What happens while a verb of this name runs."""
TIMES = 1
"""How often each verb is disturbed in the short run."""


class Told(NamedTuple):
    """What a caller was told."""

    verb: str
    answer: str


class Left(NamedTuple):
    """What a run leaves: all that callers were told, in order, and every row of every table."""

    told: list[Told]
    rows: Rows


class Disturbed(PostgresStore):
    """Does something to every transaction that writes, and remembers every answer."""

    told: list[Told]
    disturb: Disturb

    async def _note(self, verb: Any, running: Callable[[], Any]) -> Any:
        name = name_of(verb)
        with self.disturb(name):
            answer = await running()
        self.told.append(Told(name, repr(answer if not isinstance(answer, MonitorStepResult) else how_many(answer))))
        return answer

    async def _write(self, verb: Any) -> Any:
        return await self._note(verb, partial(super()._write, verb))

    async def _write_beside(self, verb: Any, name: str = "other") -> Any:
        return await self._note(verb, partial(super()._write_beside, verb, name))

    async def _write_together(self, verb: Any, items: Sequence[Any], name: str = "other") -> Any:
        return await self._note(verb, partial(super()._write_together, verb, items, name))


def how_many(looked: MonitorStepResult) -> tuple[bool, bool, int, int]:
    """Alerts are numbered in the order in which they happen to be read."""
    return looked.ran, looked.more, len(looked.fired), len(looked.resolved)


def name_of(verb: Any) -> str:
    """Module and function."""
    function = verb.func if isinstance(verb, partial) else verb
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def every_verb() -> set[str]:
    """All that the store writes with, as its methods say."""
    found = set()
    for name, method in getmembers(PostgresStore, isfunction):
        if name.startswith("_") and name != "_sweep":
            continue
        if not hasattr(method, "__wrapped__"):
            written = TAKES_A_VERB.findall(getsource(method))
            found |= {name_of(getattr(method.__globals__[module], verb)) for module, verb in written}
        elif any(called.startswith("_write") for called in method.__code__.co_names):
            found.add(name_of(method.__wrapped__))
    return found


async def use_every_verb(world: World) -> None:
    """In every way that leads to a statement of its own."""
    await run_everything(world)
    await world.store.change_settings([SettingChange("name", 2, "int", "what it does")], by="test")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is away is tried again soon: it is back at once."""
    monkeypatch.setattr(writer, "PAUSE_SECONDS_MAX", 0.05)


async def left_by(url: str, disturb: Disturb) -> Left:
    """Run everything there."""
    clock = SettableClock()
    store = Disturbed(url, clock=clock, inline=True)
    store.told, store.disturb = [], disturb
    try:
        world = World(store, clock)
        await use_every_verb(world)
        tables = await store.read(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
            "AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'ramet_writers'"
        )
        rows = {name: await dump(store, name) for (name,) in sorted(tables)}
    finally:
        store.close_now()
    return Left(in_order(store.told), rows)


LOOSE = {
    "ramet_alerts": ("pattern", "tracking_id", "state"),
    "ramet_monitor": ("name", "at"),
    "ramet_attempts": ("seq", "fence", "tracking_id", "worker", "claimed_at"),
}
"""Of these tables only these columns: the others hold numbers of tasks, and which of two deadlines was met first."""


DEADLINES = {"task_deadline", "lineage_deadline", "lineage_ended"}
"""Of two deadlines both had passed when maintenance looked, and which it met first depends on where the database keeps
its rows: all are called ``deadline``."""


async def dump(store: PostgresStore, table: str) -> list[str]:
    """Every row, column by column."""
    sql = "SELECT attname FROM pg_attribute WHERE attrelid = ?::regclass AND attnum > 0 ORDER BY attnum"
    names = LOOSE.get(table) or [name for (name,) in await store.read(sql, (table,))]
    found = [
        ["deadline" if value in DEADLINES else value for value in row]
        # How often workers were told to look at their claims is no more than a hint, and hangs on those two deadlines.
        for row in await store.read(f"SELECT {', '.join(names)} FROM {table}")
        if "ends" not in row
    ]
    columns, rows = comparable(table, names, found)
    texts = [", ".join(f"{name}={value!r}" for name, value in zip(columns, row, strict=True)) for row in rows]
    numbered = [told.answer for told in in_order([Told(table, DRAWN.sub("id", text)) for text in texts])]
    return sorted(numbered)


def in_order(told: list[Told]) -> list[Told]:
    """Numbers of tasks by their order, a transaction that was undone has used some up; drawn ids by their first use."""
    numbers = sorted({int(number) for each in told for _, number in NUMBERED.findall(each.answer)})
    order = {str(number): str(at) for at, number in enumerate(numbers)}
    ids: dict[str, str] = {}

    def named(answer: str) -> str:
        answer = NUMBERED.sub(lambda found: f"{found[1]}={order[found[2]]}", answer)
        return DRAWN.sub(lambda found: ids.setdefault(found[0], f"id {len(ids)}"), answer)

    return [Told(verb, named(answer)) for verb, answer in told]


def differences(found: list[Told], wanted: list[Told]) -> list[tuple[str, str, str]]:
    """Fields of the first answer that differs: the verb, what was told and what should have been.

    How much a round of maintenance finds to do is not compared: rows tell whether all of it was done.
    """
    rounds = [[told for told in each if not told.verb.startswith("sweep.")] for each in (found, wanted)]
    for one, other in zip(*rounds, strict=False):
        if one != other:
            pairs = zip(one.answer.split(", "), other.answer.split(", "), strict=False)
            return [(f"{one.verb} for {other.verb}", mine, theirs) for mine, theirs in pairs if mine != theirs]
    return []


@pytest.fixture
async def expected() -> Left:
    """What is told and left when nothing happens."""
    url = databases().create()
    try:
        return await left_by(url, nullcontext)
    finally:
        databases().drop(url)


class Fault(NamedTuple):
    """What happens to the COMMIT of every transaction."""

    arm: Callable[[Proxy], None]
    met: Callable[[Proxy], int]


ANSWER = "the answer is swallowed"
FAULTS = {
    ANSWER: Fault(Proxy.swallow_commit_answers, lambda proxy: proxy.swallowed),
    "the COMMIT never arrives": Fault(Proxy.cut_before_commit, lambda proxy: proxy.prevented),
}


async def disturbed(proxy: Proxy, url: str, fault: Fault, times: float) -> Left:
    """The run with this fault at each verb, so many times."""
    seen: Counter[str] = Counter()

    @contextmanager
    def disturb(verb: str) -> Iterator[None]:
        seen[verb] += 1
        if seen[verb] > times:
            yield
            return
        before = fault.met(proxy)
        fault.arm(proxy)
        yield
        assert fault.met(proxy) == before + 1, f"nothing happened at {verb}"

    return await left_by(proxy.url(url), disturb)


@pytest.mark.parametrize(
    ("name", "times"),
    [
        *((name, TIMES) for name in FAULTS),
        *(pytest.param(name, 2, marks=pytest.mark.nightly) for name in FAULTS),
        # Transactions that were undone leave dead rows, so in the end maintenance comes to tasks in another order.
        pytest.param(ANSWER, float("inf"), marks=pytest.mark.nightly),
    ],
)
async def test_a_lost_commit_or_answer_changes_neither_what_is_told_nor_what_is_there(
    name: str, times: float, proxy: Proxy, postgres_url: str, expected: Left
) -> None:
    found = await disturbed(proxy, postgres_url, FAULTS[name], times)
    assert {told.verb for told in found.told} >= every_verb()
    assert differences(found.told, expected.told) == []
    assert found.rows.keys() == expected.rows.keys()
    tables = expected.rows if name == ANSWER else ("effects",)
    assert {table: found.rows[table] for table in tables} == {table: expected.rows[table] for table in tables}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
async def test_statistics_that_come_in_the_middle_change_nothing(seed: int, postgres_url: str, expected: Left) -> None:
    """The server gathers them when it likes, and may plan every statement anew."""
    chance = random.Random(seed)
    with connect(postgres_url) as connection:

        @contextmanager
        def disturb(verb: str) -> Iterator[None]:
            yield
            if chance.random() < 0.15:
                connection.execute("ANALYZE")

        found = await left_by(postgres_url, disturb)
    assert differences(found.told, expected.told) == []
    for table in expected.rows:
        assert found.rows[table] == expected.rows[table], table


@pytest.mark.parametrize("blindly", ["again", "never"])
async def test_without_looking_the_fault_is_seen(
    blindly: str, proxy: Proxy, postgres_url: str, expected: Left, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(link: writer.WriterConnection, wanted: int) -> bool:
        if blindly == "again":
            return False
        raise StoreError("who knows")

    monkeypatch.setattr(writer.WriterConnection, "_look", look)

    async def as_expected() -> None:
        found = await disturbed(proxy, postgres_url, FAULTS[ANSWER], TIMES)
        assert differences(found.told, expected.told) == []

    with pytest.raises((AssertionError, StoreError, ValueError)):
        await as_expected()


WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


async def test_who_looks_waits_for_a_commit_that_is_still_on_its_way(proxy: Proxy, postgres_url: str) -> None:
    """The client is cut off and asks anew, while the COMMIT that it sent has not reached the server yet."""
    store = PostgresStore(proxy.url(postgres_url))
    beside = PostgresStore(postgres_url)
    try:
        proxy.hold_commits()
        world = World(store, SettableClock())
        submitting = asyncio.create_task(store.submit([NewLineage("line", [world.task()])]))

        async def looking() -> bool:
            assert not submitting.done(), "it did not wait"
            return await beside.read(WAITING) == [(1,)]

        await until(looking, "the one who looks waits")
        assert await beside.lineage("line") is None
        proxy.release_commits()
        [answer] = await submitting
        assert answer.created
        assert len(await beside.roots("line")) == 1
    finally:
        store.close_now()
        beside.close_now()


async def test_those_who_share_a_commit_are_all_told_the_truth(proxy: Proxy, postgres_url: str) -> None:
    """Verbs that wait together go in one transaction: one lost answer is everybody's."""
    store = PostgresStore(proxy.url(postgres_url))
    try:
        world = World(store, SettableClock())
        for fault, met in FAULTS.values():
            before = met(proxy)
            fault(proxy)
            lines = [f"line {before} {number} {met is FAULTS[ANSWER].met}" for number in range(200)]
            told = await asyncio.gather(*(store.submit([NewLineage(line, [world.task()])]) for line in lines))
            assert all(answer.created for [answer] in told)
            assert met(proxy) == before + 1
        assert len(await store.lineages(limit=1_000)) == 400
    finally:
        store.close_now()


async def test_who_cannot_look_says_so_and_does_not_repeat(
    proxy: Proxy, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server stays away after a commit whose answer is lost: the step took effect, once, and nobody claims else."""
    store = PostgresStore(proxy.url(postgres_url))
    world = World(store, SettableClock())
    try:
        await store.submit([NewLineage("before", [world.task()])])
        monkeypatch.setattr(writer, "PATIENCE_SECONDS", 0.0)
        proxy.refuse_after_commit()
        with pytest.raises(StoreUncertain, match="not known"):
            await store.submit([NewLineage("line", [world.task()])])
        proxy.heal()
        monkeypatch.setattr(writer, "PATIENCE_SECONDS", 30.0)
        assert len(await store.roots("line")) == 1
        # The next commit of the same writer is not taken for the one that nobody could look up.
        for number in range(8):
            proxy.cut_before_commit()
            [answer] = await store.submit([NewLineage(f"after {number}", [world.task()])])
            assert answer.created
            assert len(await store.roots(f"after {number}")) == 1
    finally:
        store.close_now()
