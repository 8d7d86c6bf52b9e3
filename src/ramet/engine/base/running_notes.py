"""Notes of what runs in this process that outlive a call until its outcome has left: nothing ends unnoticed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ramet.store.processes.running_notes import Slots

SPARE_CALLS = 1_024
"""Outcomes that may be on their way out of a process in which many calls run."""


class NotedUntilSent:
    """Where a runner notes its calls; the note of one that ended stays until its outcome is the supervisor's.

    A process that dies in between leaves the note: its task was begun, so the attempt counts as lost (DESIGN §10).

    Args:
        slots: shared with the supervisor; more than calls that run at once.
        send: sends what was delivered so far, and says so with :meth:`leaving` and :meth:`gone`.
        send_soon: has that done in this turn of the loop.
    """

    def __init__(self, slots: Slots, send: Callable[[], None], send_soon: Callable[[], None]) -> None:
        self._slots = slots
        self._send, self._send_soon = send, send_soon
        self._free = list(range(slots.places))
        self._running: dict[int, int] = {}
        """The place of each slot of the runner that is taken."""
        self._ended: deque[int] = deque()
        self._leaving: deque[int] = deque()

    def note(self, slot: int, seq: int, fence: int) -> None:
        """A handler begins."""
        if not self._free:
            self._send()
        # Where the supervisor takes in no more, the oldest notes give way: they have been with it for the longest.
        place = self._free.pop() if self._free else (self._leaving or self._ended).popleft()
        self._running[slot] = place
        self._slots.note(place, seq, fence)

    def free(self, slot: int) -> None:
        """It has ended."""
        if slot in self._running:
            self._ended.append(self._running.pop(slot))
            self._send_soon()

    def leaving(self) -> None:
        """The outcomes of all that ended are on their way."""
        self._leaving += self._ended
        self._ended.clear()

    def gone(self) -> None:
        """Whatever was on its way has left this process."""
        for place in self._leaving:
            self._slots.free(place)
        self._free += self._leaving
        self._leaving.clear()
