"""The part of the Store protocol for what people do beyond single tasks; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ramet.model.lineage.deny_list import StopEntry
from ramet.model.lineage.lineage import Lineage
from ramet.model.operations import Act, BulkAct

Cursor = tuple[str, str, str]
"""Kind, key and reason of the last block that was looked at."""


class Reoffered(NamedTuple):
    """What became of blocks that were offered again."""

    created: tuple[str, ...]
    """Ids of the new tasks."""
    there_already: int
    """Blocks whose task exists by now, here or, for a unique key, elsewhere."""
    still_blocked: Mapping[str, int]
    """How many the guard refused again, by its reason now; ``parent_unknown`` where nobody knows who asked."""
    after: Cursor | None = None
    """Where to go on; None when there was nothing left to offer."""


class PersonsStore(Protocol):
    """What people ask of a database."""

    async def acts(self, tracking_id: str | None = None, *, limit: int = 100, before: int | None = None) -> list[Act]:
        """What people did to one lineage, or to anything; newest first, at most 1,000, before an act's number."""
        ...

    async def exclude(self, task_ids: Sequence[str], *, by: str, reason: str | None = None) -> list[str]:
        """Take pending, failed or cancelled tasks out for good: they are skipped (``excluded``), and nothing of their
        identity is spawned again in their lineage, nor elsewhere where it is unique over all lineages. All in one
        transaction; a revive undoes it.

        Returns:
            Ids of those excluded; a task in another state is left as it is.

        Raises:
            StoreError: a task id is unknown; nothing was done.
        """
        ...

    async def act_on_tasks(
        self,
        act: BulkAct,
        task_ids: Sequence[str],
        *,
        by: str,
        reason: str | None = None,
        detail: Mapping[str, Any],
        extend_seconds: float | None = None,
    ) -> list[str]:
        """Retry, cancel or exclude tasks, all in one transaction with its record, an act ``bulk_...``.

        Args:
            detail: how they were chosen; part of the record.

        Returns:
            Ids of those on which it took effect.

        Raises:
            StoreError: one of them cannot be acted on; nothing was done.
        """
        ...

    async def raise_limits(
        self,
        tracking_id: str,
        limits: Mapping[str, int],
        *,
        by: str,
        reason: str | None = None,
        extend_seconds: float | None = None,
        allow_shapes: Sequence[str] = (),
    ) -> Lineage:
        """Raise limits of a lineage, and let it live at least ``extend_seconds`` from now; recorded as an act.

        Args:
            limits: ``max_spawn_depth``, ``max_tasks``, ``max_fan_out``, ``max_shape``, ``retries_per_minute``,
                ``max_cost`` or ``soft_cost`` (nano-dollars).
            allow_shapes: shapes that ``max_shape`` bounds no more (:func:`ramet.model.keys.allowed_shapes`).

        Returns:
            The lineage as it stands then. What blocked tasks wanted is created by :meth:`reoffer`, not by this.

        Raises:
            StoreError: no such lineage or limit, or a value under the present one; nothing was changed.
        """
        ...

    async def reoffer(
        self,
        tracking_id: str,
        *,
        by: str,
        reasons: Collection[str] = (),
        reason: str | None = None,
        limit: int = 1_000,
        after: Cursor | None = None,
        kind: str | None = None,
        key: str | None = None,
        shape: str | None = None,
    ) -> Reoffered:
        """Offer spawns again that were blocked by something a person may change, a page at a time.

        Each goes through the whole guard as a child of the first parent that asked for it. What passes is created and
        its block marked with who and when; what fails keeps its block. A finished or failed lineage runs again when
        something was created.

        Args:
            reasons: of the guard; all that can be offered again when empty.
            reason: why, for the record.
            limit: blocks of this page, at most 1,000.
            after: where the page before ended.
            kind, key, shape: only blocks of these; a page may then offer fewer than ``limit``, or none.

        Raises:
            StoreError: no such lineage, it was cancelled, its deadline has passed, or a reason cannot be offered again.
        """
        ...

    async def edges(self, tracking_id: str, parent_ids: Sequence[str]) -> dict[str, list[str]]:
        """Ids of the existing tasks that these tasks of a lineage asked for with ``keep_edge``, by asking task."""
        ...

    async def stop_list(self) -> list[StopEntry]:
        """The whole stop list, by type and value."""
        ...

    async def stop(self, entry_type: str, value: str, *, by: str, reason: str | None = None) -> tuple[StopEntry, bool]:
        """Put a host, a domain or a pattern on the stop list: nothing that it covers is created from this commit on.

        Returns:
            The entry as it stands on the list, and whether it is new.

        Raises:
            InvalidEntry: the value is no such thing; the message says what to give.
        """
        ...

    async def unstop(self, entry_type: str, value: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Take an entry off the stop list; False when it was not there.

        Raises:
            InvalidEntry: the value is no such thing.
        """
        ...
