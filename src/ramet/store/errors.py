"""Errors between the engine and its database. Every message says what to do."""

from __future__ import annotations

from ramet.model.values import on_one_line


class StoreError(Exception):
    """Raised by everything that asks the database: it cannot be used as asked. The message says what to do.

    Its own errors derive from this one.
    """

    def __str__(self) -> str:
        """Return the message on one line, whatever line ends the request had."""
        return on_one_line(super().__str__())


class StoreMissing(StoreError):
    """There is no database where one was expected."""


class StoreNewer(StoreError):
    """The database was written by a newer ramet."""


class StoreOlder(StoreError):
    """The database is to be migrated before this ramet can use it."""


class StoreUnsafe(StoreError):
    """The place cannot keep the promises (a network file system, a read-only file)."""


class StoreFull(StoreError):
    """The disk is full."""


class StoreBusy(StoreError):
    """Another process held the database for longer than the busy time-out."""


class StoreRefused(StoreError):
    """Raised by what writes: the database refused the step as a whole, when it ended. Nothing of it was written."""


class StoreUnreachable(StoreError):
    """Raised by everything that asks the database: its server cannot be reached for now, or was lost on the way.

    Nothing of the verb was written, so it may be asked again; a worker does so until its leases end, a client for a
    bounded time.
    """


class StoreUncertain(StoreError):
    """Raised by what writes: the database went away in the middle of a commit, and the step may have taken effect.

    Look at the database before you repeat it. A request with a fence may be repeated blindly: it takes effect once.
    """


class StoreLost(StoreError):
    """Raised by everything that asks the database: this program cannot use it any more, however long it waits."""


class StoreMoved(StoreLost):
    """The database's file was moved, deleted or replaced while it was open. Nothing was written."""


class StoreCorrupt(StoreLost):
    """The database's file cannot be read."""


class UniqueHeld(StoreError):
    """Raised by a revive while another task holds the unique key: wait for its end; the message names it."""

    def __init__(self, task_id: str, holder: str, tracking_id: str) -> None:
        super().__init__(
            f"task {task_id} cannot be revived: task {holder} of lineage {tracking_id} holds its unique key"
        )
        self.task_id = task_id
        self.holder = holder


class StopListed(StoreError):
    """Raised by a submit of something that the stop list covers: take the entry off, or leave it."""


class QueueBlocked(StoreError):
    """Raised by a submit into a queue that an operator blocked: unblock it, or submit into another."""


class TransactionRefused(StoreError):
    """Raised by ``ctx.transaction``: a statement failed, or met another number of rows. Nothing of it was kept."""

    def __init__(self, statement: int, message: str) -> None:
        super().__init__(message)
        self.statement = statement
        """Index of the refused statement, from 0."""


class LineageExists(StoreError):
    """Raised by a submit that names a tracking_id which another lineage has: give another, or none."""
