"""Blobs: large values of a lineage, each once, bounded in all, pruned with it (DESIGN §8)."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.values import NewBlob
from ramet.store.errors import StoreError
from ramet.store.requests import NewLineage
from ramet.store.session import Session


def put_submitted(session: Session, lineages: Sequence[NewLineage]) -> None:
    """Keep what came with the roots of these lineages, in the transaction that creates them."""
    for item in lineages:
        if item.blobs and session.rows("SELECT 1 FROM ramet_lineages WHERE tracking_id = ?", (item.tracking_id,)):
            keep(session, item.tracking_id, item.blobs, item.blob_bytes_max)


def keep(session: Session, tracking_id: str, blobs: Sequence[NewBlob], bytes_max: int) -> None:
    """Keep blobs in a lineage, each once.

    Raises:
        StoreError: the lineage's blobs would be over ``bytes_max`` together; undo everything.
    """
    for blob in blobs:
        size = len(blob.content)
        new = session.run(
            "INSERT INTO ramet_blobs (tracking_id, sha256, size, content, created_at) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (tracking_id, sha256) DO NOTHING",
            (tracking_id, blob.sha256, size, blob.content, session.now),
        )
        if not new:
            continue
        # One guarded statement: under any concurrency the sum never passes the bound by even a byte.
        room = session.run(
            "UPDATE ramet_lineages SET blob_bytes = blob_bytes + ? WHERE tracking_id = ? AND blob_bytes + ? <= ?",
            (size, tracking_id, size, bytes_max),
        )
        if not room:
            raise StoreError(
                f"the blobs of lineage {tracking_id} would be over {bytes_max} bytes with {size} more: "
                "raise Limits(lineage_blob_bytes_max=...) or keep large files elsewhere"
            )


def read_blob(session: Session, tracking_id: str, sha256: str) -> bytes | None:
    """Return the content of one of a lineage's blobs, or None."""
    rows = session.rows("SELECT content FROM ramet_blobs WHERE tracking_id = ? AND sha256 = ?", (tracking_id, sha256))
    return bytes(rows[0][0]) if rows else None
