"""Names of a lineage and its tasks in distributed traces: derived, so that every process knows and none stores them.

One lineage is one trace. A span of a task is named after its id, a span of an attempt after its claim, so that a child
names its parent's span on another machine, before or after that one has ended.
"""

from __future__ import annotations

import hashlib

_RATIO_BITS = 64


def trace_id(tracking_id: str) -> int:
    """128 bits: the first of the SHA-256 of the lineage's id."""
    return int.from_bytes(_digest(tracking_id)[:16], "big") or 1


def task_span_id(task_id: str) -> int:
    """64 bits: the first of the SHA-256 of the task's id."""
    return int.from_bytes(_digest(task_id)[:8], "big") or 1


def attempt_span_id(task_id: str, fence: int) -> int:
    """64 bits, of one claim of a task."""
    return int.from_bytes(_digest(f"{task_id}\0{fence}")[:8], "big") or 1


def sampled(tracking_id: str, ratio: float) -> bool:
    """Whether a lineage is among the share that is traced: the same answer in every process (OpenTelemetry's rule)."""
    return trace_id(tracking_id) % (1 << _RATIO_BITS) < round(ratio * (1 << _RATIO_BITS))


def traceparent(tracking_id: str, span_id: int, *, traced: bool) -> str:
    """Return the header of W3C Trace Context for calls made under a span."""
    return f"00-{trace_id(tracking_id):032x}-{span_id:016x}-{int(traced):02x}"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
