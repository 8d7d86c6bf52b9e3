"""Spans of several worker processes, as a collector receives them: one lineage is one tree, wherever it ran."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from ramet.model.tracing import attempt_span_id, task_span_id, trace_id
from ramet.store.answers import SubmitResult
from tests.support.backends import BACKENDS, Backend
from tests.support.waiting import HANG_SECONDS
from tests.telemetry.observers import install
from tests.telemetry.receiver import Collector, attributes, collector
from tests.telemetry.traced_app import app

APP = "tests.telemetry.traced_app:app"
PROJECT = Path(__file__).parents[2]


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    backend = BACKENDS[request.param](tmp_path)
    yield backend
    backend.close()


def submitted(backend: Backend, *roots: tuple[str, object]) -> list[SubmitResult]:
    async def submit() -> list[SubmitResult]:
        async with app.client(backend.address) as client:
            return await client.submit_many(roots)

    return asyncio.run(submit())


def environment(folder: Path, endpoint: str) -> dict[str, str]:
    packages = install(folder / "packages")
    path = os.pathsep.join([str(packages), str(PROJECT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "RAMET_TRACES": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}


def started(env: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", *words], env=env, stderr=subprocess.PIPE, text=True)


def work(backend: Backend, env: dict[str, str]) -> str:
    return ended([started(env, "ramet.cli", "worker", APP, "--db", backend.address, "--until-idle")])


def ended(workers: list[subprocess.Popen[str]]) -> str:
    """Wait for all of them; what they logged."""
    logged = ""
    with ExitStack() as stack:
        for worker in workers:
            stack.callback(worker.kill)
        for worker in workers:
            logged += worker.communicate(timeout=HANG_SECONDS)[1]
            assert worker.returncode == 0, logged
    return logged


def of(found: Collector, root: SubmitResult) -> list[Span]:
    """All spans of a lineage, which are one tree: one trace, one root, and every parent is there, once."""
    trace = trace_id(root.tracking_id).to_bytes(16, "big")
    spans = [span for span in found.spans if span.trace_id == trace]
    ids = [span.span_id for span in spans]
    assert len(set(ids)) == len(ids)
    assert [span.span_id for span in spans if not span.parent_span_id] == [task_span_id(root.id).to_bytes(8, "big")]
    assert {span.parent_span_id for span in spans} - {b""} <= set(ids)
    return spans


def test_a_lineage_of_three_levels_over_two_workers_is_one_tree(backend: Backend, tmp_path: Path) -> None:
    [root] = submitted(backend, ("left", "r"))
    with collector() as found:
        env = environment(tmp_path, found.url)
        words = ("tests.telemetry.one_worker", backend.address)
        ended([started(env, *words, kind, root.tracking_id) for kind in ("left", "right")])
    spans = of(found, root)
    assert len(spans) == len(found.spans)
    names = sorted(span.name for span in spans if span.name.startswith(("task", "attempt")))
    assert names == ["attempt left"] * 4 + ["attempt right"] * 3 + ["task left"] * 4 + ["task right"] * 3
    levels = {attributes(span)["ramet.spawn_depth"] for span in spans if span.name.startswith("task")}
    assert levels == {0, 1, 2}
    by_id = {span.span_id: span for span in spans}
    own = [span for span in spans if span.name.startswith("in r")]
    assert {by_id[span.parent_span_id].name for span in own} == {"attempt left", "attempt right"}
    # Handlers ran in a child of each worker; the workers themselves told of the ends.
    assert len({found.processes[span.span_id] for span in spans}) == 4


@pytest.mark.parametrize("backend", ["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)], indirect=True)
def test_retries_lost_attempts_and_processes_of_their_own_are_seen(backend: Backend, tmp_path: Path) -> None:
    with collector() as found:
        env = environment(tmp_path, found.url)
        [lost] = submitted(backend, ("dies", str(tmp_path)))  # By itself: its process takes unsent spans along.
        work(backend, env)
        retried, alone = submitted(backend, ("again", "s3cr3t"), ("alone", "a"))
        work(backend, env)
    spans = {span.span_id: span for root in (retried, lost, alone) for span in of(found, root)}
    first, second = (spans[attempt_span_id(lost.id, fence).to_bytes(8, "big")] for fence in (1, 2))
    assert (attributes(first)["ramet.outcome"], first.status.code) == ("lost", Status.STATUS_CODE_ERROR)
    assert (attributes(second)["ramet.outcome"], attributes(second)["ramet.losses"]) == ("success", 1)
    assert [link.span_id for link in second.links] == [first.span_id]
    failed = spans[attempt_span_id(retried.id, 1).to_bytes(8, "big")]
    assert [event.name for event in failed.events] == ["exception"]
    [nested] = [span for span in spans.values() if span.name == "in a"]
    assert nested.parent_span_id == attempt_span_id(alone.id, 1).to_bytes(8, "big")
    assert "s3cr3t" not in str(found.spans)


def test_a_collector_that_is_not_there_costs_spans_and_one_line(tmp_path: Path) -> None:
    backend = BACKENDS["sqlite"](tmp_path)
    submitted(backend, ("left", "r"), ("again", "x"))
    env = environment(tmp_path, "http://127.0.0.1:9") | {"OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    logged = work(backend, env)

    async def states() -> list[str]:
        async with app.client(backend.address) as client:
            return [lineage.state for lineage in await client.lineages()]

    assert asyncio.run(states()) == ["finished", "finished"]
    # Only the handler's own failure has a traceback: a failed attempt logs one (DESIGN §10), an export none.
    assert (logged.count("Traceback"), logged.count("\nTransient: busy\n")) == (1, 1), logged
    # Once in the worker and once in its handler process, however many exports failed.
    assert 1 <= logged.count("spans are not taken by the collector") <= 2
