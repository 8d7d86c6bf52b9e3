"""The part of the client for what people do beyond single tasks, and the record of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from ramet.model.lineage.deny_list import StopEntry
from ramet.model.lineage.lineage import Lineage
from ramet.model.money import amount_of
from ramet.model.operations import Act
from ramet.store.answers import Reoffered
from ramet.store.requests import Cursor
from ramet.store.store import Store


class PersonsClient:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store

    async def acts(self, tracking_id: str | None = None, *, limit: int = 100, before: int | None = None) -> list[Act]:
        """What people did to one lineage, or to anything; newest first, at most 1,000, before an act's number."""
        return await self.store.acts(tracking_id, limit=limit, before=before)

    async def exclude(self, task_ids: Iterable[str], *, by: str = "client", reason: str | None = None) -> list[str]:
        """Take pending, failed or cancelled tasks out for good; returns the ids of those excluded.

        They are skipped (``excluded``), and nothing of their identity is spawned again in their lineage, nor elsewhere
        where it is unique over all lineages. :meth:`revive` undoes it.

        Raises:
            StoreError: a task id is unknown; nothing was done.
        """
        return await self.store.exclude(list(task_ids), by=by, reason=reason)

    async def raise_limits(
        self,
        tracking_id: str,
        *,
        by: str = "client",
        reason: str | None = None,
        extend_seconds: float | None = None,
        allow_shapes: Sequence[str] = (),
        **limits: int,
    ) -> Lineage:
        """Raise limits of a lineage, and let it live at least ``extend_seconds`` from now. Recorded as an act.

        Args:
            limits: ``max_spawn_depth``, ``max_tasks``, ``max_fan_out``, ``max_shape``, ``retries_per_minute``,
                ``max_cost`` or ``soft_cost`` (nano-dollars). What was blocked before is offered again by
                :meth:`reoffer`.
            allow_shapes: shapes of honest pages, which ``max_shape`` bounds no more: ``https://x.example/a/#``, or with
                a limit of its own ``https://x.example/a/#=5000``.

        Raises:
            StoreError: no such lineage or limit, or a value under the present one; nothing was changed.
        """
        limits = {name: amount_of(v, f"{name} is") if name.endswith("_cost") else v for name, v in limits.items()}
        return await self.store.raise_limits(
            tracking_id, limits, by=by, reason=reason, extend_seconds=extend_seconds, allow_shapes=allow_shapes
        )

    async def reoffer(
        self,
        tracking_id: str,
        *,
        reasons: Collection[str] = (),
        kind: str | None = None,
        key: str | None = None,
        shape: str | None = None,
        by: str = "client",
        reason: str | None = None,
    ) -> Reoffered:
        """Offer all spawns again that the guard blocked for these reasons: depth, budget, fan_out, deadline, cost,
        stop_list or trap; all of them when none is given.

        Each goes through the whole guard as a child of the first parent that asked for it. A finished or failed
        lineage runs again when something was created.

        Args:
            reasons: which refusals.
            kind, key, shape: only spawns of this kind, this canonical key, keys of this shape (as
                :meth:`raise_limits` allows it).
            by: who does it, for the record.
            reason: why, for the record.

        Raises:
            StoreError: no such lineage, it was cancelled, its deadline has passed, or a reason cannot be offered again.
        """
        created: list[str] = []
        there, still = 0, Counter[str]()
        after: Cursor | None = None
        while True:
            page = await self.store.reoffer(
                tracking_id, reasons=reasons, by=by, reason=reason, after=after, kind=kind, key=key, shape=shape
            )
            created += page.created
            there += page.there_already
            still.update(page.still_blocked)
            after = page.after
            if after is None:
                return Reoffered(tuple(created), there, dict(still))

    async def edges(self, tracking_id: str, task_ids: Iterable[str]) -> dict[str, list[str]]:
        """Ids of the existing tasks that these tasks of a lineage asked for with ``keep_edge``, by asking task."""
        return await self.store.edges(tracking_id, list(task_ids))

    async def stop_list(self) -> list[StopEntry]:
        """Hosts, domains and patterns that nothing is created for."""
        return await self.store.stop_list()

    async def stop(self, entry_type: str, value: str, *, by: str = "client", reason: str | None = None) -> StopEntry:
        """Put a ``host``, a ``domain`` (with all hosts below it) or a ``pattern`` of keys on the stop list.

        From then on the guard blocks every spawn that it covers, and submits of it are refused. Tasks that exist are
        not touched.

        Raises:
            InvalidEntry: the value is no such thing; the message says what to give.
        """
        return (await self.store.stop(entry_type, value, by=by, reason=reason))[0]

    async def unstop(self, entry_type: str, value: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Take an entry off the stop list; False when it was not there. :meth:`reoffer` creates what it had blocked."""
        return await self.store.unstop(entry_type, value, by=by, reason=reason)
