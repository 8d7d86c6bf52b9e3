"""What a claim may take of queues and kinds: pauses, and limits of concurrency (DESIGN §10)."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.flow.queues import Usage
from ramet.model.task.task import Standing
from ramet.store.session import Session
from ramet.store.verbs.resources import taken

_LIMITED = (
    "SELECT 'queue', name, CASE WHEN paused_at IS NULL THEN 0 ELSE 1 END, concurrency FROM ramet_queues "
    "WHERE paused_at IS NOT NULL OR concurrency IS NOT NULL "
    "UNION ALL SELECT 'kind', name, 0, concurrency FROM ramet_kinds WHERE concurrency IS NOT NULL"
)


class Bounds:
    """Queues and kinds that one claim may take from, and how much of those that are limited."""

    def __init__(self, queues: Sequence[str], kinds: Sequence[str], used: Usage | None) -> None:
        self.queues = queues
        self.kinds = kinds
        self.used = used
        """What is held now; None when nothing that the claim asks for is limited."""
        self._queue_room: dict[str, int] = {}
        self._kind_room: dict[str, int] = {}

    def limit(self, queues: dict[str, int], kinds: dict[str, int]) -> None:
        """Set how many more claims each limited queue and kind has room for; those without any are left out."""
        self._queue_room, self._kind_room = queues, kinds
        self.queues = [name for name in self.queues if queues.get(name, 1) > 0]
        self.kinds = [name for name in self.kinds if kinds.get(name, 1) > 0]

    def accepted(self, candidates: Sequence[Standing], limit: int) -> Sequence[Standing]:
        """The first of the candidates that fit into every room."""
        if not self._queue_room and not self._kind_room:
            return candidates[:limit]
        queues, kinds = dict(self._queue_room), dict(self._kind_room)
        chosen: list[Standing] = []
        for standing in candidates:
            if len(chosen) == limit:
                break
            if queues.get(standing.queue, 1) <= 0 or kinds.get(standing.kind, 1) <= 0:
                continue
            _book(queues, kinds, standing)
            chosen.append(standing)
        return chosen

    def take(self, standings: Sequence[Standing]) -> None:
        """These were claimed."""
        for standing in standings:
            _book(self._queue_room, self._kind_room, standing)


def _book(queues: dict[str, int], kinds: dict[str, int], standing: Standing) -> None:
    if standing.queue in queues:
        queues[standing.queue] -= 1
    if standing.kind in kinds:
        kinds[standing.kind] -= 1


def bounds_of(session: Session, queues: Sequence[str], kinds: Sequence[str]) -> Bounds:
    """The bounds of a claim. Where nothing is limited or paused it costs one look at two tables of a few rows."""
    found = session.rows(_LIMITED)
    if not found:
        return Bounds(queues, kinds, None)
    paused = {name for what, name, is_paused, _ in found if what == "queue" and is_paused}
    limits = {(what, name): most for what, name, _, most in found if most is not None}
    used = taken(session) if limits else None
    bounds = Bounds([name for name in queues if name not in paused], kinds, used)
    if used is not None:
        bounds.limit(
            {name: most - used.queues.get(name, 0) for (what, name), most in limits.items() if what == "queue"},
            {name: most - used.kinds.get(name, 0) for (what, name), most in limits.items() if what == "kind"},
        )
    return bounds
