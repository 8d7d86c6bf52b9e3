"""How spans leave the process: their ids, their queue, and what happens when nobody takes them."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from socket import gethostname

from opentelemetry import trace
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

from ramet.engine.base.logs import own_logger
from ramet.engine.base.observe import TRACES

log = own_logger("ramet.traces")

DELAY_MILLISECONDS = 1_000.0
"""Between two exports, unless ``OTEL_BSP_SCHEDULE_DELAY`` says otherwise: a process that dies loses no more."""
CLOSE_SECONDS_MAX = 2.0


class Kept(InMemorySpanExporter):
    """Spans that stay where they are when their provider ends."""

    def shutdown(self) -> None:
        """Nothing to release."""


MEMORY = Kept()
"""Where spans go with ``RAMET_TRACES=memory``, for tests."""
_NOISY = ("opentelemetry.exporter.otlp.proto.http", "opentelemetry.sdk._shared_internal")
"""These tell of every batch that was not taken; it is told once here."""


class DerivedIds(RandomIdGenerator):
    """Ids that are given for the next span of this thread; random ones otherwise."""

    def __init__(self) -> None:
        self._next = threading.local()

    @contextmanager
    def next_are(self, trace_id: int, span_id: int | None) -> Iterator[None]:
        """The span that is begun inside has these; None for a random one."""
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


class TellsOnce(SpanExporter):
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
    return BatchSpanProcessor(TellsOnce(OTLPSpanExporter()), schedule_delay_millis=delay)


def close(provider: TracerProvider) -> None:
    """Send what waits; a collector that does not answer keeps nobody longer than two seconds."""
    closing = threading.Thread(target=provider.shutdown, name="ramet traces", daemon=True)
    closing.start()
    closing.join(CLOSE_SECONDS_MAX)
