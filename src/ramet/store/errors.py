"""What can go wrong between the engine and its database. Every message says what to do."""

from __future__ import annotations


class StoreError(Exception):
    """The database cannot be used as asked."""


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


class StoreUnreachable(StoreError):
    """The database is away for now: its server cannot be reached, or was lost on the way.

    Nothing of the verb was written, so it may be asked again; a worker does so until its leases end, a client for a
    bounded time.
    """


class StoreUncertain(StoreError):
    """The database went away while it was told to commit, and nobody could look: the step may have taken effect.

    To be looked at before it is repeated. What carries a fence may be repeated blindly: it takes effect once.
    """


class UniqueHeld(StoreError):
    """A task cannot be revived because another one holds its unique key."""

    def __init__(self, task_id: str, holder: str, tracking_id: str) -> None:
        super().__init__(
            f"task {task_id} cannot be revived: task {holder} of lineage {tracking_id} holds its unique key"
        )
        self.task_id = task_id
        self.holder = holder


class Stopped(StoreError):
    """A submit asked for something that the stop list covers."""


class TransactionRefused(StoreError):
    """A statement of a handler's own transaction failed, or met another number of rows; nothing of it was kept."""

    def __init__(self, statement: int, message: str) -> None:
        super().__init__(message)
        self.statement = statement
        """Which one, from 0."""


class LineageExists(StoreError):
    """A submit named a tracking_id that another lineage has."""
