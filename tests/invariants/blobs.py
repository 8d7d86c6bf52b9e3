"""What must be true of the blobs in any database at rest, checked from the rows alone."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection

from ramet.store.store import Store

REFERENCES = (
    "SELECT tracking_id, payload FROM ramet_tasks WHERE payload LIKE '%$blob%'",
    "SELECT tracking_id, result FROM ramet_tasks WHERE result LIKE '%$blob%'",
    "SELECT tracking_id, pipeline_state FROM ramet_checkpoints WHERE pipeline_state LIKE '%$blob%'",
)


async def blobs(store: Store, tracking_ids: Collection[str]) -> list[str]:
    """One line for everything that is wrong: each blob is what its name says, is counted, and is there when named."""
    found = []
    there: set[tuple[str, str]] = set()
    sums: Counter[str] = Counter()
    for tracking_id, sha256, size, content in await store.read(
        "SELECT tracking_id, sha256, size, content FROM ramet_blobs "
        "WHERE tracking_id NOT IN (SELECT tracking_id FROM ramet_lineages WHERE sweep < 0)"
    ):
        there.add((tracking_id, sha256))
        sums[tracking_id] += size
        if tracking_id not in tracking_ids:
            found.append(f"blob {sha256} is of lineage {tracking_id}, which is not there")
        if (hashlib.sha256(content).hexdigest(), len(content)) != (sha256, size):
            found.append(f"blob {sha256} of lineage {tracking_id} has other content than its name says")
    for tracking_id, counted in await store.read("SELECT tracking_id, blob_bytes FROM ramet_lineages WHERE sweep >= 0"):
        if counted != sums[tracking_id]:
            found.append(f"lineage {tracking_id} counts {counted} bytes of blobs, not {sums[tracking_id]}")
    for statement in REFERENCES:
        for tracking_id, text in await store.read(statement):
            for name in re.findall(r'"\$blob": ?"([0-9a-f]{64})"', text):
                if (tracking_id, name) not in there:
                    found.append(f"a row of lineage {tracking_id} names blob {name}, which is not there")
    return found
