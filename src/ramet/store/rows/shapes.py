"""How many keys of one shape a lineage spawned, for kinds with ``trap=True``: exact, counted with the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ramet.store.session import Session

Shape = tuple[str, str, str]
"""(tracking_id, kind, shape)."""


def counts(session: Session, wanted: Iterable[Shape]) -> dict[Shape, int]:
    """How many tasks of each shape were spawned; shapes not seen yet are absent."""
    by_kind: dict[tuple[str, str], set[str]] = {}
    for tracking_id, kind, shape in wanted:
        by_kind.setdefault((tracking_id, kind), set()).add(shape)
    found: dict[Shape, int] = {}
    for (tracking_id, kind), shapes in by_kind.items():
        listed, values = session.members(sorted(shapes))
        for shape, count in session.rows(
            f"SELECT shape, count FROM ramet_shapes WHERE tracking_id = ? AND kind = ? AND shape IN {listed}",
            (tracking_id, kind, values),
        ):
            found[(tracking_id, kind, shape)] = count
    return found


def add(session: Session, spawned: Mapping[Shape, int]) -> None:
    """Book new tasks. The lineage's row, which the guard's caller holds, keeps others from counting meanwhile."""
    session.run_many(
        "INSERT INTO ramet_shapes (tracking_id, kind, shape, count) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (tracking_id, kind, shape) DO UPDATE SET count = ramet_shapes.count + excluded.count",
        [(*name, count) for name, count in sorted(spawned.items())],
    )
