"""How a store runs verbs, for the parts of it that every dialect shares word for word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from ramet.store.session import Session

Answer = TypeVar("Answer")


class Verbs(ABC):
    """Runs a verb against the database. A dialect says how."""

    @abstractmethod
    async def _write(self, verb: Callable[[Session], Answer]) -> Answer:
        """Run a verb in a transaction that may write; durable when it returns."""

    @abstractmethod
    async def _read(self, verb: Callable[[Session], Answer]) -> Answer:
        """Run a verb on a consistent view of what is durable."""
