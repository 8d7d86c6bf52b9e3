"""A worker settles many ends at once, but of tasks on paths no more than one transaction may look behind."""

from __future__ import annotations

from ramet.engine.base.work import Work
from ramet.engine.running.settle_batch import SETTLE_BATCH, SETTLE_BATCH_ON_PATHS, settled_together
from ramet.model.task import events as ev
from ramet.store.requests import Settlement
from ramet.store.session import LOOKS_MAX


def in_hand(seq: int, *, on_path: bool) -> Work:
    return Work._make([seq, *[None] * (len(Work._fields) - 1)])._replace(path='[["doc1"]]' if on_path else None)


def outcomes(count: int) -> list[Settlement]:
    return [Settlement(seq, 1, ev.Complete(1)) for seq in range(count)]


def test_tasks_without_a_path_fill_a_batch() -> None:
    many = outcomes(SETTLE_BATCH + 5)
    works = {item.seq: in_hand(item.seq, on_path=False) for item in many}
    assert settled_together(many, works) == many[:SETTLE_BATCH]
    assert settled_together(many[:3], works) == many[:3]


def test_tasks_on_paths_are_as_many_as_a_transaction_looks_at() -> None:
    assert SETTLE_BATCH_ON_PATHS <= LOOKS_MAX
    many = outcomes(SETTLE_BATCH)
    works = {item.seq: in_hand(item.seq, on_path=item.seq % 3 != 0) for item in many}
    batch = settled_together(many, works)
    assert sum(item.seq % 3 != 0 for item in batch) == SETTLE_BATCH_ON_PATHS
    assert many[len(batch)].seq % 3 != 0
    assert batch == many[: len(batch)]


def test_what_is_not_in_hand_any_more_counts_for_nothing() -> None:
    many = outcomes(SETTLE_BATCH)
    assert settled_together(many, {}) == many
