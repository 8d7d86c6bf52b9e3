"""What a lineage looks like as a trace: spans, parents, outcomes, and what is never in them."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ramet import Client, Worker
from ramet.engine.base.observe import observer
from ramet.model.task.task import NewTask
from ramet.model.tracing import attempt_span_id, sampled, task_span_id, trace_id, traceparent
from ramet.store.requests import NewLineage
from ramet.telemetry.traces import MEMORY, make
from tests.support.backends import BACKENDS, Backend
from tests.support.fakes import always
from tests.support.waiting import HANG_SECONDS
from tests.telemetry.observers import forget, install, observed, use_program_provider
from tests.telemetry.traced_app import app


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    backend = BACKENDS[request.param](tmp_path)
    yield backend
    backend.close()


@pytest.fixture
async def client(backend: Backend, tmp_path: Path) -> AsyncIterator[Client]:
    """A client in a process that traces into memory."""
    MEMORY.clear()
    use_program_provider()
    with observed(install(tmp_path / "packages")):
        async with app.client(backend.address) as client:
            yield client


async def work(client: Client) -> None:
    await Worker(app, client, until_idle=True, poll_seconds=0.01, rng=always(0.0)).run()


def spans() -> list[ReadableSpan]:
    return list(MEMORY.get_finished_spans())


def named(name: str) -> list[ReadableSpan]:
    return [span for span in spans() if span.name == name]


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def ids(found: list[ReadableSpan]) -> set[int]:
    return {span_id(span) for span in found}


def parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


async def test_a_lineage_is_one_tree_in_which_every_parent_is_there(client: Client) -> None:
    root = await client.submit("left", "r")
    await work(client)
    found = spans()
    assert {span.context.trace_id for span in found if span.context} == {trace_id(root.tracking_id)}
    assert [span.name for span in found if span.parent is None] == ["task left"]
    assert {parent(span) for span in found} - {None} <= ids(found)
    assert (len(named("task left")), len(named("task right")), len(named("attempt right"))) == (4, 3, 3)
    assert len(ids(found)) == len(found)


async def test_what_a_handler_does_nests_under_its_attempt_in_coroutines_and_in_threads(client: Client) -> None:
    root = await client.submit("left", "r")
    await work(client)
    by_id = {span_id(span): span for span in spans()}
    own = [span for span in spans() if span.name.startswith("in r")]
    assert len(own) == 7
    assert {by_id[parent(span) or 0].name for span in own} == {"attempt left", "attempt right"}
    task = await client.get(root.id)
    assert task is not None
    assert task.result == traceparent(root.tracking_id, attempt_span_id(root.id, 1), traced=True)


async def test_granted_and_blocked_spawns_are_events_with_their_reasons(client: Client) -> None:
    root = await client.submit("left", "r")
    await work(client)
    [told] = [span for span in named("spawn left") if parent(span) == attempt_span_id(root.id, 1)]
    assert [event.name for event in told.events] == ["granted"] * 3 + ["blocked"]
    blocked = told.events[-1].attributes or {}
    assert (blocked["ramet.reason"], blocked["ramet.key"]) == ("in_flight", "r.0")
    granted = {(event.attributes or {}).get("ramet.task_id") for event in told.events[:3]}
    assert blocked["ramet.winner"] in granted


async def test_a_retry_is_an_attempt_of_its_own_with_a_link_to_the_one_that_failed(client: Client) -> None:
    root = await client.submit("again", "s3cr3t-payload")
    await work(client)
    first, second = named("attempt again")
    assert (span_id(first), span_id(second)) == (attempt_span_id(root.id, 1), attempt_span_id(root.id, 2))
    assert first.status.status_code is StatusCode.ERROR
    assert [event.name for event in first.events] == ["exception"]
    told = first.events[0].attributes or {}
    assert told["exception.type"] == "Transient"
    assert 'raise Transient("busy")\nTransient: busy' in str(told["exception.stacktrace"]).replace("    ", "")
    assert [link.context.span_id for link in second.links] == [span_id(first)]
    assert (second.status.status_code, (second.attributes or {})["ramet.outcome"]) == (StatusCode.UNSET, "success")
    [task] = named("task again")
    assert ((task.attributes or {})["ramet.state"], (task.attributes or {})["ramet.attempts"]) == ("success", 2)
    assert "s3cr3t" not in "".join(span.to_json() for span in spans())


async def test_a_traceback_in_a_trace_has_no_error_that_quotes_the_payload(client: Client) -> None:
    await client.store.submit([NewLineage("odd", [NewTask("odd", "again", "odd", '["s3cr3t-payload"]')])])
    await work(client)
    [attempt] = named("attempt again")
    told = attempt.events[0].attributes or {}
    assert told["exception.type"] == "ValidationError"
    assert str(told["exception.stacktrace"]).startswith("Traceback (most recent call last):\n  File ")
    assert "s3cr3t" not in "".join(span.to_json() for span in spans())


async def test_a_run_of_a_schedule_with_checkpoints_and_a_continuation_is_one_tree(client: Client) -> None:
    await client.schedules.add("steps", "s", every_seconds=3_600.0, name="nightly")
    slot = await client.schedules.run("nightly")
    await work(client)
    found = spans()
    assert slot.tracking_id is not None
    assert {span.context.trace_id for span in found if span.context} == {trace_id(slot.tracking_id)}
    assert {parent(span) for span in found} - {None} <= ids(found)
    assert len(ids(found)) == len(found)
    first, second = named("attempt steps")
    assert [(span.attributes or {})["ramet.outcome"] for span in (first, second)] == ["continue", "success"]
    assert [link.context.span_id for link in second.links] == [span_id(first)]
    assert [parent(span) for span in (*named("step 0"), *named("step 1"))] == [span_id(first), span_id(second)]
    assert [parent(span) for span in named("spawn steps")] == [span_id(first)] * 2
    [root] = named("task steps")
    assert ((root.attributes or {})["ramet.chain_depth"], {parent(span) for span in named("task again")}) == (
        1, {span_id(root)},
    )  # fmt: skip
    assert len(named("attempt again")) == 2 * len(named("task again")) == 4


async def test_a_batch_has_an_attempt_for_each_task_and_one_span_for_the_call(client: Client) -> None:
    await client.submit_many([("many", "a"), ("many", "b")], one_lineage=True)
    await work(client)
    [call] = named("batch many")
    assert {link.context.span_id for link in call.links} == ids(named("attempt many"))
    assert [parent(span) for span in named("in both")] == [span_id(call)]
    assert len(named("task many")) == 2


async def test_a_submit_inside_a_trace_has_a_link_to_the_root_and_no_other_has(client: Client) -> None:
    await client.submit("again", "a")
    assert named("submit") == []
    with trace.get_tracer("tests").start_as_current_span("page") as page:
        root = await client.submit("again", "b")
    [told] = named("submit")
    assert parent(told) == page.get_span_context().span_id
    assert [(link.context.trace_id, link.context.span_id) for link in told.links] == [
        (trace_id(root.tracking_id), task_span_id(root.id))
    ]


async def test_a_caller_that_was_called_passes_its_trace_on(client: Client) -> None:
    """A program that got a W3C header submits: the submit is below the span of whoever called it."""
    header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    token = context.attach(TraceContextTextMapPropagator().extract({"traceparent": header}))
    try:
        root = await client.submit("again", "b")
    finally:
        context.detach(token)
    [told] = named("submit")
    assert told.context is not None
    assert (f"{told.context.trace_id:032x}", f"{parent(told):016x}") == (header[3:35], header[36:52])
    assert [link.context.trace_id for link in told.links] == [trace_id(root.tracking_id)]


async def test_a_pulled_claim_is_an_attempt_below_which_the_program_works(client: Client) -> None:
    root = await client.submit("elsewhere", "a")
    [claim] = await client.claim("elsewhere")
    async with claim:
        with trace.get_tracer("tests").start_as_current_span("pulled"):
            await claim.complete()
    assert [parent(span) for span in named("pulled")] == [attempt_span_id(root.id, 1)]
    assert ids(named("task elsewhere")) == {task_span_id(root.id)}


async def test_a_task_that_a_person_cancels_has_its_span(client: Client) -> None:
    root = await client.submit("elsewhere", "a")
    assert await client.cancel(root.id, by="ada")
    [task] = named("task elsewhere")
    assert span_id(task) == task_span_id(root.id)
    assert (task.attributes or {})["ramet.reason"] == "cancelled by ada"


async def test_a_lineage_that_is_not_sampled_has_no_span_at_all(backend: Backend, tmp_path: Path) -> None:
    MEMORY.clear()
    with observed(install(tmp_path / "packages"), ratio="0.5"):
        async with app.client(backend.address) as client:
            roots = await client.submit_many([("again", str(n)) for n in range(12)])
            await work(client)
    wanted = {trace_id(root.tracking_id) for root in roots if sampled(root.tracking_id, 0.5)}
    assert {span.context.trace_id for span in spans() if span.context} == wanted


def test_the_package_declares_the_observer_that_the_environment_asks_for() -> None:
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["entry-points"]
    assert declared["ramet.observers"] == {"traces": f"{make.__module__}:{make.__name__}"}


def test_of_every_ratio_the_lineages_of_a_smaller_one_are_a_part() -> None:
    names = [f"lineage {n}" for n in range(1_000)]
    few, more = ({name for name in names if sampled(name, ratio)} for ratio in (0.1, 0.6))
    assert few < more
    assert (50 < len(few) < 150, 500 < len(more) < 700) == (True, True)
    assert [sampled(name, ratio) for name in names[:1] for ratio in (0.0, 1.0)] == [False, True]


async def test_without_an_environment_that_asks_nobody_is_told_and_the_store_is_the_store(tmp_path: Path) -> None:
    forget()
    assert observer() is None
    async with app.client(tmp_path / "ramet.db") as client:
        assert type(client.store).__module__ == "ramet.store.sqlite.store"
        root = await client.submit("left", "r")
        [claim] = await client.claim("left")
        assert claim.traceparent == traceparent(root.tracking_id, attempt_span_id(root.id, 1), traced=False)
        await claim.release()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("smoke", "1", ""), "RAMET_TRACES is 'smoke': give otlp, console, memory or off"),
        (("memory", "2", ""), "RAMET_TRACES_RATIO is '2': give a number from 0 to 1"),
        (("off", "1", "nobody"), "there is no observer 'nobody'"),
    ],
)
def test_an_environment_that_asks_for_what_there_is_not_is_told_so_and_hurts_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, asked: tuple[str, str, str], said: str
) -> None:
    with observed(install(tmp_path / "packages"), *asked):
        assert observer() is None
    assert said in caplog.text


async def test_an_observer_that_fails_is_told_of_once_and_stops_no_task(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = install(tmp_path / "packages", "broken", "tests.telemetry.broken_observer:Broken")
    with observed(folder, "off", observers="broken"):
        async with app.client(tmp_path / "ramet.db") as client:
            root = await client.submit("left", "r")
            await asyncio.wait_for(work(client), HANG_SECONDS)
            lineage = await client.lineage(root.tracking_id)
    assert lineage is not None
    assert (lineage.state, lineage.success) == ("finished", 7)
    assert caplog.text.count("an observer failed") == 1
