"""Data of handlers and claims that commits at once: statements on own tables, transactions, blobs."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from ramet.engine.context.money import log_booked
from ramet.engine.context.ports import HasClaim
from ramet.model.money import ActualCost, BookedCost, amount_of
from ramet.model.task import events as ev
from ramet.model.values import (
    INTEGER_BITS_MAX,
    INTEGER_DIGITS_MAX,
    NewBlob,
    check_text,
    integer,
)
from ramet.store.answers import SettleResult, StatementResult
from ramet.store.errors import TransactionRefused
from ramet.store.requests import Settlement, Statement
from ramet.store.store import Store

_CHANGES = r"(?:INSERT|UPDATE|DELETE|REPLACE)\b(?!\s+OR\s+ROLLBACK)"
_WRITES_ROWS = re.compile(rf"\s*(?:WITH\b|{_CHANGES})", re.IGNORECASE)
_READS_OR_WRITES_ROWS = re.compile(rf"\s*(?:WITH\b|SELECT\b|{_CHANGES})", re.IGNORECASE)


_SMALL, _SAFE = frozenset({type(None), bool, float, bytes}), 1 << 63
"""Types whose every value can be stored, and whole numbers of which this is plain: most values are of these."""


def check_own(verb: str, sql: str, parameters: Sequence[Any], *, reads: bool = False) -> tuple[Any, ...]:
    """Return the parameters of a statement that may run; ``reads`` lets SELECT through as well.

    Raises:
        ValueError: the statement touches the engine's own tables, or is of another sort; or a text cannot be stored.
        TypeError: a parameter is not None, a boolean, number, text or bytes.
    """
    if "ramet_" in sql.lower():
        raise ValueError(f"{verb} is for your own tables: tables named ramet_* belong to the engine")
    # BEGIN, COMMIT and their like would end the transaction of everybody who settles at the same time.
    if not (_READS_OR_WRITES_ROWS if reads else _WRITES_ROWS).match(sql):
        sorts = "a SELECT, INSERT, UPDATE, DELETE or REPLACE" if reads else "an INSERT, UPDATE, DELETE or REPLACE"
        raise ValueError(f"{verb} takes {sorts} (not OR ROLLBACK), by itself")
    check_text(f"the statement of {verb}", sql)
    for value in parameters:
        kind = type(value)
        if kind in _SMALL or (value.isprintable() if kind is str else kind is int and -_SAFE < value < _SAFE):
            continue
        # A value that a database driver would adapt in this process cannot travel to the one that writes.
        if not isinstance(value, str | bytes | int | float | None):
            raise TypeError(f"{verb} cannot store a {type(value).__name__}: give text, bytes, a number or None")
        if isinstance(value, str):
            check_text(f"a parameter of {verb}", value)
        elif isinstance(value, int) and value.bit_length() > INTEGER_BITS_MAX:
            raise ValueError(f"a parameter of {verb} has over {INTEGER_DIGITS_MAX} digits: give text instead")
    return tuple(parameters)


class Reserved(Protocol):
    """A reservation, of an async or a plain handler."""

    id: str


OwnStatements = Iterable[Statement | tuple[str, Sequence[Any]]]
Actuals = Iterable[tuple[Reserved, int]]
"""Reservations, with what their calls cost."""


async def run_transaction(context: HasClaim, statements: OwnStatements, settle: Actuals = ()) -> list[StatementResult]:
    """Check the statements here, run them where the database is written."""
    wanted = [item if isinstance(item, Statement) else Statement(*item) for item in statements]
    if not wanted:
        raise ValueError("ctx.transaction needs at least one statement")
    rows = []
    for item in wanted:
        parameters = check_own("ctx.transaction", item.sql, item.parameters, reads=True)
        expect = None if item.expect_rows is None else integer("expect_rows", item.expect_rows)
        rows.append([item.sql, [_out(value) for value in parameters], expect])
    actuals = [(reservation.id, amount_of(actual, "the actual cost is")) for reservation, actual in settle]
    work = context._work
    settled, ran, refused, booked = await context._desk.ask(
        "transact", work.seq, work.fence, context._lease_seconds, rows, actuals
    )
    if refused is not None:
        raise TransactionRefused(*refused)
    context._accepted(SettleResult(*settled))
    for (_, amount), one in zip(actuals, booked, strict=True):
        log_booked(work.id, amount, BookedCost(*one))
    return [StatementResult(count, tuple(tuple(_in(value) for value in row) for row in found)) for count, found in ran]


async def transact(  # noqa: PLR0917 - an errand has no names
    store: Store, seq: int, fence: int, lease_seconds: float, rows: Sequence[Any], actuals: Sequence[Any]
) -> list[Any]:
    """Return the errand of :func:`run_transaction`: the answer, what ran, why it was refused, and what is booked."""
    statements = [Statement(sql, tuple(_in(value) for value in values), expect) for sql, values, expect in rows]
    settlement = Settlement(seq, fence, ev.Checkpoint(fence, lease_seconds))
    try:
        settled, ran, booked = await store.transact(settlement, statements, [ActualCost(*one) for one in actuals])
    except TransactionRefused as refused:
        return [None, [], [refused.statement, str(refused)], []]
    found = [[item.row_count, [[_out(value) for value in row] for row in item.rows]] for item in ran]
    return [list(settled), found, None, [list(one) for one in booked]]


def _out(value: Any) -> Any:
    """Return a value of a row as a JSON value; bytes become a list of one, which no value is."""
    return [base64.b64encode(value).decode()] if isinstance(value, bytes) else value


def _in(value: Any) -> Any:
    return base64.b64decode(value[0]) if isinstance(value, list) else value


taken_blobs: ContextVar[dict[str, NewBlob] | None] = ContextVar("ramet_blobs_taken", default=None)


class BlobTooLarge(ValueError):
    """Raised by ``ctx.blob`` and submits: one blob is over ``Limits.blob_bytes_max``.

    Keep such files elsewhere and pass their place.
    """


@contextmanager
def blobs_taken() -> Iterator[dict[str, NewBlob]]:
    """Everything in memory that is written as a reference within the block, by its name."""
    taken: dict[str, NewBlob] = {}
    token = taken_blobs.set(taken)
    try:
        yield taken
    finally:
        taken_blobs.reset(token)


def check_size(blob: NewBlob, bytes_max: int) -> None:
    """Refuse one that is over the limit.

    Raises:
        BlobTooLarge: it is.
    """
    if len(blob.content) > bytes_max:
        raise BlobTooLarge(
            f"a blob of {len(blob.content)} bytes is over {bytes_max}: raise Limits(blob_bytes_max=...), "
            "or keep the file elsewhere and pass its place"
        )


async def keep_blob(  # noqa: PLR0917 - an errand has no names
    store: Store, seq: int, fence: int, lease_seconds: float, sha256: str, content: str, bytes_max: int
) -> list[Any]:
    """Return the errand of :func:`put_blob`."""
    blob = NewBlob(sha256, base64.b64decode(content))
    return list(await store.put_blob(Settlement(seq, fence, ev.Progress(fence, lease_seconds)), blob, bytes_max))
