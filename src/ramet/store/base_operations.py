"""The part of the Store protocol for whoever operates a database; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class SettingRow(NamedTuple):
    """A stored setting."""

    key: str
    value: Any
    value_type: str
    """``int``, ``float``, ``string`` or ``json``; a setting that is ``none`` is JSON's null."""
    description: str
    updated_at: float


class SettingChange(NamedTuple):
    """A setting to store, or to remove so that its default holds again."""

    key: str
    value: Any = None
    value_type: str = "json"
    description: str = ""
    remove: bool = False


class Prunable(NamedTuple):
    """What could be pruned."""

    lineages: int
    tasks: int
    slots: int
    """What became of slots of schedules, in rows."""


class OperationsStore(Protocol):
    """What people and maintenance ask of a database as a whole."""

    @property
    def address(self) -> str:
        """What :func:`ramet.store.open_store` takes to open it again. With its password, if it has one: whoever shows
        it to people takes :func:`ramet.store.address.shown`."""
        ...

    @property
    def ahead_seconds(self) -> float:
        """How far the store's clock, by which all stored times are, was ahead of this machine's when it was opened."""
        ...

    async def setting_rows(self) -> list[SettingRow]:
        """All stored settings, by key."""
        ...

    async def change_settings(self, changes: Sequence[SettingChange], *, by: str, reason: str | None = None) -> int:
        """Store and remove settings, all or none, each change recorded with who and what was before; returns how many
        there were. Workers and clients act on them within a few seconds.

        Raises:
            ValueError: a value is not of its type.
        """
        ...

    async def prune(self, before: float, *, limit: int = 100, rows: int = 5_000) -> int:
        """Delete lineages that ended before the given time, with everything of theirs; the oldest first. Also what
        belongs to none and is as old: slots of schedules, resolved alerts; and expired holds of global identities.

        One call deletes up to ``limit`` lineages and looks at up to about ``rows`` tasks, so that it holds nobody up.
        A lineage of more is deleted by several calls, in any number of workers at once; from the first of them on it
        cannot be revived, and its tracking id stays taken until the last.

        Returns:
            How many lineages are gone entirely. 0 may mean that a large one is under way: ask :meth:`prunable`.
        """
        ...

    async def prunable(self, before: float, *, limit: int = 1_000_000_000) -> Prunable:
        """How much :meth:`prune` would delete, counted up to ``limit`` lineages."""
        ...
