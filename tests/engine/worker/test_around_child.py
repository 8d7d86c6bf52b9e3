"""What is around handlers, where these run in processes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import Client, Worker
from tests.engine.apps.around_app import app, told
from tests.support.waiting import outcomes, until, worked_off, working

TARGET = "tests.engine.apps.around_app:app"


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    monkeypatch.setenv("RAMET_TEST_AROUND", str(tmp_path))
    told.clear()
    async with app.client(tmp_path / "ramet.db") as client:
        await client.settings.set("retry.kinds", {"*": {"base_seconds": 0.01}})
        yield client


def noted(folder: Path, sign: str) -> set[int]:
    """Process ids of those that did this."""
    return {int(path.name.rpartition("-")[2]) for path in folder.glob(f"{sign}-*")}


async def test_each_process_opens_once_before_its_handlers_and_closes_at_its_end(
    client: Client, tmp_path: Path
) -> None:
    submitted = [await client.submit(kind) for kind in ("work", "isolated", "isolated")]
    worker = await worked_off(app, client, target=TARGET)
    found: list[Any] = [await client.result(each.id) for each in submitted]
    assert all(opened_by == ran_in for opened_by, ran_in in found)
    opened = {opened_by for opened_by, _ in found}
    assert noted(tmp_path, "opened") == noted(tmp_path, "closed") == opened
    assert noted(tmp_path, "around-work") | noted(tmp_path, "around-isolated") == opened
    assert worker.settled == 4


async def test_events_of_all_processes_come_in_the_workers_own(client: Client) -> None:
    for kind in ("work", "isolated"):
        await client.submit(kind)
    await worked_off(app, client, target=TARGET)
    assert sorted(told) == sorted(
        [
            ("start", "work"),
            ("retry", "work"),
            ("start", "work"),
            ("success", "work"),
            ("start", "isolated"),
            ("success", "isolated"),
        ]
    )
    assert [name for name, kind in told if kind == "work"] == ["start", "retry", "start", "success"]


async def test_a_worker_that_drains_closes_too(client: Client, tmp_path: Path) -> None:
    async with working(app, client, target=TARGET) as worker:
        submitted = await client.submit("work")
        await client.result(submitted.id, timeout_seconds=None)
        worker.drain()
        await until(lambda: noted(tmp_path, "closed"), "the handlers' process closes what it opened")
    assert noted(tmp_path, "closed") == noted(tmp_path, "opened")


async def test_what_handlers_print_is_there_when_their_process_has_ended(
    client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    await client.submit("isolated")
    await worked_off(app, client, target=TARGET)
    assert capfd.readouterr().out == "printed by a handler\n"


async def test_a_lifespan_that_cannot_open_is_one_line_and_the_worker_does_not_start(
    client: Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAMET_TEST_CANNOT_OPEN", "1")
    submitted = await client.submit("work")
    with pytest.raises(RuntimeError, match=f"could not start {TARGET}: see its message above"):
        await Worker(app, client, target=TARGET).run()
    assert capfd.readouterr().err == "ramet: the app's lifespan could not open: ConnectionError: no answer\n"
    assert await outcomes(client, submitted.id) == []


async def test_claims_go_back_when_a_later_process_cannot_open_its_lifespan(
    client: Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = Worker(app, client, target=TARGET, poll_seconds=0.05)
    running = asyncio.create_task(worker.run())
    submitted = await client.submit("work")
    await client.result(submitted.id, timeout_seconds=None)
    monkeypatch.setenv("RAMET_TEST_CANNOT_OPEN", "1")
    isolated = await client.submit("isolated")
    with pytest.raises(RuntimeError, match="could not start"):
        await running
    assert "the app's lifespan could not open: ConnectionError: no answer" in capfd.readouterr().err
    task = await client.get(isolated.id)
    assert task is not None
    assert (task.state, task.attempts) == ("pending", 0)
    assert await outcomes(client, isolated.id) == ["returned"]


async def test_a_lifespan_that_cannot_close_is_logged_and_nothing_is_lost(
    client: Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAMET_TEST_CANNOT_CLOSE", "1")
    submitted = await client.submit("isolated")
    await worked_off(app, client, target=TARGET)
    assert await client.result(submitted.id)
    said = capfd.readouterr().err
    assert "what the app closes at the end of this process failed" in said
    assert "ConnectionError: gone already" in said
