"""OpenTelemetry traces (extra ``traces``): one lineage is one trace, whatever processes and machines its tasks run on.

A span of a task lasts from its creation to its end and is a child of its parent task's span; attempts are its children,
and what a handler does nests below its attempt. All ids are derived (:mod:`ramet.model.tracing`): nothing is stored or
sent along. Payloads and results are never attributes.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from socket import gethostname

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, Status, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from ramet.engine.base.logs import own_logger
from ramet.engine.base.observe import TRACES, ObservedCall, traces_ratio
from ramet.engine.base.work import Work, work_of
from ramet.model.lineage.guard import BlockReason
from ramet.model.task import events as ev
from ramet.model.task.task import TERMINAL, Task, TaskState
from ramet.model.tracing import attempt_span_id, sampled, task_span_id, trace_id
from ramet.store.answers import ClaimedTask, SettleResult, SpawnResult, SubmitResult
from ramet.store.requests import NewLineage, Settlement

Attributes = dict[str, AttributeValue]

KEY_CHARACTERS_MAX = 200
TEXT_CHARACTERS_MAX = 500
EVENTS_MAX = 100
"""Spawn decisions that one span names; more are counted."""
LINKS_MAX = 100
LINEAGES_REMEMBERED = 10_000
"""Lineages of which a process remembers whether they are traced."""
_NANOSECONDS = 1_000_000_000
_OUTCOMES: dict[type[object], str] = {
    ev.Complete: "success",
    ev.Filter: "filtered",
    ev.Skip: "skipped",
    ev.Fail: "error",
    ev.Error: "error",
    ev.Snooze: "snooze",
    ev.Join: "snooze",
    ev.Continue: "continue",
    ev.HandBack: "returned",
}
"""The outcome of an attempt (:class:`ramet.model.task.task.Attempt`) by what its handler asked for."""
_WITH_INPUT = ("ValidationError",)
"""Errors whose messages quote what a task carries."""


def make() -> Traces:
    """Return the observer that the entry point ``traces`` names.

    Raises:
        ValueError: the environment asks for something that there is not.
    """
    ids = DerivedIds()
    return Traces(make_provider(ids, traces_ratio()), ids, traces_ratio())


class Traces:
    """Create spans from events. See :class:`ramet.engine.base.observe.Observer`."""

    def __init__(self, provider: TracerProvider, ids: DerivedIds, ratio: float) -> None:
        self._provider, self._ids = provider, ids
        self._tracer = provider.get_tracer("ramet")
        self.wants = lru_cache(maxsize=LINEAGES_REMEMBERED)(lambda tracking_id: sampled(tracking_id, ratio))
        """Whether a lineage is traced. Of one that is not, nothing is made: a span that is dropped costs like another.
        """
        self._untraced = lru_cache(maxsize=LINEAGES_REMEMBERED)(
            lambda tracking_id: self.below(tracking_id, task_span_id(tracking_id))
        )
        """Context of the handlers of an untraced lineage; any of its span ids will do."""

    # --- places of spans

    def below(self, tracking_id: str, span_id: int) -> Context:
        """Return the context in which a span is the parent, wherever it is made."""
        flags = TraceFlags.SAMPLED if self.wants(tracking_id) else TraceFlags.DEFAULT
        place = SpanContext(trace_id(tracking_id), span_id, is_remote=True, trace_flags=TraceFlags(flags))
        return trace.set_span_in_context(NonRecordingSpan(place), Context())

    def span(
        self,
        name: str,
        tracking_id: str,
        span_id: int | None,
        below: Context,
        *,
        attributes: Attributes,
        links: Sequence[Link] = (),
        began_at: float | None = None,
    ) -> Span:
        """Begin a span with a derived id; None for a fresh one."""
        began = None if began_at is None else int(began_at * _NANOSECONDS)
        with self._ids.next_are(trace_id(tracking_id), span_id):
            return self._tracer.start_span(name, below, attributes=attributes, links=links, start_time=began)

    def attempt(self, work: Work, links: Sequence[Link] = (), began_at: float | None = None) -> Span:
        """Begin the span of a claim."""
        attributes = _of_work(work) | {"ramet.attempt": work.attempts, "ramet.fence": work.fence}
        earlier: list[Link] = []
        if work.fence > 1:
            before = self.below(work.tracking_id, attempt_span_id(work.id, work.fence - 1))
            earlier = [Link(trace.get_current_span(before).get_span_context(), {"ramet.link": "the claim before"})]
        attributes |= {"ramet.losses": work.losses, "ramet.snoozes": work.snoozes}
        below = self.below(work.tracking_id, task_span_id(work.id))
        span_id = attempt_span_id(work.id, work.fence)
        return self.span(
            f"attempt {work.kind}", work.tracking_id, span_id, below,
            attributes=attributes, links=[*earlier, *links], began_at=began_at,
        )  # fmt: skip

    # --- events that it receives

    def submitted(self, lineages: Sequence[NewLineage], answers: Sequence[SubmitResult]) -> None:
        """Add a span of the submit to the caller's trace, if there is one, with links to the roots in theirs."""
        caller = trace.get_current_span().get_span_context()
        if not caller.is_valid:
            return
        links = []
        for answer in answers[:LINKS_MAX]:
            root = self.below(answer.tracking_id, task_span_id(answer.id))
            links.append(Link(trace.get_current_span(root).get_span_context(), {"ramet.created": answer.created}))
        attributes: Attributes = {"ramet.roots": len(answers), "ramet.tracking_id": _text(answers[0].tracking_id)}
        self._tracer.start_span("submit", attributes=attributes, links=links).end()

    def running(self, works: Sequence[Work]) -> ObservedCall:
        """Return the observed call that begins. One for several tasks is traced when one of them is."""
        if any(self.wants(work.tracking_id) for work in works):
            return _TracedCall(self, works)
        return _UntracedCall(self._untraced(works[0].tracking_id))

    def cut_short(self, work: Work, seconds: float, outcome: str, reason: str) -> None:
        """End the span that a process could not end, because it ended itself."""
        if not self.wants(work.tracking_id):
            return
        span = self.attempt(work, began_at=time.time() - seconds)
        span.set_attribute("ramet.outcome", outcome)
        if outcome != "returned":
            span.set_status(Status(StatusCode.ERROR, reason))
        span.end()

    def settled(self, claimed: ClaimedTask, item: Settlement, answer: SettleResult) -> None:
        """Spawn decisions, and the end of a task."""
        if not self.wants(claimed.standing.tracking_id):
            return
        if answer.spawns:
            self._spawned(work_of(claimed), answer.spawns)
        if answer.state is None or answer.state not in TERMINAL:
            return
        work = work_of(claimed)
        attributes = _of_work(work) | _ended(answer.state, answer.reason)
        attributes |= {"ramet.attempts": work.attempts, "ramet.queue": _text(claimed.standing.queue)}
        if item.charge is not None:
            attributes["ramet.charged_nano_dollars"] = item.charge.amount
        self._task(work, attributes, state=answer.state)

    def ended(self, task: Task) -> None:
        """Add the span of a task that ended without a settlement of its own: from its row, by the database's clock."""
        if not self.wants(task.tracking_id):
            return
        attributes: Attributes = {
            "ramet.kind": _text(task.kind), "ramet.key": _key(task.key),
            "ramet.task_id": _text(task.id), "ramet.tracking_id": _text(task.tracking_id),
            "ramet.spawn_depth": task.spawn_depth, "ramet.chain_depth": task.chain_depth,
            "ramet.attempts": task.attempts, "ramet.queue": _text(task.queue),
        }  # fmt: skip
        attributes |= _ended(task.state.value, task.reason)
        self._task(task, attributes, state=task.state.value, ended_at=task.finished_at)

    def close(self) -> None:
        """Send what waits, for two seconds at most."""
        close(self._provider)

    # --- spans that begin and end at once

    def _task(self, task: Work | Task, attributes: Attributes, *, state: str, ended_at: float | None = None) -> None:
        below = Context() if task.parent_id is None else self.below(task.tracking_id, task_span_id(task.parent_id))
        span_id, began_at = task_span_id(task.id), task.created_at
        span = self.span(f"task {_text(task.kind)}", task.tracking_id, span_id, below,
                         attributes=attributes, began_at=began_at)  # fmt: skip
        if state == TaskState.FAILED:
            span.set_status(Status(StatusCode.ERROR, str(attributes.get("ramet.reason", ""))))
        # By the database's clock it was created, by this machine's a settlement ends it.
        end = time.time_ns() if ended_at is None else int(ended_at * _NANOSECONDS)
        span.end(max(end, int(began_at * _NANOSECONDS)))

    def _spawned(self, work: Work, answers: Sequence[SpawnResult]) -> None:
        blocked = sum(answer.reason is not None for answer in answers)
        attributes = _of_work(work) | {"ramet.granted": len(answers) - blocked, "ramet.blocked": blocked}
        below = self.below(work.tracking_id, attempt_span_id(work.id, work.fence))
        span = self.span(f"spawn {work.kind}", work.tracking_id, None, below, attributes=attributes)
        for answer in answers[:EVENTS_MAX]:
            details: Attributes = {"ramet.kind": _text(answer.kind), "ramet.key": _key(answer.key)}
            if answer.reason is None:
                span.add_event("granted", details | {"ramet.task_id": str(answer.id)})
            else:
                details |= {"ramet.reason": answer.reason.value}
                if answer.reason is not BlockReason.TRAP:  # Its words quote the key.
                    details["ramet.detail"] = _text(answer.detail)
                span.add_event("blocked", details | ({"ramet.winner": answer.winner} if answer.winner else {}))
        span.end()


class _TracedCall:
    """One call of a handler: a span for each of its claims, and for a batch one more that is theirs together."""

    def __init__(self, traces: Traces, works: Sequence[Work]) -> None:
        here = trace.get_current_span().get_span_context()
        links = [Link(here, {"ramet.link": "what invoked it"})] if here.is_valid else []
        self._spans = {(work.seq, work.fence): traces.attempt(work, links) for work in works}
        first, self._batch = works[0], None
        self._current = self._spans[first.seq, first.fence]
        if len(works) > 1:
            others = [Link(span.get_span_context()) for span in [*self._spans.values()][:LINKS_MAX]]
            below = traces.below(first.tracking_id, attempt_span_id(first.id, first.fence))
            attributes: Attributes = {"ramet.kind": first.kind, "ramet.tasks": len(works)}
            self._batch = traces.span(
                f"batch {first.kind}", first.tracking_id, None, below, attributes=attributes, links=others
            )
            self._current = self._batch

    @contextmanager
    def inside(self) -> Iterator[None]:
        token = context.attach(trace.set_span_in_context(self._current))
        try:
            yield
        finally:
            context.detach(token)

    def ended(self, settlements: Sequence[Settlement], *, lost: bool) -> None:
        if self._batch is not None:
            self._batch.end()
        for item in settlements:
            span = self._spans.pop((item.seq, item.fence), None)
            if span is not None:
                _outcome(span, item.event, lost=lost)
                span.end()
        for span in self._spans.values():
            span.end()


class _UntracedCall:
    """A call of which no span is made. Its own calls are not traced either."""

    def __init__(self, place: Context) -> None:
        self._place = place

    @contextmanager
    def inside(self) -> Iterator[None]:
        token = context.attach(self._place)
        try:
            yield
        finally:
            context.detach(token)

    def ended(self, settlements: Sequence[Settlement], *, lost: bool) -> None:
        pass  # Nothing hears of it.


def _outcome(span: Span, event: ev.Event, *, lost: bool) -> None:
    span.set_attribute("ramet.outcome", _OUTCOMES.get(type(event), "ended"))
    if lost:
        span.set_attribute("ramet.claim_lost", True)
    if isinstance(event, ev.Error):
        name, _, message = event.message.partition(": ")
        details: Attributes = {"exception.type": _text(name)}
        if name not in _WITH_INPUT:
            details["exception.message"] = _text(message)
        if event.traceback is not None:
            details["exception.stacktrace"] = _without_input(event.traceback)
        span.add_event("exception", details)
        span.set_attribute("ramet.error_class", event.error_class)
        span.set_status(Status(StatusCode.ERROR, _text(name)))
    elif isinstance(event, ev.Fail):
        span.set_status(Status(StatusCode.ERROR, _text(event.reason)))
    reason = getattr(event, "reason", None)
    if reason is not None:
        span.set_attribute("ramet.reason", _text(reason))


def _without_input(trace: str) -> str:
    """Return a traceback; where an error quotes a task's input, only its calls."""
    if not any(name in trace for name in _WITH_INPUT):
        return trace
    lines, calls = trace.splitlines(), list[str]()
    for at, line in enumerate(lines):
        words = line.lstrip(" |+-")
        if words.startswith(("File ", "Traceback ")) or (at and lines[at - 1].lstrip(" |").startswith("File ")):
            calls.append(line)
    return "\n".join(calls)


def _of_work(work: Work) -> Attributes:
    return {
        "ramet.kind": _text(work.kind),
        "ramet.key": _key(work.key),
        "ramet.task_id": _text(work.id),
        "ramet.tracking_id": _text(work.tracking_id),
        "ramet.spawn_depth": work.spawn_depth,
        "ramet.chain_depth": work.chain_depth,
    }


def _ended(state: str, reason: str | None) -> Attributes:
    details: Attributes = {"ramet.state": state}
    return details if reason is None else details | {"ramet.reason": _text(reason)}


def _key(key: str) -> str:
    """Return the key; of one that was made from the payload, because the kind has no key function, only a name."""
    if key.startswith("{"):
        return f"json:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return _text(key, KEY_CHARACTERS_MAX)


def _text(text: str, characters_max: int = TEXT_CHARACTERS_MAX) -> str:
    """Bounded, and nothing that a frame cannot hold."""
    return text[:characters_max].encode("utf-8", "replace").decode()


log = own_logger("ramet.traces")

DELAY_MILLISECONDS = 1_000.0
"""Between two exports, unless ``OTEL_BSP_SCHEDULE_DELAY`` says otherwise: a process that dies loses no more."""
CLOSE_SECONDS_MAX = 2.0


class MemoryExporter(InMemorySpanExporter):
    """Spans that stay where they are when their provider ends."""

    def shutdown(self) -> None:
        """Nothing to release."""


MEMORY = MemoryExporter()
"""Target of spans with ``RAMET_TRACES=memory``, for tests."""
_NOISY = ("opentelemetry.exporter.otlp.proto.http", "opentelemetry.sdk._shared_internal")
"""Loggers that report every rejected batch; it is reported once here."""


class DerivedIds(RandomIdGenerator):
    """Ids that are given for the next span of this thread; random ones otherwise."""

    def __init__(self) -> None:
        self._next = threading.local()

    @contextmanager
    def next_are(self, trace_id: int, span_id: int | None) -> Iterator[None]:
        """Yield while the span that is begun inside has these ids; None for random ones."""
        self._next.trace_id, self._next.span_id = trace_id, span_id
        try:
            yield
        finally:
            self._next.trace_id = self._next.span_id = None

    def generate_trace_id(self) -> int:
        """Of a span without parent."""
        return getattr(self._next, "trace_id", None) or super().generate_trace_id()

    def generate_span_id(self) -> int:
        """Of any span."""
        return getattr(self._next, "span_id", None) or super().generate_span_id()


class LogOnceExporter(SpanExporter):
    """Hands spans on; says once that they are not taken, and once that they are again."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Spans that are not taken are lost."""
        result = self._exporter.export(spans)
        failing = result is not SpanExportResult.SUCCESS
        if failing and not self._failing:
            log.warning("spans are not taken by the collector, and are lost until it takes them again")
        elif self._failing and not failing:
            log.info("spans are taken again")
        self._failing = failing
        return result

    def shutdown(self) -> None:
        """No more."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing is kept here."""
        return self._exporter.force_flush(timeout_millis)


def make_provider(ids: DerivedIds, ratio: float) -> TracerProvider:
    """Spans go where ``RAMET_TRACES`` says. Also the global provider, where the program has set none.

    Raises:
        ValueError: there is no such place.
    """
    own = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "ramet"}
    resource = Resource.create({**own, "process.pid": os.getpid(), "host.name": gethostname()})
    sampler = ParentBased(TraceIdRatioBased(ratio))
    where = os.environ.get(TRACES, "").strip().lower()
    provider = TracerProvider(sampler, resource, shutdown_on_exit=False, id_generator=ids)
    match where:
        case "otlp":
            provider.add_span_processor(_batches())
        case "console":
            provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
        case "memory":
            provider.add_span_processor(SimpleSpanProcessor(MEMORY))
        case _:
            raise ValueError(f"{TRACES} is {where!r}: give otlp, console, memory or off")
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        trace.set_tracer_provider(provider)
    atexit.register(close, provider)
    return provider


def _batches() -> BatchSpanProcessor:
    """By OTLP over HTTP, as the SDK's own variables say (``OTEL_EXPORTER_OTLP_ENDPOINT`` and its kin)."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    delay = None if "OTEL_BSP_SCHEDULE_DELAY" in os.environ else DELAY_MILLISECONDS
    return BatchSpanProcessor(LogOnceExporter(OTLPSpanExporter()), schedule_delay_millis=delay)


def close(provider: TracerProvider) -> None:
    """Send waiting spans, for two seconds at most."""
    closing = threading.Thread(target=provider.shutdown, name="ramet traces", daemon=True)
    closing.start()
    closing.join(CLOSE_SECONDS_MAX)
