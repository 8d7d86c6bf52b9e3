"""Which tasks the code that runs right now has in hand: what it must not wait for follows from that (DESIGN §7).

A handler's call carries it through everything that it awaits and starts, as context variables do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar

from ramet.engine.base.work import Work

Pulled = Callable[[], Work | None]
"""The work of a claim that a program pulled; None once it is over."""

_handled: ContextVar[Sequence[Work]] = ContextVar("ramet_handled", default=())
_pulled: ContextVar[tuple[Pulled, ...]] = ContextVar("ramet_pulled", default=())


def take(works: Sequence[Work]) -> None:
    """From now on this call of a handler, and what it starts, works on these tasks."""
    _handled.set(works)


def begin(claim: Pulled) -> None:
    """A program goes into a block that holds a claim."""
    _pulled.set((*_pulled.get(), claim))


def done(claim: Pulled) -> None:
    """It has left the block."""
    _pulled.set(tuple(other for other in _pulled.get() if other != claim))


def innermost() -> Sequence[Work]:
    """What whoever asks works on at the moment: the claim of the block that it went into last, or its handler's."""
    for claim in reversed(_pulled.get()):
        if (work := claim()) is not None:
            return (work,)
    return _handled.get()


def in_hand() -> list[Work]:
    """The tasks that whoever asks works on; none outside of handlers and of blocks that hold a claim."""
    pulled = [claim() for claim in _pulled.get()]
    return [*_handled.get(), *(work for work in pulled if work is not None)]
