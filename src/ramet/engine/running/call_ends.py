"""Outcomes of calls that did not end by themselves: past their limit, cut short, or with the slot that ran them."""

from __future__ import annotations

import random

from ramet.engine.base.tracebacks import traceback_of
from ramet.engine.base.work import Work
from ramet.engine.context.outcome import told_error
from ramet.engine.kinds.registry import Kind, Registry
from ramet.model.task.retry import ErrorClass
from ramet.store.requests import Settlement


def limit_seconds(kind: Kind, work: Work) -> float:
    """How long one call of a handler may take; the last one, of an ``on_end`` handler, no longer than one call."""
    return kind.limits.invocation_seconds if work.ending is None else kind.limits.call_seconds


def timed_out(kind: Kind, work: Work, jitter: float, where: str | None = None) -> Settlement:
    """The settlement of a task whose handler ran past its invocation limit; ``where`` it was then, if known."""
    text, waits = f"the handler ran longer than {limit_seconds(kind, work):g} s", kind.retry.waits
    event = told_error("Timeout", text, ErrorClass.TRANSIENT, work.fence, jitter, traceback=where, waits=waits)
    return Settlement(work.seq, work.fence, event)


class CallEnds:
    """Makes them, with its owner's source of chance."""

    def __init__(self, registry: Registry, rng: random.Random) -> None:
        self._registry = registry
        self._rng = rng

    def timeout(self, work: Work, where: str | None) -> Settlement:
        """It ran past its limit."""
        return timed_out(self._registry.get(work.kind), work, self._rng.random(), where)

    def cut_short(self, work: Work, where: str | None, error: BaseException, *, timed_out: bool) -> Settlement:
        """It was cancelled: by the engine where its time was over, else it let a cancellation of its own through.

        Args:
            where: the place of a plain handler; of its thread the error says only that a slot waited.
        """
        where = where or traceback_of(error, self._registry.known(work.kind).handler)
        if timed_out:
            return self.timeout(work, where)
        text = "the handler let a cancellation through that was not its own"
        return self.error(work, "CancelledError", text, where)

    def error(self, work: Work, name: str, text: str, where: str | None = None) -> Settlement:
        """It ended with this error, which says nothing about another try."""
        waits = self._registry.known(work.kind).retry.waits
        draw = self._rng.random()
        event = told_error(name, text, ErrorClass.UNCLASSIFIED, work.fence, draw, traceback=where, waits=waits)
        return Settlement(work.seq, work.fence, event)
