"""How often a supervisor looks for cyclic garbage.

It makes thousands of small values for every batch and gives them all up again without a cycle among them: collecting as
often as Python does by default finds nothing and costs a tenth of all its processor time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

ALLOCATIONS = 50_000
"""Values that may be made, and not given up yet, between two collections."""


class _Seldom:
    """Several workers may run in one process: the last one that ends puts back what the first one found."""

    def __init__(self) -> None:
        self._running = 0
        self._found = (0, 0, 0)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if not self._running:
            self._found = first, second, third = gc.get_threshold()
            if 0 < first < ALLOCATIONS:  # 0: whoever runs this has switched collecting off.
                gc.set_threshold(ALLOCATIONS, second, third)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                gc.set_threshold(*self._found)


seldom_collected = _Seldom()
"""While this lasts, this process collects seldom. Only for processes in which no handlers run."""
