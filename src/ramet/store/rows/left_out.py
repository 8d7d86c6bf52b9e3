"""Count on a lineage's row the spawns that were wanted and refused, in the transactions that change it (I8,
docs/decisions/0050).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from ramet.store.session import Session


def text_of(counts: Mapping[str, int]) -> str:
    """Counts by reason as the lineage row keeps them: empty text for none, so that SQL finds clean ones."""
    kept = {reason: count for reason, count in sorted(counts.items()) if count > 0}
    return json.dumps(kept, separators=(",", ":")) if kept else ""


def counts_of(text: str) -> Counter[str]:
    """The inverse of :func:`text_of`."""
    return Counter(json.loads(text)) if text else Counter()


def take_back(session: Session, tracking_id: str, text: str, wanted: Iterable[tuple[str, str]]) -> str:
    """Tasks of these (kind, key) exist now: what was refused for them is left out no more.

    Args:
        text: what the lineage's row has, which the caller holds.

    Returns:
        What it has from now on.
    """
    keys: dict[str, set[str]] = {}
    for kind, key in wanted:
        keys.setdefault(kind, set()).add(key)
    found: list[tuple[str, str, str]] = []
    for kind, several in sorted(keys.items()):
        listed, values = session.members(sorted(several))
        found += session.rows(
            "SELECT kind, key, reason FROM ramet_blocks WHERE tracking_id = ? AND kind = ? "
            f"AND key IN {listed} AND left_out = 1",
            (tracking_id, kind, values),
        )
    if not found:
        return text
    session.run_many(
        "UPDATE ramet_blocks SET left_out = 0 WHERE tracking_id = ? AND kind = ? AND key = ? AND reason = ?",
        [(tracking_id, *row) for row in found],
    )
    counts = counts_of(text)
    counts.subtract(reason for _, _, reason in found)
    after = text_of(counts)
    session.run("UPDATE ramet_lineages SET left_out = ? WHERE tracking_id = ?", (after, tracking_id))
    return after
