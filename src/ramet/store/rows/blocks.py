"""Stored blocks (promise I8): refusals of the guard, how often their key was wanted, and what offers them again.

In an honest graph many parents link to one key, and each is refused once: as in flight, done or elsewhere, as a link
back to an ancestor, as too deep. So a refusal counts when the same parent asks again, whatever the reason
(docs/decisions/0028). To know that without a row per link, a block remembers three parents: the
first, the last, and one that is watched and replaced whenever the count reaches a power of two. A parent that asks
again and again, in whatever circle with others, is the watched one after at most twice as many refusals as the circle
has parents (R. P. Brent's way to find a cycle), and is counted from then on once a round; one that asks once never is.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ramet.model.alerts.rules import LINKS, KindDemand
from ramet.model.lineage.guard import LIMIT_REASONS, REOFFERABLE, Blocked, BlockReason
from ramet.model.lineage.lineage import Lineage
from ramet.model.reasons import Fact, block_words
from ramet.model.task.task import Block, NewTask
from ramet.store.rows import tallies
from ramet.store.rows.lineages import reasons_from_text, reasons_text
from ramet.store.session import Row, Session

DEMANDED = (
    # Money that a task asks for is not a wish for work.
    f"demands = ramet_blocks.demands + CASE WHEN excluded.reason = '{BlockReason.RESERVE.value}' THEN 0 "
    # Several requests of one settlement for the same are one wish.
    "WHEN ramet_blocks.last_parent = excluded.last_parent AND ramet_blocks.last_at = excluded.last_at THEN 0 "
    "WHEN excluded.last_parent IN (ramet_blocks.first_parent, ramet_blocks.last_parent, ramet_blocks.watched_parent) "
    "THEN 1 ELSE 0 END, "
    "watched_parent = CASE WHEN ((ramet_blocks.count + 1) & ramet_blocks.count) = 0 THEN excluded.last_parent "
    "ELSE ramet_blocks.watched_parent END"
)
"""The part of a block's upsert that counts demands."""


# A person who raises a limit, or takes a cancel back, offers again what that had ended: that wish was never refused.
_REVIVES = (
    "SELECT COUNT(*) FROM ramet_transitions r "
    "LEFT JOIN ramet_transitions e ON e.seq = r.seq AND e.number = r.number - 1 "
    "WHERE r.seq = i.seq AND r.name = 'revive' AND r.from_state <> 'cancelled' "
    f"AND COALESCE(e.reason, '') NOT IN ({', '.join(repr(reason) for reason in sorted(LIMIT_REASONS))})"
)
"""Revives of a task that count as demands."""


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
        f"SELECT i.key, i.kind, t.id, t.parent_id, t.created_at, p.key, ({_REVIVES}) "
        "FROM ramet_identities i JOIN ramet_tasks t ON t.seq = i.seq "
        f"LEFT JOIN ramet_tasks p ON p.id = t.parent_id WHERE i.tracking_id = ? AND i.key {listed}",
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
        f"INDEXED BY ramet_blocks_demanded WHERE tracking_id = ? AND key {listed} AND demands > 0",
        (tracking_id, values),
    )
    for key, kind, reason, count, winner, first_parent, first_at in blocks:
        parent_id, created_at = granted.get(winner, (None, first_at))
        # Beside repetitions, the first wish counts where it was not granted before, and where it went to the parent
        # that had been granted the task: that one was asking again already.
        again = reason not in LINKS or (parent_id == first_parent and created_at < first_at)
        before = demands.get((key, kind), KindDemand(kind, key, 0, False, {}, 0))
        demands[key, kind] = before._replace(blocked={**before.blocked, reason: count + again})
    return [demands[name] for name in sorted(demands)]


class Parent(NamedTuple):
    """A task that asks for spawns."""

    id: str
    tracking_id: str
    ancestry_chain: tuple[str, ...]
    spawn_depth: int
    fan_out: int
    claim_current: bool


class NewBlock(NamedTuple):
    """A blocked spawn, to be stored."""

    parent: Parent
    new: NewTask
    blocked: Blocked
    left_out: bool = False
    """True when work stays undone because of it (:func:`ramet.model.lineage.guard.leaves_work_undone`)."""


def facts_text(facts: Mapping[str, Fact]) -> str:
    """Return the facts of a block as JSON text."""
    return json.dumps(dict(facts), ensure_ascii=False, separators=(",", ":"))


_COLUMNS = tuple(
    "tracking_id kind key reason facts count first_parent last_parent winner first_at last_at reoffered_at "
    "reoffered_by".split()
)
BLOCK_LIST = ", ".join(_COLUMNS)


def block_of(row: Row) -> Block:
    """Return a block from a row of :data:`BLOCK_LIST`."""
    values = dict(zip(_COLUMNS, row, strict=True))
    facts = values["facts"] = json.loads(values["facts"])
    return Block(**values, detail=block_words(values["reason"], facts))


def new_task_text(new: NewTask) -> str:
    """Return a wanted task, whole, as JSON text."""
    return json.dumps(new._asdict(), ensure_ascii=False, separators=(",", ":"))


def new_task_from_text(text: str) -> NewTask:
    """Return a wanted task from its JSON text."""
    return NewTask.restored(json.loads(text))


BLOCK_KEY = ("tracking_id", "kind", "key", "reason")
_BLOCK = (
    *BLOCK_KEY, "facts", "count", "first_parent", "last_parent", "winner", "wanted", "first_at", "last_at", "left_out"
)  # fmt: skip
_BLOCK_AGAIN = (DEMANDED, "count = ramet_blocks.count + 1", "last_parent", "last_at")
_COUNT_KEY = ("tracking_id", "parent_id", "kind", "reason")
_COUNT_AGAIN = ("count = ramet_block_counts.count + 1", "left_out = ramet_block_counts.left_out + excluded.left_out")


def store_blocks(session: Session, refusals: Sequence[NewBlock], lineages: dict[str, Lineage]) -> None:
    """One row per (lineage, kind, key, reason), at most as many as the lineage may have tasks; then counters.

    Blocks that cannot be offered again have rows only while half of them are free: duplicates, and the wishes of lost
    attempts, are many and come first, and a person who raises a limit has to find what it refused.
    """
    if not refusals:
        return
    tallies.blocked(session, ((item.new.kind, item.blocked.reason.value) for item in refusals))
    by_lineage: dict[str, list[NewBlock]] = defaultdict(list)
    for refusal in refusals:
        by_lineage[refusal.parent.tracking_id].append(refusal)
    for tracking_id, several in by_lineage.items():
        known = _known_blocks(session, tracking_id, several)
        lineage = lineages[tracking_id]
        most = _most_rows(lineage)
        rows, overflow, stored = [], [], lineage.blocks
        left_out = reasons_from_text(lineage.left_out)
        for item in several:
            name = (item.new.kind, item.new.key, item.blocked.reason.value)
            if name not in known:
                left_out[item.blocked.reason.value] += item.left_out
                if stored >= (most if item.blocked.reason in REOFFERABLE else (most + 1) // 2):
                    overflow.append((tracking_id, item.parent.id, name[0], name[2], 1, int(item.left_out)))
                    continue
                known.add(name)
                stored += 1
            rows.append(_block_row(item, session.now))
        session.insert("ramet_blocks", _BLOCK, rows, key=BLOCK_KEY, changes=_BLOCK_AGAIN)
        session.insert(
            "ramet_block_counts", (*_COUNT_KEY, "count", "left_out"), overflow, key=_COUNT_KEY, changes=_COUNT_AGAIN
        )
        after = lineage._replace(blocks=stored, left_out=reasons_text(left_out))
        if after != lineage:
            session.run(
                "UPDATE ramet_lineages SET blocks = ?, left_out = ? WHERE tracking_id = ?",
                (stored, after.left_out, tracking_id),
            )
            lineages[tracking_id] = after


def _most_rows(lineage: Lineage) -> int:
    """Return the number of rows that the lineage may have; none when its budget cannot be read."""
    most: object = lineage.max_tasks
    return most if isinstance(most, int) else 0


def _known_blocks(session: Session, tracking_id: str, several: Sequence[NewBlock]) -> set[tuple[str, str, str]]:
    known: set[tuple[str, str, str]] = set()
    for kind in {item.new.kind for item in several}:
        listed, values = session.members({item.new.key for item in several if item.new.kind == kind})
        known.update(
            (kind, key, reason)
            for key, reason in session.rows(
                f"SELECT key, reason FROM ramet_blocks WHERE tracking_id = ? AND kind = ? AND key {listed}",
                (tracking_id, kind, values),
            )
        )
    return known


def _block_row(item: NewBlock, now: float) -> tuple[object, ...]:
    parent, new, blocked, _ = item
    wanted = new_task_text(new) if blocked.reason in REOFFERABLE else None
    return (
        parent.tracking_id, new.kind, new.key, blocked.reason.value, facts_text(blocked.facts), 1, parent.id, parent.id,
        blocked.winner, wanted, now, now, int(item.left_out),
    )  # fmt: skip
