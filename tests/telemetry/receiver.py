"""A collector: takes OTLP over HTTP on the loopback and keeps every span."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector(ThreadingHTTPServer):
    """What came in, decoded."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taker)
        self.spans: list[Span] = []
        self.processes: dict[bytes, str] = {}
        """By span id, the process that made it."""
        self.requests = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """What ``OTEL_EXPORTER_OTLP_ENDPOINT`` is to be."""
        return f"http://127.0.0.1:{self.server_port}"

    def take(self, body: bytes) -> None:
        """One request."""
        request = ExportTraceServiceRequest.FromString(body)
        with self.lock:
            self.requests += 1
            for resource in request.resource_spans:
                own = {item.key: item.value for item in resource.resource.attributes}
                for scope in resource.scope_spans:
                    self.spans += scope.spans
                    self.processes.update((span.span_id, str(own["process.pid"].int_value)) for span in scope.spans)


class _Taker(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        """``/v1/traces``, plain or gzip."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.take(body)
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def collector() -> Iterator[Collector]:
    """A collector that listens while the block runs."""
    made = Collector()
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


def attributes(span: Span) -> dict[str, object]:
    """Its attributes as plain values."""
    return {item.key: getattr(item.value, str(item.value.WhichOneof("value"))) for item in span.attributes}
