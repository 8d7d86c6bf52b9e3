"""Which tasks the code that runs right now has in hand: what it must not wait for follows from that (DESIGN §7).

A handler's call carries it through everything that it awaits and starts, as context variables do.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from ramet.engine.work import Work

_in_hand: ContextVar[Sequence[Work]] = ContextVar("ramet_in_hand", default=())


def take(works: Sequence[Work]) -> None:
    """From now on this call, and what it starts, works on these tasks and no others."""
    _in_hand.set(works)


def in_hand() -> Sequence[Work]:
    """The tasks that whoever asks works on; none outside of handlers and of blocks that hold a claim."""
    return _in_hand.get()


def begin(work: Work) -> None:
    """A program goes into a block that holds a claim."""
    take((*_in_hand.get(), work))


def done(work: Work) -> None:
    """It has left the block."""
    take([other for other in _in_hand.get() if other is not work])
