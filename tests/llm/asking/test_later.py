"""A handler's question in a provider's batch: the task sleeps, its next run has the answer, and kills lose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ramet import App, Client, Context, Limits, Outcome
from ramet.llm import AnswerError, AnswerInvalid, Model, ask_later, ask_later_sync, declare_models, items
from ramet.llm.asking.later import LANE, batch_connections
from ramet.llm.providers.base import Answer, AnswerState, Mode, Provider
from ramet.llm.settings import BATCH_ITEM
from ramet.testing import FakeClock, crash_everywhere, drain
from tests.invariants.check import violations
from tests.llm.asking.conftest import CALL, Handlers
from tests.llm.fake_provider import FakeProvider, echo

MODEL = Model("small", price="1:2")
HALF = CALL // 2


@pytest.fixture
def batches(handlers: Handlers) -> Iterator[FakeProvider]:
    """The provider's batches; a batch takes an hour."""
    provider = FakeProvider(Mode.BATCH, handlers.clock.now, seconds=3_600.0)
    opener, batch_connections.opener = batch_connections.opener, lambda model: cast(Provider, provider)
    yield provider
    batch_connections.opener = opener


async def test_the_task_sleeps_and_its_next_run_has_the_answers(handlers: Handlers, batches: FakeProvider) -> None:
    @handlers.app.task(key=str)
    async def work(ctx: Context, name: str) -> Outcome | list[Any]:
        answers = [await ask_later(ctx, MODEL, f"{name} {n}", schema=None) for n in range(2)]
        if None in answers:
            return ctx.join()
        return [answer.text for answer in answers if answer is not None]

    await handlers.client.submit_many([(work, name) for name in "abc"], tracking_id="line", one_lineage=True)
    await drain(handlers.app, handlers.client)
    tasks = [task async for task in handlers.client.all_tasks(kind="work")]
    assert sorted(task.result for task in tasks) == [[f"{name} 0", f"{name} 1"] for name in "ABC"]
    assert {task.attempts for task in tasks} == {1}
    [batch] = batches.taken.values()
    assert len(batch.requests) == 6, "questions that wait at the same time share a batch"
    lineage = await handlers.client.lineage("line")
    assert lineage is not None
    assert (lineage.spent, lineage.reserved, lineage.state) == (6 * HALF, 0, "finished")


async def test_answers_are_checked_and_failures_are_told(handlers: Handlers, batches: FakeProvider) -> None:
    batches.answer = lambda request: (
        Answer(request.key, AnswerState.EXPIRED, error="too late", code="expired")
        if "late" in str(request.messages)
        else echo(request)
    )

    @handlers.app.task()
    async def work(ctx: Context) -> Outcome | list[Any]:
        typed = await ask_later(ctx, MODEL, "[1, 2]", schema=list[int])
        told = []
        for words, schema in (("no json", list[int]), ("late", None)):
            try:
                await ask_later(ctx, MODEL, words, schema=schema, repairs=0)
            except AnswerError as error:
                told.append(f"{type(error).__name__}: {error}")
        if typed is None:
            return ctx.join()
        return [typed.value, typed.cost, *told]

    task = await handlers.run(work)
    value, cost, invalid, late = task.result
    assert (value, cost) == ([1, 2], HALF)
    assert invalid.startswith(f"{AnswerInvalid.__name__}: invalid_answer: ")
    assert late == "AnswerError: expired: expired: too late"


async def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_error(
    handlers: Handlers, batches: FakeProvider
) -> None:
    batches.answer = lambda request: echo(request)._replace(text="[1, 2]" if len(batches.taken) == 3 else "no json")

    @handlers.app.task()
    async def work(ctx: Context) -> Outcome | list[Any]:
        answer = await ask_later(ctx, MODEL, "numbers", schema=list[int])
        return ctx.join() if answer is None else [answer.value, answer.cost, answer.usage.input_tokens]

    task = await handlers.run(work)
    assert task.result == [[1, 2], 3 * HALF, 30]
    assert [len(taken.requests) for taken in batches.taken.values()] == [1, 1, 1]
    [again] = list(batches.taken.values())[1].requests
    assert [message["role"] for message in again.messages] == ["user", "assistant", "user"]
    assert "is not JSON" in str(again.messages[-1]["content"])
    assert await handlers.spent(task) == (3 * HALF, 0)


async def test_a_plain_handler_sleeps_too(handlers: Handlers, batches: FakeProvider) -> None:
    @handlers.app.task()
    def work(ctx: Any) -> Any:
        answers = [ask_later_sync(ctx, MODEL, "hello", name=str(n)) for n in range(2)]
        return ctx.join() if None in answers else [answer.text for answer in answers if answer is not None]

    task = await handlers.run(work)
    assert (task.result, task.attempts) == (["HELLO", "HELLO"], 1)
    assert await handlers.spent(task) == (2 * HALF, 0)


async def test_over_a_ceiling_the_question_fails_with_the_reason(handlers: Handlers, batches: FakeProvider) -> None:
    @handlers.app.task(limits=Limits(max_cost=1_000))
    async def work(ctx: Context) -> Outcome | str:
        try:
            answer = await ask_later(ctx, MODEL, "hello")
        except AnswerError as error:
            return str(error)
        assert answer is None
        return ctx.join()

    task = await handlers.run(work)
    assert task.result.startswith("cost: the ceiling of the lineage is $0.000001")
    assert batches.taken == {}


async def test_a_cancelled_lineage_cancels_at_the_provider(handlers: Handlers, batches: FakeProvider) -> None:
    @handlers.app.task()
    async def work(ctx: Context) -> Outcome | str:
        answer = await ask_later(ctx, MODEL, "hello")
        return ctx.join() if answer is None else answer.text

    submitted = await handlers.client.submit(work)
    for _ in range(5):
        await drain(handlers.app, handlers.client, advance=False)
        handlers.clock.advance(11)
        if batches.taken:
            break
    assert batches.taken
    await handlers.client.cancel_lineage(submitted.tracking_id, by="test")
    await drain(handlers.app, handlers.client)
    assert batches.cancels == ["remote-0"]
    assert [task.state async for task in handlers.client.all_tasks(kind=BATCH_ITEM)] == ["cancelled"]


@pytest.mark.proof
async def test_a_crash_at_any_statement_loses_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = FakeProvider(Mode.BATCH, FakeClock().now)
    monkeypatch.setattr(batch_connections, "opener", lambda model: cast(Provider, provider))
    # Every life makes the same pauses, so that it comes to the same statements.
    monkeypatch.setattr(items, "_chance", SimpleNamespace(random=lambda: 0.5))
    app = declare_models(App(limits=Limits(max_cost=10**9)), batches=True)

    @app.task()
    async def work(ctx: Context) -> Outcome | str:
        answer = await ask_later(ctx, MODEL, "hello")
        return ctx.join() if answer is None else answer.text

    async def season(client: Client) -> None:
        if await client.lineage("line") is None:
            await client.submit(work, tracking_id="line")

    async def check(client: Client) -> None:
        taken, provider.taken = len(provider.taken), {}
        [task] = [task async for task in client.all_tasks(kind="work")]
        lineage = await client.lineage("line")
        assert lineage is not None
        assert (task.state, task.result, taken) == ("success", "HELLO", 1), "an uncertain batch is found again"
        assert (lineage.spent, lineage.reserved) == (HALF, 0)
        assert await violations(client.store) == []
        assert [found.state async for found in client.all_tasks(kind=LANE)] == ["success"]

    assert await crash_everywhere(app, season, check, every=7) > 30
    await batch_connections.close()
