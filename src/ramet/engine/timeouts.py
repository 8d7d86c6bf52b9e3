"""How long one call of a handler may take, and the outcome of one that took longer."""

from __future__ import annotations

from ramet.engine.outcome import told_error
from ramet.engine.registry import Kind
from ramet.engine.work import Work
from ramet.model.retry import ErrorClass
from ramet.store.base import Settlement


def limit_seconds(kind: Kind, work: Work) -> float:
    """How long one call of a handler may take; the last one, of an ``on_end`` handler, no longer than one call."""
    return kind.limits.invocation_seconds if work.ending is None else kind.limits.call_seconds


def timed_out(kind: Kind, work: Work, jitter: float, where: str | None = None) -> Settlement:
    """The settlement of a task whose handler ran past its invocation limit; ``where`` it was then, if known."""
    text, waits = f"the handler ran longer than {limit_seconds(kind, work):g} s", kind.retry.waits
    event = told_error("Timeout", text, ErrorClass.TRANSIENT, work.fence, jitter, traceback=where, waits=waits)
    return Settlement(work.seq, work.fence, event)
