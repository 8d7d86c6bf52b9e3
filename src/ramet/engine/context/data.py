"""What handlers and claims do at once with data of their own: blobs, and transactions on their own tables."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from ramet.engine.base.own_tables import check_own
from ramet.engine.base.ports import HasClaim
from ramet.engine.context.blobs import Blob, put_blob, read_blob
from ramet.model.numbers import integer
from ramet.model.task import events as ev
from ramet.store.answers import Ran, Settled
from ramet.store.base import Store
from ramet.store.errors import TransactionRefused
from ramet.store.requests import Settlement, Statement


class AsyncDomain:
    """The verbs, awaited."""

    async def blob(self, content: bytes | str | Any) -> Blob:
        """Store a large value in this lineage, now; returns the small reference to put into payloads and results.

        The same content is stored once. One that nothing refers to goes when its lineage is pruned, as all do.

        Raises:
            BlobTooLarge: it is over ``Limits.blob_bytes_max``.
            StoreError: the lineage's blobs would be over ``Limits.lineage_blob_bytes_max`` together.
            ClaimLost: the claim is not this handler's any more.
        """
        return await put_blob(_base(self), content)

    async def read_blob(self, reference: Blob | Mapping[str, Any]) -> Any:
        """What a blob of this lineage was made of: bytes, text or a JSON value.

        Raises:
            LookupError: there is no such blob in this lineage.
        """
        base = _base(self)
        return await read_blob(base.client.store, base.tracking_id, reference)

    async def transaction(self, statements: Iterable[Statement | tuple[str, Sequence[Any]]]) -> list[Ran]:
        """Run statements on your own tables now, all or none, under the claim's fence: one transaction.

        For rows that must be read and changed together before the handler goes on; what can wait goes into ``write``.
        It is committed when this returns and stays so when the handler fails later, so make it safe to repeat: give
        ``expect_rows`` to a statement whose condition must still hold. It counts as progress.

        Args:
            statements: SELECT, INSERT, UPDATE, DELETE or REPLACE, with ``?`` for parameters.

        Raises:
            TransactionRefused: a statement failed, or met another number of rows than it expects; nothing was kept.
            ClaimLost: the claim is not this handler's any more; nothing was kept.
            ValueError, TypeError: a statement or parameter that cannot be run here.
        """
        return await run_transaction(_base(self), statements)

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a SELECT on your own tables, outside of any transaction; ``?`` stands for parameters."""
        return await _base(self).client.store.read(sql, parameters)


class SyncDomain:
    """The verbs for plain handlers and programs."""

    def blob(self, content: bytes | str | Any) -> Blob:
        """See :meth:`Context.blob`."""
        blob: Blob = cast(Any, self)._wait_for(put_blob(_base(self), content))
        return blob

    def read_blob(self, reference: Blob | Mapping[str, Any]) -> Any:
        """See :meth:`Context.read_blob`."""
        base = _base(self)
        return cast(Any, self)._wait_for(read_blob(base.client.store, base.tracking_id, reference))

    def transaction(self, statements: Iterable[Statement | tuple[str, Sequence[Any]]]) -> list[Ran]:
        """See :meth:`Context.transaction`."""
        ran: list[Ran] = cast(Any, self)._wait_for(run_transaction(_base(self), statements))
        return ran

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See :meth:`Context.read`."""
        rows: list[tuple[Any, ...]] = cast(Any, self)._wait_for(_base(self).client.store.read(sql, parameters))
        return rows


def _base(verbs: object) -> HasClaim:
    return cast(HasClaim, verbs)


async def run_transaction(context: HasClaim, statements: Iterable[Statement | tuple[str, Sequence[Any]]]) -> list[Ran]:
    """Check the statements here, run them where the database is written."""
    wanted = [item if isinstance(item, Statement) else Statement(*item) for item in statements]
    if not wanted:
        raise ValueError("ctx.transaction needs at least one statement")
    rows = []
    for item in wanted:
        parameters = check_own("ctx.transaction", item.sql, item.parameters, reads=True)
        expect = None if item.expect_rows is None else integer("expect_rows", item.expect_rows)
        rows.append([item.sql, [_out(value) for value in parameters], expect])
    work = context._work
    settled, ran, refused = await context._desk.ask("transact", work.seq, work.fence, context._lease_seconds, rows)
    if refused is not None:
        raise TransactionRefused(*refused)
    context._accepted(Settled(*settled))
    return [Ran(count, tuple(tuple(_in(value) for value in row) for row in found)) for count, found in ran]


async def transact(store: Store, seq: int, fence: int, lease_seconds: float, rows: Sequence[Any]) -> list[Any]:
    """The errand of :func:`run_transaction`: the answer, what ran, and why it was refused."""
    statements = [Statement(sql, tuple(_in(value) for value in values), expect) for sql, values, expect in rows]
    try:
        settled, ran = await store.transact(Settlement(seq, fence, ev.Checkpoint(fence, lease_seconds)), statements)
    except TransactionRefused as refused:
        return [None, [], [refused.statement, str(refused)]]
    return [
        list(settled),
        [[item.row_count, [[_out(value) for value in row] for row in item.rows]] for item in ran],
        None,
    ]


def _out(value: Any) -> Any:
    """A value of a row as a JSON value; bytes become a list of one, which no value is."""
    return [base64.b64encode(value).decode()] if isinstance(value, bytes) else value


def _in(value: Any) -> Any:
    return base64.b64decode(value[0]) if isinstance(value, list) else value
