"""The rows of paths: tasks in line, what they wait for, and the paths they hold (docs/decisions/0041).

A live task with a path has one row in ``ramet_paths``. With a ticket it has a row in ``ramet_path_tickets`` for every
prefix of its path. The latest ticket before its own on a conflicting path is the one that it waits on; without any it
*holds* its path, which ``ramet_path_holders`` says as a constraint.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from ramet.model.paths import PathRule, nodes_of, stripe_of
from ramet.store.rows.retained_slots import wake_resources
from ramet.store.session import LOOKS_MAX, Row, Session

REPAIRS_COUNTER = "path_repairs"
"""Row of ``ramet_counters`` that counts the lost wake-ups that maintenance repaired."""
Nodes = tuple[int, ...]


class PathRow(NamedTuple):
    """A row of ``ramet_paths``."""

    seq: int
    tracking_id: str
    slot: int
    nodes: Nodes
    skips: int
    """1 when it is skipped with what it depends on."""
    ticket: int | None = None
    waits_on: int | None = None
    """The ticket that it waits on."""
    behind: int | None = None
    """Number of the task without a ticket that it comes after."""
    was_ticket: int | None = None
    """Its last ticket, while it has none."""
    since: float = 0.0
    """Moment at which it took its ticket, or lost it."""
    returned_at: float | None = None
    """Moment at which it first went back to pending under this ticket."""
    ended: str | None = None
    """The state in which it ended, while a worker may still run it."""

    @property
    def holds(self) -> bool:
        """True when no task before it conflicts."""
        return self.ticket is not None and self.waits_on is None

    @property
    def stood(self) -> int:
        """Its ticket, or the last that it had; 0 for one that never had any."""
        return self.ticket or self.was_ticket or 0

    @property
    def node(self) -> int:
        """The path itself."""
        return self.nodes[-1]


LINE_LIST = ", ".join(PathRow._fields)


def line_of(seq: int, tracking_id: str, rule: PathRule, queue: str) -> PathRow:
    """Return the row of a task that has no ticket yet."""
    nodes = nodes_of(rule.elements, queue, tracking_id if rule.scope == "lineage" else "")
    return PathRow(seq, tracking_id, stripe_of(nodes), nodes, int(rule.on_dependency_failure == "skip"))


def load_lines(session: Session, seqs: Iterable[int]) -> dict[int, PathRow]:
    """Return the rows of these tasks, by number; those without a path are absent."""
    listed, values = session.members(seqs)
    return {line.seq: line for line in select(session, f"seq {listed}", (values,))}


def select(session: Session, where: str, parameters: Sequence[object]) -> list[PathRow]:
    """Rows of ``ramet_paths``."""
    return [*map(_line, session.rows(f"SELECT {LINE_LIST} FROM ramet_paths WHERE {where}", parameters))]


# Of each ticket no more is read than one transaction may look at, however many wait.
_WAITING = f"SELECT {LINE_LIST} FROM ramet_paths WHERE waits_on = ? ORDER BY ticket LIMIT {LOOKS_MAX + 1}"


def waiting_on(session: Session, tickets: Sequence[int], limit: int) -> tuple[list[PathRow], set[int]]:
    """Return the tasks that wait on these tickets, up to a limit in all.

    Returns:
        Their rows, and the tickets on which others wait besides.
    """
    listed, values = session.members(tickets)
    few = select(session, f"waits_on {listed} LIMIT ?", (values, limit + 1))
    if len(few) <= limit:
        return sorted(few, key=_place), set()
    waiting: list[PathRow] = []
    left: set[int] = set()
    for ticket, found in zip(tickets, session.look_up(_WAITING, [(ticket,) for ticket in tickets]), strict=True):
        room = limit - len(waiting)
        if len(found) > room:
            left.add(ticket)
        waiting += map(_line, found[:room])
    return waiting, left


_place = itemgetter(PathRow._fields.index("ticket"))


def _line(row: Row) -> PathRow:
    return PathRow._make((*row[:3], _nodes(row[3]), *row[4:]))


def insert(session: Session, lines: Sequence[PathRow]) -> None:
    """Insert new rows, with the tickets of those that have one, and what they hold."""
    session.insert("ramet_paths", PathRow._fields, [(*line[:3], _text(line.nodes), *line[4:]) for line in lines])


def _text(nodes: Nodes) -> str:
    return f"[{','.join(map(str, nodes))}]"


def _nodes(text: str) -> Nodes:
    # Not by way of a JSON parser, which would be most of the cost of reading a row.
    return tuple(map(int, text[1:-1].split(",")))


def update(session: Session, lines: Sequence[PathRow]) -> None:
    """Write rows that are there."""
    session.update("ramet_paths", PathRow._fields[5:], ("seq",), [(*line[5:], line.seq) for line in lines])


def delete(session: Session, lines: Sequence[PathRow]) -> None:
    """Delete rows of tasks that are in no line any more."""
    session.delete("ramet_paths", ("seq",), [(line.seq,) for line in lines])


# --- tickets ----------------------------------------------------------------------------------------------------


def add_tickets(session: Session, lines: Sequence[PathRow]) -> None:
    """They stand in line, at every prefix of their paths."""
    session.insert(
        "ramet_path_tickets",
        ("node", "exact", "ticket", "seq"),
        [
            (node, int(place == len(line.nodes)), line.ticket, line.seq)
            for line in lines
            for place, node in enumerate(line.nodes, 1)
        ],
    )


def drop_tickets(session: Session, lines: Sequence[PathRow]) -> None:
    """They stand in line no more."""
    session.delete(
        "ramet_path_tickets",
        ("node", "exact", "ticket"),
        [
            (node, int(place == len(line.nodes)), line.ticket)
            for line in lines
            if line.ticket is not None
            for place, node in enumerate(line.nodes, 1)
        ],
    )


_LATEST = (
    "SELECT ticket FROM ramet_path_tickets WHERE node = ? AND exact = ? AND ticket < ? ORDER BY ticket DESC LIMIT 1"
)


def blockers(session: Session, lines: Sequence[PathRow]) -> list[int | None]:
    """For each the latest ticket before its own on a conflicting path: depth + 1 looks into an index.

    Conflicting are tasks exactly at a prefix of its path, the path itself included, and tasks below it.
    """
    looks = [(node, 1, line.ticket or 0) for line in lines for node in line.nodes]
    looks += [(line.node, 0, line.ticket or 0) for line in lines]
    found = session.look_up(_LATEST, looks)
    latest: list[int | None] = []
    at = 0
    for place, line in enumerate(lines):
        several = [*found[at : at + len(line.nodes)], found[len(looks) - len(lines) + place]]
        at += len(line.nodes)
        latest.append(max((rows[0][0] for rows in several if rows), default=None))
    return latest


def any_below(session: Session, after: Sequence[tuple[PathRow, int]]) -> list[bool]:
    """Return, for each, whether any task is below its path with a ticket later than the one beside it."""
    found = session.look_up(
        "SELECT 1 FROM ramet_path_tickets WHERE node = ? AND exact = 0 AND ticket > ? LIMIT 1",
        [(line.node, ticket) for line, ticket in after],
    )
    return [bool(several) for several in found]


# --- holding ----------------------------------------------------------------------------------------------------


def shift_holders(session: Session, left: Iterable[PathRow], came: Iterable[PathRow]) -> None:
    """Move the holds: some release their paths and others hold theirs now; the constraint refuses two that conflict
    (promise I7).
    """
    shifts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for lines, by in ((left, -1), (came, 1)):
        for line in lines:
            shifts[line.node][0] += by
            for node in line.nodes[:-1]:
                shifts[node][1] += by
    fewer = [(holders, below, node) for node, (holders, below) in shifts.items() if holders < 0 or below < 0]
    more = [(node, *by) for node, by in shifts.items() if min(by) >= 0 and max(by) > 0]
    changed = session.update("ramet_path_holders", ("holders = holders + ?", "below = below + ?"), ("node",), fewer)
    assert changed == len(fewer), "a path was released that was not held"
    session.delete("ramet_path_holders", ("node", "holders = 0", "below = 0"), [(node,) for *_, node in fewer])
    session.insert(
        "ramet_path_holders",
        ("node", "holders", "below"),
        more,
        key=("node",),
        changes=(
            "holders = ramet_path_holders.holders + excluded.holders",
            "below = ramet_path_holders.below + excluded.below",
        ),
    )


def hold_paths(session: Session, lines: Sequence[PathRow]) -> None:
    """Give tasks their paths: they may be claimed, or will be when they are due."""
    if not lines:
        return
    listed, values = session.members(line.seq for line in lines)
    resources = session.rows(
        "UPDATE ramet_live SET holds_path = 1, wait = CASE WHEN wait = 'ticket' THEN 'due' "
        "WHEN resource IS NULL OR ending IS NOT NULL THEN NULL ELSE 'resource' END "
        f"WHERE seq {listed} AND wait IN ('path', 'ticket') RETURNING resource",
        (values,),
    )
    wake_resources(session, {name for (name,) in resources if name is not None})
    session.wake()


def lock_stripes(session: Session, seqs: Iterable[int], rules: Iterable[tuple[PathRule, str, str]] = ()) -> None:
    """Lock the decisions about the paths of these tasks, and of those to be created, until the transaction ends.

    Taken before their rows are locked: every transaction takes the two in this order.

    Args:
        rules: of tasks to be created, with queue and tracking_id.
    """
    if not session.for_update:
        return  # Only one transaction writes at a time.
    known = sorted(set(seqs))
    listed, values = session.members(known)
    found = session.rows(f"SELECT slot FROM ramet_paths WHERE seq {listed}", (values,)) if known else ()
    slots = {slot for (slot,) in found}
    slots |= {line_of(0, tracking_id, rule, queue).slot for rule, queue, tracking_id in rules}
    session.lock_stripes(slots)
