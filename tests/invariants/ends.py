"""What must be true of the list of tasks that did not succeed, checked from the rows alone."""

from __future__ import annotations

from collections.abc import Collection

from ramet.store.base import Store

_LISTED = "SELECT seq, tracking_id, state, spawn_depth FROM ramet_unsuccessful"
_ENDED = "SELECT seq, tracking_id, state, spawn_depth FROM ramet_tasks WHERE state IS NOT NULL AND state <> 'success'"


async def ends(store: Store, tracking_ids: Collection[str]) -> list[str]:
    """One line for every task that is listed and should not be, or the other way."""
    listed = {row for row in await store.read(_LISTED) if row[1] in tracking_ids}
    ended = {row for row in await store.read(_ENDED) if row[1] in tracking_ids}
    return [
        f"task {row[0]} is {'' if row in ended else 'not '}{row[2]}, and the list of those says otherwise"
        for row in sorted(listed ^ ended)
    ]
