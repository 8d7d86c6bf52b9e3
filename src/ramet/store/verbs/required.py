"""Spawns without which a handler's work is not done: one that is refused fails the task that asked for it (I8).

The settlement becomes the permanent error ``spawn_refused`` and nothing else of it is kept, as where the database
cannot take what it asked for. The refusal itself is stored, as every other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ramet.model.keys import shown_key
from ramet.model.lineage.guard import Blocked, BlockReason
from ramet.model.task import events as ev
from ramet.model.task.retry import ErrorClass, fingerprint
from ramet.model.task.task import NewTask
from ramet.model.text import REASON_CHARACTERS_MAX, storable
from ramet.store.answers import Settled, SpawnAnswer
from ramet.store.requests import Settlement
from ramet.store.rows.blocks import Parent, Refusal, store_blocks
from ramet.store.rows.lineages import lock_lineages
from ramet.store.session import Session

SPAWN_REFUSED = "spawn_refused"
THERE = frozenset({BlockReason.IN_FLIGHT, BlockReason.DONE})
"""Refusals that a required spawn may meet: the work is done, or somebody does it."""


class RequiredRefused(Exception):
    """Raised inside a batch of settlements: some required spawns were refused. By place in the batch, which."""

    def __init__(self, refusals: Mapping[int, Sequence[Refusal]]) -> None:
        super().__init__(f"required spawns of {len(refusals)} settlements were refused")
        self.refusals = refusals

    def replaced(self, batch: Sequence[Settlement]) -> list[Settlement]:
        """The batch, with these settlements as the errors that they turned out to be."""
        return [_failed(item, self.refusals[at]) if at in self.refusals else item for at, item in enumerate(batch)]

    def record(self, session: Session, answers: Sequence[Settled]) -> None:
        """Store the refusals of those whose error was accepted, in the transaction that settles it."""
        found = [each for at, several in self.refusals.items() if answers[at].refused is None for each in several]
        if found:
            lineages = lock_lineages(session, {each.parent.tracking_id for each in found})
            store_blocks(session, found, lineages)


def check_required(
    places: Iterable[int],
    wanted: Iterable[tuple[Parent, Sequence[NewTask]]],
    told: Iterable[Sequence[SpawnAnswer]],
) -> None:
    """Look at the guard's answers to a batch.

    Args:
        places: of the settlements that spawn, in the batch.
        wanted: who asked for what.
        told: the guard's answers.

    Raises:
        RequiredRefused: a required spawn is among the refused ones.
    """
    found: dict[int, list[Refusal]] = defaultdict(list)
    for at, (parent, news), answers in zip(places, wanted, told, strict=True):
        for new, answer in zip(news, answers, strict=True):
            if new.required and answer.reason is not None and answer.reason not in THERE:
                found[at].append(Refusal(parent, new, Blocked(answer.reason, answer.detail, answer.winner)))
    if found:
        raise RequiredRefused(found)


def _failed(item: Settlement, refusals: Sequence[Refusal]) -> Settlement:
    _, new, blocked, _ = refusals[0]
    more = f" (and {len(refusals) - 1} more)" if len(refusals) > 1 else ""
    text = f"required spawn of {new.kind} {shown_key(new.key)!r} refused, {blocked.reason}: {blocked.detail}{more}"
    event = ev.Error(
        item.fence,
        storable(f"{SPAWN_REFUSED}: {text}", REASON_CHARACTERS_MAX),
        ErrorClass.PERMANENT.value,
        fingerprint(SPAWN_REFUSED, text),
        jitter=0.0,
        reason=f"{SPAWN_REFUSED}: {blocked.reason}",
    )
    return Settlement(item.seq, item.fence, event)
