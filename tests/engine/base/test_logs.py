"""What is logged while a handler runs says for which task, wherever it runs; the handler's own fields never lose."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ramet import BatchContext, Context, SyncContext
from ramet.engine.base.current_tasks import current_claim
from ramet.engine.base.logs import NAMED_MAX, JsonFormatter, TaskContextFilter, TextFormatter
from ramet.store.requests import Settlement
from tests.engine.apps import logging_app
from tests.engine.runner_harness import Bench, work
from tests.support.waiting import until

log = logging.getLogger("tests.handlers")
OF_THE_FIRST = {
    "task_id": "id-1", "tracking_id": "lineage", "kind": "say", "attempt": 1, "fence": 5, "spawn_depth": 0,
}  # fmt: skip


class Heard(logging.Handler):
    """Keeps what it hears, as a machine and as a person would read it."""

    def __init__(self) -> None:
        super().__init__()
        self.documents: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self.addFilter(TaskContextFilter())

    def emit(self, record: logging.LogRecord) -> None:
        self.documents.append(json.loads(JsonFormatter().format(record)))
        self.lines.append(TextFormatter().format(record))


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler = Heard()
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    yield handler
    log.removeHandler(handler)


def of(document: dict[str, Any]) -> dict[str, Any]:
    return {name: document.get(name) for name in OF_THE_FIRST}


async def test_a_coroutine_and_what_it_starts_say_for_which_task(bench: Bench, heard: Heard) -> None:
    @bench.app.task("say")
    async def say(ctx: Context) -> None:
        log.info("hello")
        await asyncio.create_task(deeper())
        await asyncio.to_thread(log.info, "from a thread of its own")

    async def deeper() -> None:
        log.info("from below")

    await bench.run("say")
    assert [of(document) for document in heard.documents] == [OF_THE_FIRST] * 3
    assert heard.lines[0].endswith("tests.handlers: [say id-1] hello")


async def test_a_plain_handler_in_its_thread_says_for_which_task(bench: Bench, heard: Heard) -> None:
    @bench.app.task("say")
    def say(ctx: SyncContext) -> None:
        log.info("hello from %s", threading.current_thread().name)

    await bench.run("say")
    assert [of(document) for document in heard.documents] == [OF_THE_FIRST]


async def test_handlers_that_run_at_once_are_told_apart(bench: Bench, heard: Heard) -> None:
    both = asyncio.Barrier(2)

    @bench.app.task("say")
    async def say(ctx: Context) -> None:
        await both.wait()
        log.info(ctx.id)

    bench.start().add([work(1, "say"), work(2, "say")])
    await until(lambda: len(bench.delivered) == 2, "both outcomes")
    assert sorted((item["message"], item["task_id"]) for item in heard.documents) == [
        ("id-1", "id-1"),
        ("id-2", "id-2"),
    ]


async def test_a_call_for_several_tasks_names_them_and_what_they_have_in_common(bench: Bench, heard: Heard) -> None:
    @bench.app.task("say", batch=50, batch_seconds=0.0)
    async def say(ctx: BatchContext) -> None:
        log.info("hello")

    runner = bench.start(width=50)
    runner.add([work(number, "say", fence=number) for number in range(1, 31)])
    runner.gather_no_more()
    await until(lambda: len(bench.delivered) == 30, "all outcomes")
    [document] = heard.documents
    assert document["tasks"] == 30
    assert document["task_ids"] == [f"id-{number}" for number in range(1, NAMED_MAX + 1)]
    assert (document["tracking_id"], document["kind"]) == ("lineage", "say")
    assert "fence" not in document
    assert "task_id" not in document
    assert heard.lines == [heard.lines[0]]
    assert heard.lines[0].endswith("[say 30 tasks] hello")


async def test_fields_of_the_handlers_own_stay(bench: Bench, heard: Heard) -> None:
    @bench.app.task("say")
    async def say(ctx: Context) -> None:
        log.info("hello", extra={"kind": "mine", "task_id": None, "shelf": 7})

    await bench.run("say")
    assert of(heard.documents[0]) == {**OF_THE_FIRST, "kind": "mine", "task_id": None}
    assert heard.documents[0]["shelf"] == 7


async def test_nothing_is_in_hand_where_outcomes_are_delivered_and_outside_of_handlers(
    bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    deliver = bench.deliver

    @bench.app.task("say")
    async def say(ctx: Context) -> None:
        seen.append(len(current_claim()))

    def delivered(item: Settlement) -> None:
        seen.append(len(current_claim()))
        deliver(item)

    monkeypatch.setattr(bench, "deliver", delivered)
    await bench.run("say")
    assert seen == [1, 0]
    log.info("outside")
    assert set(OF_THE_FIRST).isdisjoint(heard.documents[0])


async def test_a_hostile_id_cannot_forge_a_line(heard: Heard) -> None:
    log.info("hello", extra={"task_id": "a\nb\x1b[31m", "kind": "k\nl"})
    assert heard.lines[0].endswith("[k\\nl a\\nb\\x1b[31m] hello")


async def test_in_the_handler_process_too_whatever_kind_of_handler_it_is(tmp_path: Path) -> None:
    database = tmp_path / "ramet.db"
    kinds = ("coroutine", "thread", "process", "batch", "batch")
    async with logging_app.app.client(database) as client:
        for at, kind in enumerate(kinds):
            await client.submit(kind, key=f"key {at}", tracking_id=f"lineage {at}")
    command = [sys.executable, "-m", "ramet.cli", "worker", "tests.engine.apps.logging_app", "--until-idle", "--json"]
    ran = await asyncio.create_subprocess_exec(
        *command, "--db", str(database), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    out, _ = await ran.communicate()
    assert ran.returncode == 0
    documents = [json.loads(line) for line in out.decode().splitlines()]
    hellos = [document for document in documents if document["logger"] == "logging_app"]
    told = {document["kind"]: document for document in hellos}
    assert told.keys() == set(kinds)
    for at, kind in enumerate(kinds[:3]):
        document = told[kind]
        assert document["task_id"] == document["told"]
        assert (document["tracking_id"], document["attempt"], document["spawn_depth"]) == (f"lineage {at}", 1, 0)
        assert document["fence"] > 0
    for document in hellos:
        if document["kind"] == "batch":
            ids = document.get("task_ids") or [document["task_id"]]
            assert ids == document["told"]
