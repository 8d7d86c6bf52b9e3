"""The tasks that the running code works on, and notes of them that outlive a call.

A handler's call carries it through everything that it awaits and starts, as context variables do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar

from ramet.engine.base.work import Work
from ramet.store.processes.running_notes import RunningNotes

Pulled = Callable[[], Work | None]
"""The work of a claim that a program pulled; None once it is over."""

_handled: ContextVar[Sequence[Work]] = ContextVar("ramet_handled", default=())
_pulled: ContextVar[tuple[Pulled, ...]] = ContextVar("ramet_pulled", default=())


def enter_call(works: Sequence[Work]) -> None:
    """From now on this call of a handler, and what it starts, works on these tasks."""
    _handled.set(works)


def enter_block(claim: Pulled) -> None:
    """Note that a program goes into a block that holds a claim."""
    _pulled.set((*_pulled.get(), claim))


def leave_block(claim: Pulled) -> None:
    """Note that it has left the block."""
    _pulled.set(tuple(other for other in _pulled.get() if other != claim))


def current_claim() -> Sequence[Work]:
    """Return the tasks that the caller works on now: the claim of its innermost block, or those of its handler."""
    for claim in reversed(_pulled.get()):
        if (work := claim()) is not None:
            return (work,)
    return _handled.get()


def current_tasks() -> list[Work]:
    """Return all tasks that the caller works on; none outside of handlers and of blocks that hold a claim."""
    pulled = [claim() for claim in _pulled.get()]
    return [*_handled.get(), *(work for work in pulled if work is not None)]


def handled_tasks() -> Sequence[Work]:
    """Return the tasks of the handler's call that asks, which hold a slot of a worker; none outside of handlers."""
    return _handled.get()


SPARE_CALLS = 1_024
"""Outcomes that may be on their way out of a process in which many calls run."""


class PendingSlotNotes:
    """Notes of a runner's calls; the note of one that ended stays until the supervisor has its outcome.

    A process that dies in between leaves the note: its task was begun, so the attempt counts as lost (DESIGN §10).

    Args:
        slots: shared with the supervisor; more than calls that run at once.
        send: sends what was delivered so far, and says so with :meth:`leaving` and :meth:`gone`.
        send_soon: has that done in this turn of the loop.
    """

    def __init__(self, slots: RunningNotes, send: Callable[[], None], send_soon: Callable[[], None]) -> None:
        self._slots = slots
        self._send, self._send_soon = send, send_soon
        self._free = list(range(slots.places))
        self._running: dict[int, int] = {}
        """The place of each slot of the runner that is taken."""
        self._ended: deque[int] = deque()
        self._leaving: deque[int] = deque()

    def note(self, slot: int, seq: int, fence: int) -> None:
        """Note that a handler begins."""
        if not self._free:
            self._send()
        # Where the supervisor takes in no more, the oldest notes give way: they have been with it for the longest.
        place = self._free.pop() if self._free else (self._leaving or self._ended).popleft()
        self._running[slot] = place
        self._slots.note(place, seq, fence)

    def free(self, slot: int) -> None:
        """Free the slot of a handler that has ended."""
        if slot in self._running:
            self._ended.append(self._running.pop(slot))
            self._send_soon()

    def leaving(self) -> None:
        """Note that the outcomes of all that ended are on their way."""
        self._leaving += self._ended
        self._ended.clear()

    def gone(self) -> None:
        """Free the notes of what was on its way: it has left this process."""
        for place in self._leaving:
            self._slots.free(place)
        self._free += self._leaving
        self._leaving.clear()
