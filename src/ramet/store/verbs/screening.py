"""What the guard must know about wanted tasks beyond their own lineage's keys: who holds them elsewhere, the stop list,
how many of their shape there are. A batch in which nobody asks for any of it pays one look at a counter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ramet.model.lineage.guard import Elsewhere, Facts
from ramet.model.task.task import NewTask
from ramet.store.rows import deny_list, shapes, uniqueness
from ramet.store.session import Session


class Screen:
    """Facts about one batch of wanted tasks, brought up to date with every one that is granted."""

    def __init__(self, session: Session, wanted: Iterable[tuple[str, NewTask]]) -> None:
        """Read what concerns the wanted tasks, each with the tracking_id of its parent."""
        wanted = list(wanted)
        self._stops = deny_list.concerning(session, (new for _, new in wanted))
        self._elsewhere: dict[tuple[str, str], Elsewhere] = {}
        self._shapes: dict[shapes.Shape, int] = {}
        self._spawned: Counter[shapes.Shape] = Counter()
        unique = {(new.unique_kind, new.key) for _, new in wanted if new.unique_seconds is not None}
        if unique:
            self._elsewhere = uniqueness.holders(session, unique)
        trapped = {(of, new.kind, new.shape) for of, new in wanted if new.shape is not None}
        if trapped:
            self._shapes = shapes.counts(session, trapped)
        self.idle = not (unique or trapped or self._stops)
        """True when none of the wanted tasks is concerned: then nothing need be asked or told."""

    def look(self, facts: Facts, new: NewTask) -> Facts:
        """The facts with what concerns this task added."""
        stop = self._stops.covers(new) if self._stops else None
        shape = (facts.lineage.tracking_id, new.kind, new.shape or "")
        return facts._replace(
            elsewhere=self._elsewhere.get((new.unique_kind, new.key)) if new.unique_seconds is not None else None,
            stopped_by=None if stop is None else str(stop),
            shape=new.shape,
            shape_count=self._shapes.get(shape, 0),
        )

    def granted(self, tracking_id: str, new: NewTask) -> None:
        """A task of the batch will be created: those after it must see it."""
        if new.unique_seconds is not None:
            self._elsewhere[(new.unique_kind, new.key)] = Elsewhere(new.id, tracking_id, None, None)
        if new.shape is not None:
            shape = (tracking_id, new.kind, new.shape)
            self._shapes[shape] = self._shapes.get(shape, 0) + 1
            self._spawned[shape] += 1

    def save(self, session: Session) -> None:
        """Count what was granted, in the transaction that creates it."""
        shapes.add(session, self._spawned)
