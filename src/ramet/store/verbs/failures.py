"""Errors: those that were seen before (DESIGN §6), and settlements that turn out to be one."""

from __future__ import annotations

from ramet.model.task import events as ev
from ramet.model.task.retry import ErrorClass, fingerprint
from ramet.model.task.task import Standing
from ramet.model.text import REASON_CHARACTERS_MAX, storable
from ramet.store.errors import StoreError, StoreRefused
from ramet.store.requests import Settlement
from ramet.store.session import Session, StatementFailed, StatementTimedOut
from ramet.store.verbs.spawn import load_parents

NOT_STORED = "what it asked for cannot be stored"
UNSETTLEABLE = (StoreRefused, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
"""What settling raises because of one settlement: the whole transaction was refused, or a value is not what it is
said to be."""


def repeated_failure(session: Session, standing: Standing, print_: str) -> str | None:
    """Id of the task whose final failure makes this error a repetition (DESIGN §6), or None.

    That is this very task, before a person revived it, or an ancestor; never a task of another lineage. A lineage has
    no second task of the same kind and key (promise I4).
    """
    [(task_id, _, chain, _)] = load_parents(session, [standing.seq]).values()
    before_revive = session.rows(
        "SELECT 1 FROM ramet_transitions WHERE seq = ? AND name = 'revive' AND fingerprint = ? LIMIT 1",
        (standing.seq, print_),
    )
    if before_revive:
        return task_id
    if chain:
        listed, values = session.members(chain)
        found = session.rows(
            f"SELECT id FROM ramet_tasks WHERE id IN {listed} AND state || '' = 'failed' AND fingerprint = ? LIMIT 1",
            (values, print_),
        )
        if found:
            return str(found[0][0])
    return None


def failed(item: Settlement, what: str, error: Exception) -> Settlement:
    """The settlement as the error that it turned out to be; nothing that it asked for is kept."""
    text = str(error) if isinstance(error, StatementFailed | StoreError) else f"{type(error).__name__}: {error}"
    error_class = ErrorClass.TRANSIENT if isinstance(error, StatementTimedOut) else ErrorClass.UNCLASSIFIED
    message = storable(f"{what}: {text}", REASON_CHARACTERS_MAX)
    event = ev.Error(item.fence, message, error_class.value, fingerprint(what, text), jitter=1.0)
    return Settlement(item.seq, item.fence, event)
