"""What a handler commits at once under its claim's fence, beside its settlements: own statements, and blobs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ramet.model.blobs import NewBlob
from ramet.store.answers import Ran, Settled
from ramet.store.errors import TransactionRefused
from ramet.store.requests import Settlement, Statement
from ramet.store.rows.blobs import keep
from ramet.store.session import Session, StatementFailed
from ramet.store.verbs.settle import settle

_RETURNS_ROWS = re.compile(r"\s*SELECT\b|.*\bRETURNING\b", re.IGNORECASE | re.DOTALL)
_WITH = re.compile(r"\s*WITH\b", re.IGNORECASE)
_CHANGES_ROWS = re.compile(r"\b(?:INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)


def transact(session: Session, settlement: Settlement, statements: Sequence[Statement]) -> tuple[Settled, list[Ran]]:
    """Run the statements if the settlement (a checkpoint) is accepted: all of them, or none.

    Raises:
        TransactionRefused: a statement failed, or met another number of rows than it expected; undo everything.
    """
    [settled] = settle(session, [settlement])
    if settled.state != "processing":
        return settled, []
    return settled, [_run(session, at, statement) for at, statement in enumerate(statements)]


def _run(session: Session, at: int, statement: Statement) -> Ran:
    sql = statement.sql
    reads = _RETURNS_ROWS.match(sql) or not _CHANGES_ROWS.search(sql)
    try:
        with session.theirs():
            if reads:
                rows = session.rows(sql, statement.parameters)
                ran = Ran(len(rows), tuple(rows))
            elif _WITH.match(sql):
                # Drivers count the changes of plain statements only.
                ran = Ran(len(session.rows(f"{sql.rstrip().rstrip(';')} RETURNING 1", statement.parameters)))
            else:
                ran = Ran(session.run(sql, statement.parameters))
    except StatementFailed as error:
        raise TransactionRefused(at, f"statement {at}: {error}") from error
    if statement.expect_rows is not None and ran.row_count != statement.expect_rows:
        raise TransactionRefused(at, f"statement {at} met {ran.row_count} rows, not {statement.expect_rows}")
    return ran


def put_blob(session: Session, settlement: Settlement, blob: NewBlob, bytes_max: int) -> Settled:
    """Keep a blob in the lineage of a claim, if the settlement (some progress) is accepted."""
    [settled] = settle(session, [settlement])
    if settled.state == "processing":
        [(tracking_id,)] = session.rows("SELECT tracking_id FROM ramet_live WHERE seq = ?", (settlement.seq,))
        keep(session, tracking_id, [blob], bytes_max)
    return settled
