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


def timed_out(work: Work, seconds: float, jitter: float, where: str | None = None) -> Settlement:
    """The settlement of a task whose handler ran past its invocation limit; ``where`` it was then, if known."""
    text = f"the handler ran longer than {seconds:g} s"
    event = told_error("Timeout", text, ErrorClass.TRANSIENT, work.fence, jitter, traceback=where)
    return Settlement(work.seq, work.fence, event)
