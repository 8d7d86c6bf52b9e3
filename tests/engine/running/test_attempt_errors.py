"""Every failed attempt keeps where its error came from and is logged, in whatever way its handler runs (promise I8)."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import Attempt, Client, Permanent, TaskFailed
from ramet.engine.base.logs import JsonFormatter, TextFormatter
from tests.engine.apps.failing_app import app, refused
from tests.invariants.check import violations
from tests.support.backends import BACKENDS
from tests.support.waiting import history, worked_off

TARGET = "tests.engine.apps.failing_app:app"
WAYS = ("coroutine", "thread", "process", "batch", "member")


@pytest.fixture(params=sorted(BACKENDS))
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    backend = BACKENDS[request.param](tmp_path)
    async with app.client(backend.address) as client:
        yield client
        assert await violations(client.store) == []
    backend.close()


async def attempt_of(client: Client, task_id: str) -> Attempt:
    [attempt] = (await history(client, task_id)).attempts
    return attempt


def assert_it_tells_where(attempt: Attempt) -> None:
    assert (attempt.outcome, attempt.error) == ("error", "Permanent: no\ntotal")
    assert attempt.traceback is not None
    lines = attempt.traceback.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line for line in lines if "tests/engine/apps/failing_app.py" in line and line.endswith("in parse")]
    assert not [line for line in lines if "engine/running/runner.py" in line]
    assert "KeyError: 'amount'" in lines
    assert lines[-2:] == ["Permanent: no", "total"]


@pytest.mark.process
@pytest.mark.parametrize("target", [None, TARGET], ids=["in-process", "in-children"])
async def test_where_an_error_came_from_is_kept_in_every_way_of_running(client: Client, target: str | None) -> None:
    submitted = await client.submit_many([(kind, 1) for kind in WAYS])
    await worked_off(app, client, target=target)
    for item in submitted:
        assert_it_tells_where(await attempt_of(client, item.id))


async def test_where_an_error_of_a_pulled_task_came_from_is_kept(client: Client) -> None:
    submitted = await client.submit_many([("pulled", n) for n in range(3)])
    one, two, three = await client.claim("pulled", 3)
    with pytest.raises(Permanent):
        async with one:
            refused([{}])
    try:
        refused([{}])
    except Permanent as error:
        await two.fail(error, retry=False)
        await client.settle_many([(three, error)])
    for item in submitted:
        assert_it_tells_where(await attempt_of(client, item.id))


@pytest.mark.process
@pytest.mark.parametrize("target", [None, TARGET], ids=["in-process", "in-children"])
async def test_a_handler_past_its_time_says_where_it_was(client: Client, target: str | None) -> None:
    submitted = await client.submit("waits")
    await worked_off(app, client, target=target)
    attempt = await attempt_of(client, submitted.id)
    assert attempt.error == "Timeout: the handler ran longer than 0.2 s"
    assert attempt.traceback is not None
    assert "in wait_for_nothing" in attempt.traceback


@pytest.mark.process
@pytest.mark.parametrize("target", [None, TARGET], ids=["in-process", "in-children"])
async def test_a_thread_past_its_time_says_where_it_was(client: Client, target: str | None) -> None:
    submitted = await client.submit("blocks")
    await worked_off(app, client, target=target)
    attempt = await attempt_of(client, submitted.id)
    assert attempt.error == "Timeout: the handler ran longer than 0.2 s"
    assert attempt.traceback is not None
    assert attempt.traceback.startswith('Stack (most recent call last):\n  File "tests/engine/apps/failing_app.py"')
    assert "in wait_in_vain" in attempt.traceback


@pytest.mark.process
async def test_of_a_lost_attempt_is_kept_how_its_process_ended(client: Client) -> None:
    submitted = await client.submit("dies")
    await worked_off(app, client, target=TARGET)
    found = await history(client, submitted.id)
    assert {attempt.outcome for attempt in found.attempts} == {"lost"}
    assert all(attempt.error and attempt.error.endswith("ended with -9") for attempt in found.attempts)
    assert found.task.error == found.attempts[-1].error


async def test_who_waits_for_a_result_learns_what_went_wrong(client: Client) -> None:
    submitted = await client.submit("coroutine", 1)
    await worked_off(app, client)
    with pytest.raises(TaskFailed, match=r"\(coroutine\) is failed: Permanent: no$"):
        await client.result(submitted.id)


def documents(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [json.loads(JsonFormatter().format(record)) for record in caplog.records if record.name == "ramet.tasks"]


async def test_the_log_has_a_line_for_each_end_and_a_traceback_for_each_failure(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "ramet.tasks")
    await client.submit("coroutine", 7, tracking_id="one")
    await worked_off(app, client)
    [said] = documents(caplog)
    assert (said["level"], said["kind"], said["key"], said["tracking_id"]) == ("error", "coroutine", "7", "one")
    assert (said["attempt"], said["state"], said["reason"]) == (1, "failed", "permanent_error")
    assert isinstance(said["seconds"], float)
    assert "in parse" in str(said["exception"])
    assert "attempt 1 of 1, permanent_error: Permanent: no (task " in str(said["message"])
    [record] = [record for record in caplog.records if record.name == "ramet.tasks"]
    assert "\nTraceback (most recent call last):" in TextFormatter().format(record)
    assert "\nTraceback (most recent call last):" in logging.Formatter().format(record)


async def test_an_attempt_that_is_not_the_last_is_a_warning_and_a_good_end_an_information(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ramet.tasks")
    await client.submit_many([("busy", 1), ("busy", 2)])
    first, second = await client.claim("busy", 2)
    await first.fail(TimeoutError("come back"))
    await second.complete("done")
    assert [(said["level"], said["state"]) for said in documents(caplog)] == [
        ("warning", "pending"), ("info", "success"),
    ]  # fmt: skip
    assert "attempt 1 of 2, retry_in: " in str(documents(caplog)[0]["message"])


async def test_a_write_that_the_database_refuses_is_logged_as_the_failure_that_it_is(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    submitted = await client.submit("writes")
    await worked_off(app, client)
    [said] = documents(caplog)
    assert (said["level"], said["task_id"]) == ("error", submitted.id)
    assert "a ctx.write failed" in str(said["error"])


@pytest.mark.parametrize(("payload", "shown"), [("why", "why"), ("why\nnot", r"why\nnot")])
async def test_a_key_in_the_log_is_the_payloads_text_on_one_line(
    client: Client, caplog: pytest.LogCaptureFixture, payload: str, shown: str
) -> None:
    caplog.set_level(logging.INFO, "ramet.tasks")
    await client.submit("asks", payload)
    await worked_off(app, client)
    [said] = documents(caplog)
    assert str(said["message"]).startswith(f"asks {shown} ended as success after ")
    assert said["key"] == json.dumps({"payload": payload}, separators=(",", ":")), "the field has the stored key"
