"""Observers of what runs: entry points of ``ramet.observers``, loaded only where the environment asks for them.

``RAMET_OBSERVERS`` lists names of entry points; ``RAMET_TRACES`` asks for the one named ``traces``. Where neither is
set nothing is looked up, the store is the store itself, and a handler's call is the handler's call. An observer is
called after the fact: what it hears of is durable, and what it raises is logged once and forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache
from typing import Protocol

from ramet.engine.base.work import Work
from ramet.model.task.task import Task
from ramet.model.tracing import sampled
from ramet.store.answers import ClaimedTask, SettleResult, SubmitResult
from ramet.store.loggers import own_logger
from ramet.store.requests import NewLineage, Settlement

log = own_logger("ramet.observing")

GROUP = "ramet.observers"
OBSERVERS = "RAMET_OBSERVERS"
"""Variable with names of entry points of ``ramet.observers``, with commas between them, that are called for events."""
TRACES = "RAMET_TRACES"
"""Variable with the destination of traces: ``otlp`` or ``console``; unset, ``0``, ``off``, ``none`` or ``false``:
nowhere. Read by workers and by programs that submit.
"""
RATIO = "RAMET_TRACES_RATIO"
"""The share of lineages that is traced, from 0 to 1; by default all."""
OFF = frozenset({"", "0", "off", "none", "false"})


class ObservedCall(Protocol):
    """One call of a handler, for one task or a batch."""

    def inside(self) -> AbstractContextManager[None]:
        """Entered where the handler runs, in its thread: what it starts belongs below the call."""
        ...

    def ended(self, settlements: Sequence[Settlement], *, lost: bool) -> None:
        """Observe the end of a call and its request. ``lost``: a claim of it is another's by now, or the task was
        ended.
        """
        ...


class StoreObserver(Protocol):
    """Observer of what became durable. Every method returns at once: it neither waits nor writes to the database."""

    def submitted(self, lineages: Sequence[NewLineage], answers: Sequence[SubmitResult]) -> None:
        """Roots were created, or were there."""
        ...

    def settled(self, claimed: ClaimedTask, item: Settlement, answer: SettleResult) -> None:
        """Observe that a claim's request was accepted, and is durable: spawn decisions, an end, another try."""
        ...

    def ended(self, task: Task) -> None:
        """Observe a task that no settlement of its own ended: a deadline or the end of its lineage did, a lost lease
        too many, its settler, or a person. Called by the process that wrote the end.
        """
        ...


class Observer(StoreObserver, Protocol):
    """Observer of handlers' calls, too."""

    def running(self, works: Sequence[Work]) -> ObservedCall:
        """Return the observed call of a handler that is about to be called for these claims, in this process."""
        ...

    def cut_short(self, work: Work, seconds: float, outcome: str, reason: str) -> None:
        """Observe a handler that ended with its process, this number of seconds after it began: that process could not
        report it.
        """
        ...

    def close(self) -> None:
        """Close before the process ends; takes two seconds at most."""
        ...


def asks_for_traces() -> bool:
    """Whether the environment wants traces at all."""
    return os.environ.get(TRACES, "").strip().lower() not in OFF


@lru_cache(maxsize=1)
def traces_ratio() -> float:
    """Return the share of lineages that is traced, in [0, 1]: ``RAMET_TRACES_RATIO``, by default all.

    Raises:
        ValueError: it is not such a number.
    """
    text = os.environ.get(RATIO, "").strip() or "1"
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0.0 <= ratio <= 1.0:
        raise ValueError(f"{RATIO} is {text!r}: give a number from 0 to 1")
    return ratio


def traced(tracking_id: str) -> bool:
    """Whether spans of this lineage are made: by this process, and by every other with the same environment."""
    return observer() is not None and asks_for_traces() and sampled(tracking_id, traces_ratio())


@lru_cache(maxsize=1)
def observer() -> Observer | None:
    """Return the observer of this process; None where the environment asks for none."""
    wanted = {name.strip() for name in os.environ.get(OBSERVERS, "").split(",") if name.strip()}
    if asks_for_traces():
        wanted.add("traces")
    if not wanted:
        return None
    from importlib.metadata import entry_points

    found = {point.name: point for point in entry_points(group=GROUP)}
    made = []
    for name in sorted(wanted):
        if name not in found:
            log.error("there is no observer %r: known are %s", name, ", ".join(sorted(found)) or "none")
            continue
        try:
            one = found[name].load()()
        except ImportError as error:
            log.error("observer %s cannot be loaded (%s): install ramet[%s]", name, error, name)
        except ValueError as error:
            log.error("observer %s: %s", name, error)
        else:
            made.append(one)
    return CompositeObserver(made) if made else None


class CompositeObserver:
    """Calls all of several observers; an error of one is logged once and does not stop the others."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self._logged = False

    def failed(self) -> None:
        """One of them raised, just now."""
        if not self._logged:
            self._logged = True
            log.exception("an observer failed; further failures are not logged")

    def submitted(self, lineages: Sequence[NewLineage], answers: Sequence[SubmitResult]) -> None:
        """See :class:`Observer`."""
        for one in self._observers:
            try:
                one.submitted(lineages, answers)
            except Exception:
                self.failed()

    def running(self, works: Sequence[Work]) -> ObservedCall:
        """See :class:`Observer`."""
        calls = []
        for one in self._observers:
            try:
                calls.append(one.running(works))
            except Exception:
                self.failed()
        return _CompositeCall(calls, self.failed)

    def cut_short(self, work: Work, seconds: float, outcome: str, reason: str) -> None:
        """See :class:`Observer`."""
        for one in self._observers:
            try:
                one.cut_short(work, seconds, outcome, reason)
            except Exception:
                self.failed()

    def settled(self, claimed: ClaimedTask, item: Settlement, answer: SettleResult) -> None:
        """See :class:`Observer`."""
        for one in self._observers:
            try:
                one.settled(claimed, item, answer)
            except Exception:
                self.failed()

    def ended(self, task: Task) -> None:
        """See :class:`Observer`."""
        for one in self._observers:
            try:
                one.ended(task)
            except Exception:
                self.failed()

    def close(self) -> None:
        """See :class:`Observer`."""
        for one in self._observers:
            try:
                one.close()
            except Exception:
                self.failed()


class _CompositeCall:
    def __init__(self, calls: Sequence[ObservedCall], failed: Callable[[], None]) -> None:
        self._calls = calls
        self._failed = failed

    def inside(self) -> AbstractContextManager[None]:
        return self._calls[0].inside() if len(self._calls) == 1 else self._inside_all()

    @contextmanager
    def _inside_all(self) -> Iterator[None]:
        with ExitStack() as stack:
            for call in self._calls:
                stack.enter_context(call.inside())
            yield

    def ended(self, settlements: Sequence[Settlement], *, lost: bool) -> None:
        for call in self._calls:
            try:
                call.ended(settlements, lost=lost)
            except Exception:
                self._failed()
