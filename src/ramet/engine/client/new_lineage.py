"""New lineages: their limits are decided here, whatever starts them (DESIGN §8)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ramet.engine.context.data import check_size
from ramet.engine.kinds.registry import Handler, Kind, Registry
from ramet.model.lineage.limits import Limits, lineage_limits, named_limits
from ramet.model.task.task import NewTask
from ramet.model.values import NewBlob
from ramet.store.requests import NewLineage
from ramet.store.store import Store

LimitsGiven = Limits | Mapping[str, Any]
"""Limits as a submit gives them: those that differ from the default, or exactly those of a mapping."""


def declared_text(kind: Kind, app: Limits) -> str | None:
    """Return the limits that code declares for lineages whose root is of a kind, for programs that know only its
    name.
    """
    found = named_limits(lineage_limits([kind.root_limits], app))
    return json.dumps(found, sort_keys=True) if found else None


class LineageLimits:
    """Limits of the lineages of a program."""

    def __init__(self, registry: Registry, store: Store | None, app: Limits) -> None:
        self._registry = registry
        self._store = store
        self._app = app
        self._known: dict[str | Handler, tuple[Limits, Limits]] = {}
        """Declarations of kinds and the resulting limits: most submits add nothing to them."""

    async def decided(
        self,
        kinds: Iterable[str | Handler],
        given: LimitsGiven | None = None,
        *,
        may_raise: bool = False,
        store: Store | None = None,
        connection: object = None,
    ) -> Limits:
        """Limits of a lineage whose roots are of these kinds, before the settings of limits.

        Limits of a kind that another program registers are those that its worker declared.

        Raises:
            ValueError: there is no such limit, or it cannot have this value.
        """
        kinds = tuple(kinds)
        if given is None and len(kinds) == 1 and kinds[0] in self._known:
            declared, found = self._known[kinds[0]]
            if declared is self._registry.known(kinds[0]).root_limits:
                return found
        known = {kind.name: kind for kind in map(self._registry.known, kinds)}
        store = store or self._store
        away = sorted(name for name in known if name not in self._registry)
        stored = await store.root_limits(away, connection) if away and store is not None else {}
        roots = [kind.root_limits for name, kind in known.items() if name in self._registry]
        found = lineage_limits([*roots, *map(json.loads, stored.values())], self._app, given, may_raise=may_raise)
        if given is None and len(kinds) == len(roots) == 1:
            self._known[kinds[0]] = (roots[0], found)
        return found


def new_lineage(
    tracking_id: str,
    roots: Sequence[NewTask],
    bounds: Limits,
    blobs: Iterable[NewBlob] = (),
    on_end: NewTask | None = None,
) -> NewLineage:
    """Return a lineage with these limits.

    Raises:
        PayloadTooLarge: a blob is over ``blob_bytes_max``.
    """
    kept = tuple(blobs)
    for blob in kept:
        check_size(blob, bounds.blob_bytes_max)
    return NewLineage(
        tracking_id=tracking_id,
        roots=roots,
        max_spawn_depth=bounds.max_spawn_depth,
        max_tasks=bounds.max_tasks,
        max_fan_out=bounds.max_fan_out,
        lineage_seconds=bounds.lineage_seconds,
        retries_per_minute=bounds.retries_per_minute,
        max_shape=bounds.max_shape,
        max_cost=bounds.max_cost,
        blobs=kept,
        blob_bytes_max=bounds.lineage_blob_bytes_max,
        on_end=on_end,
        soft_cost=bounds.soft_cost,
        allow_shapes=bounds.allow_shapes,
    )
