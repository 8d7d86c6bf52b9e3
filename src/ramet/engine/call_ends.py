"""Outcomes of calls that did not end by themselves: past their limit, cut short, or with the slot that ran them."""

from __future__ import annotations

import random

from ramet.engine.outcome import told_error
from ramet.engine.registry import Kind, Registry
from ramet.engine.work import Work
from ramet.model.retry import ErrorClass
from ramet.store.base import Settlement


def limit_seconds(kind: Kind, work: Work) -> float:
    """How long one call of a handler may take; the last one, of an ``on_end`` handler, no longer than one call."""
    return kind.limits.invocation_seconds if work.ending is None else kind.limits.call_seconds


def timed_out(work: Work, seconds: float, jitter: float) -> Settlement:
    """The settlement of a task whose handler ran past its invocation limit."""
    text = f"the handler ran longer than {seconds:g} s"
    return Settlement(work.seq, work.fence, told_error("Timeout", text, ErrorClass.TRANSIENT, work.fence, jitter))


class CallEnds:
    """Makes them, with its owner's source of chance."""

    def __init__(self, registry: Registry, rng: random.Random) -> None:
        self._registry = registry
        self._rng = rng

    def timeout(self, work: Work) -> Settlement:
        """It ran past its limit."""
        return timed_out(work, limit_seconds(self._registry.get(work.kind), work), self._rng.random())

    def cut_short(self, work: Work) -> Settlement:
        """It let a cancellation through, where nobody of the engine asked it to stop."""
        text = "the handler let a cancellation through that was not its own"
        return self.error(work, "CancelledError", text)

    def error(self, work: Work, name: str, text: str) -> Settlement:
        """It ended with this error, which says nothing about another try."""
        event = told_error(name, text, ErrorClass.UNCLASSIFIED, work.fence, self._rng.random())
        return Settlement(work.seq, work.fence, event)
