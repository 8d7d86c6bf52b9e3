"""A call's note stays until its outcome has left the process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from ramet.engine.base.current_tasks import PendingSlotNotes
from ramet.store.processes.running_notes import RunningNotes, new_notes


@pytest.fixture
def slots() -> Iterator[RunningNotes]:
    slots, handle = new_notes(None, "w", 3)
    yield slots
    slots.remove()
    os.close(handle)


class Way:
    """Out of the process: what was asked of it, and whether it is open."""

    def __init__(self, slots: RunningNotes) -> None:
        self.wanted = 0
        self.open = True
        self.notes = PendingSlotNotes(slots, self.send, self.soon)

    def soon(self) -> None:
        self.wanted += 1

    def send(self) -> None:
        self.notes.leaving()
        if self.open:
            self.notes.gone()


def noted(slots: RunningNotes) -> set[int]:
    return {run.seq for run in slots.running()}


def test_a_note_stays_until_its_outcome_has_left(slots: RunningNotes) -> None:
    way = Way(slots)
    way.notes.note(0, 7, 1)
    way.notes.free(0)
    assert noted(slots) == {7}
    assert way.wanted == 1, "it asks for being sent"
    way.send()
    assert noted(slots) == set()


def test_the_next_call_of_a_slot_takes_no_note_of_the_last_one_away(slots: RunningNotes) -> None:
    way = Way(slots)
    way.open = False
    for seq in (7, 8):
        way.notes.note(0, seq, 1)
        way.notes.free(0)
    way.notes.note(0, 9, 1)
    assert noted(slots) == {7, 8, 9}
    way.open = True
    way.send()
    assert noted(slots) == {9}, "what runs has not left"


def test_where_no_place_is_left_what_was_delivered_is_sent_first(slots: RunningNotes) -> None:
    way = Way(slots)
    for seq in range(1, 10):
        way.notes.note(0, seq, 1)
        way.notes.free(0)
    assert 9 in noted(slots)
    assert len(noted(slots)) <= 3


def test_where_nothing_leaves_the_oldest_gives_way(slots: RunningNotes) -> None:
    way = Way(slots)
    way.open = False
    for seq in range(1, 6):
        way.notes.note(0, seq, 1)
        way.notes.free(0)
    assert noted(slots) == {3, 4, 5}
    way.notes.free(0)  # Of a slot that has no note any more.
