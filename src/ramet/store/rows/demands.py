"""How often somebody wanted a key: counted where a refusal is stored, read by the monitor.

In an honest graph many parents link to one key, and each is refused once: as in flight, done or elsewhere, as a link
back to an ancestor, as too deep. So a refusal counts when the same parent asks again, whatever the reason
(docs/decisions/0028). To know that without a row per link, a block remembers three parents: the
first, the last, and one that is watched and replaced whenever the count reaches a power of two. A parent that asks
again and again, in whatever circle with others, is the watched one after at most twice as many refusals as the circle
has parents (R. P. Brent's way to find a cycle), and is counted from then on once a round; one that asks once never is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ramet.model.alerts.rules import LINKS, KindDemand
from ramet.model.lineage.guard import BlockReason
from ramet.store.session import Session

DEMANDED = (
    # Money that a task asks for is no wish for work.
    f"demands = ramet_blocks.demands + CASE WHEN excluded.reason = '{BlockReason.RESERVE.value}' THEN 0 "
    # What one settlement asks for several times is one wish.
    "WHEN ramet_blocks.last_parent = excluded.last_parent AND ramet_blocks.last_at = excluded.last_at THEN 0 "
    "WHEN excluded.last_parent IN (ramet_blocks.first_parent, ramet_blocks.last_parent, ramet_blocks.watched_parent) "
    "THEN 1 ELSE 0 END, "
    "watched_parent = CASE WHEN ((ramet_blocks.count + 1) & ramet_blocks.count) = 0 THEN excluded.last_parent "
    "ELSE ramet_blocks.watched_parent END"
)
"""The part of a block's upsert that counts demands."""


def demands_of(session: Session, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[KindDemand]]:
    """All demands for each (tracking_id, key), by kind."""
    keys: dict[str, set[str]] = defaultdict(set)
    for tracking_id, key in pairs:
        keys[tracking_id].add(key)
    found: dict[tuple[str, str], list[KindDemand]] = {}
    for tracking_id, wanted in sorted(keys.items()):
        for one in _of_lineage(session, tracking_id, wanted):
            found.setdefault((tracking_id, one.key), []).append(one)
    return found


def _of_lineage(session: Session, tracking_id: str, keys: set[str]) -> list[KindDemand]:
    listed, values = session.members(sorted(keys))
    tasks = session.rows(
        "SELECT i.key, i.kind, t.id, t.parent_id, t.created_at, p.key, (SELECT COUNT(*) FROM ramet_transitions r "
        "WHERE r.seq = i.seq AND r.name = 'revive') FROM ramet_identities i JOIN ramet_tasks t ON t.seq = i.seq "
        f"LEFT JOIN ramet_tasks p ON p.id = t.parent_id WHERE i.tracking_id = ? AND i.key IN {listed}",
        (tracking_id, values),
    )
    demands = {
        (key, kind): KindDemand(kind, key, 1, parent_key == key, {}, revived)
        for key, kind, _, _, _, parent_key, revived in tasks
    }
    granted = {task_id: (parent_id, created_at) for _, _, task_id, parent_id, created_at, _, _ in tasks}
    blocks = session.rows(
        # The primary key begins with the lineage too, and all of its blocks would be read.
        "SELECT key, kind, reason, demands, winner, first_parent, first_at FROM ramet_blocks "
        f"INDEXED BY ramet_blocks_demanded WHERE tracking_id = ? AND key IN {listed} AND demands > 0",
        (tracking_id, values),
    )
    for key, kind, reason, count, winner, first_parent, first_at in blocks:
        parent_id, created_at = granted.get(winner, (None, first_at))
        # Beside repetitions, the first wish counts where nobody was granted it before, and where it went to the
        # parent that had been granted the task: that one was asking again already.
        again = reason not in LINKS or (parent_id == first_parent and created_at < first_at)
        before = demands.get((key, kind), KindDemand(kind, key, 0, False, {}, 0))
        demands[key, kind] = before._replace(blocked={**before.blocked, reason: count + again})
    return [demands[name] for name in sorted(demands)]
