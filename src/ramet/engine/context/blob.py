"""The reference to a large value. A module of its own, imported late: the engine needs pydantic's models only here."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_serializer

from ramet.engine.context.data import check_size, taken_blobs
from ramet.engine.context.ports import HasClaim
from ramet.model.values import REFERENCE, NewBlob, blob_of, value_of
from ramet.store.answers import SettleResult
from ramet.store.errors import StoreError
from ramet.store.store import Store


class Blob(BaseModel):
    """A reference to a large value: in JSON ``{"$blob": "<sha256>", "size": n}``, wherever a payload, a state or a
    result holds one. Use it as the type of a payload's field; read it with ``ctx.read_blob`` or ``client.blob``.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="forbid")

    sha256: str = Field(alias=REFERENCE, pattern="^[0-9a-f]{64}$")
    size: int = Field(ge=0)
    """Bytes."""
    form: Literal["bytes", "text", "json"] = "bytes"
    """Form in which it is read."""
    _new: NewBlob | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, content: bytes | str | Any) -> Self:
        """Return a blob that is only in memory: submit it in a payload, which stores it with the lineage.

        Args:
            content: bytes, text, or any other JSON value.
        """
        new, form = blob_of(content)
        blob = cls(sha256=new.sha256, size=len(new.content), form=cast(Any, form))
        blob._new = new
        return blob

    @model_serializer
    def _reference(self) -> dict[str, Any]:
        if self._new is not None:
            taken = taken_blobs.get()
            if taken is None:
                raise ValueError("this blob is only in memory: in a handler, `await ctx.blob(content)` stores it first")
            taken[self.sha256] = self._new
        return self.reference

    @property
    def reference(self) -> dict[str, Any]:
        """JSON object that refers to it."""
        more = {} if self.form == "bytes" else {"form": self.form}
        return {REFERENCE: self.sha256, "size": self.size, **more}


async def put_blob(context: HasClaim, content: bytes | str | Any) -> Blob:
    """Store a blob under a claim, now."""
    new, form = blob_of(content)
    limits = context._kind.limits
    check_size(new, limits.blob_bytes_max)
    work = context._work
    row = await context._desk.ask(
        "put_blob",
        work.seq,
        work.fence,
        context._lease_seconds,
        new.sha256,
        base64.b64encode(new.content).decode(),
        limits.lineage_blob_bytes_max,
    )
    context._accepted(SettleResult(*row))
    return Blob(sha256=new.sha256, size=len(new.content), form=cast(Any, form))


async def read_blob(store: Store, tracking_id: str, reference: Blob | Mapping[str, Any]) -> Any:
    """Return the value that a blob was made of: bytes, text or a JSON value.

    Raises:
        LookupError: the lineage has no such blob (any more).
        StoreError: the content is not what its name says: the database is damaged.
    """
    blob = reference if isinstance(reference, Blob) else Blob.model_validate(dict(reference))
    if blob._new is not None:
        return value_of(blob._new.content, blob.form)
    content = await store.blob(tracking_id, blob.sha256)
    if content is None:
        raise LookupError(f"lineage {tracking_id} has no blob {blob.sha256}")
    if hashlib.sha256(content).hexdigest() != blob.sha256:
        raise StoreError(f"blob {blob.sha256} of lineage {tracking_id} is damaged: restore the database")
    return value_of(content, blob.form)
