"""How a store runs verbs, for the parts of it that every dialect shares word for word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from ramet.store.rows.commit_times import CommitTimer
from ramet.store.session import Session

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Verbs(ABC):
    """Runs a verb against the database. A dialect says how."""

    _timer: CommitTimer
    """How long what was written took; nothing is measured where verbs run inline."""

    @abstractmethod
    async def _write(self, verb: Callable[[Session], Answer]) -> Answer:
        """Run a verb alone: nobody else writes until it is durable, which it is when this returns."""

    @abstractmethod
    async def _write_beside(self, verb: Callable[[Session], Answer], name: str = "other") -> Answer:
        """Run a verb that holds every row it decides about, so that others may write at the same time.

        ``name``: the one of :data:`ramet.model.flow.resources.COMMIT_VERBS` under which its commit is measured.
        """

    @abstractmethod
    async def _write_together(
        self, verb: Callable[[Session, Sequence[Item]], Sequence[Answer]], items: Sequence[Item], name: str = "other"
    ) -> Sequence[Answer]:
        """As :meth:`_write_beside`, for a verb with an answer to each item, whose callers may share a transaction."""

    @abstractmethod
    async def _follow(self, task_ids: Sequence[str], tracking_ids: Sequence[str] = ()) -> None:
        """Called before these are reopened, which first follows the end of their lineages to the last task, alone. A
        dialect on which others would wait for that may have done most of it then.
        """

    @abstractmethod
    async def _read(self, verb: Callable[[Session], Answer]) -> Answer:
        """Run a verb on a consistent view of what is durable."""

    @abstractmethod
    def _within(self, connection: object, verb: Callable[[Session], Answer]) -> Answer:
        """Run a verb in the caller's transaction and thread, see :meth:`ramet.store.base.Store.submit_within`."""
