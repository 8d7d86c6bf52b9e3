"""The part of :mod:`tests.invariants.check` for paths: every row of them follows from what the tasks themselves say
(I7).

Who conflicts with whom is told from the paths as the tasks have them, not from the numbers that the store keeps.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

from ramet.model.paths import PathElements, nodes_of
from ramet.store.store import Store


class Place(NamedTuple):
    """A row of ``ramet_paths``."""

    seq: int
    slot: int
    nodes: tuple[int, ...]
    ticket: int | None
    waits_on: int | None
    behind: int | None
    was_ticket: int | None
    ended: str | None

    @property
    def holds(self) -> bool:
        return self.ticket is not None and self.waits_on is None

    @property
    def stood(self) -> int:
        return self.ticket or self.was_ticket or 0


class Stand(NamedTuple):
    """What the live row of a task says."""

    state: str
    wait: str | None
    holds_path: int | None


class Said(NamedTuple):
    """What a task itself says of its path."""

    queue: str
    owner: str
    """The lineage where the path is narrowed to that."""
    elements: PathElements

    def conflicts(self, other: Said) -> bool:
        """True when one path is a prefix of the other, where they meet at all."""
        shorter = min(len(self.elements), len(other.elements))
        return self[:2] == other[:2] and self.elements[:shorter] == other.elements[:shorter]

    def prefixes(self) -> list[Said]:
        return [self._replace(elements=self.elements[:size]) for size in range(1, len(self.elements) + 1)]


class PathRows:
    """Everything that the database says about paths."""

    def __init__(self) -> None:
        self.places: dict[int, Place] = {}
        self.said: dict[int, Said] = {}
        self.stands: dict[int, Stand] = {}
        self.tickets: set[tuple[int, int, int, int]] = set()
        self.holders: dict[int, tuple[int, int]] = {}
        self.waves: list[tuple[int, str, int, int, int]] = []
        self.holds: set[int] = set()
        self.repairs = 0

    async def load(self, store: Store) -> None:
        for seq, slot, nodes, *rest in await store.read(
            "SELECT seq, slot, nodes, ticket, waits_on, behind, was_ticket, ended FROM ramet_paths"
        ):
            self.places[seq] = Place(seq, slot, tuple(json.loads(nodes)), *rest)
        for seq, path, scope, queue, tracking_id in await store.read(
            "SELECT seq, path, path_scope, queue, tracking_id FROM ramet_tasks WHERE path IS NOT NULL "
            "AND (state IS NULL OR seq IN (SELECT seq FROM ramet_paths))"
        ):
            self.said[seq] = Said(queue, tracking_id if scope == "lineage" else "", tuple(json.loads(path)))
        if not self.said and not self.places:
            return  # Nearly every test is about something else.
        for seq, *stand in await store.read("SELECT seq, state, wait, holds_path FROM ramet_live"):
            self.stands[seq] = Stand(*stand)
        self.holds = {seq for (seq,) in await store.read("SELECT seq FROM ramet_holds")}

    async def load_lines(self, store: Store) -> None:
        self.tickets = {
            (row[0], row[1], row[2], row[3])
            for row in await store.read("SELECT node, exact, ticket, seq FROM ramet_path_tickets")
        }
        self.holders = {
            node: (holders, below)
            for node, holders, below in await store.read("SELECT node, holders, below FROM ramet_path_holders")
        }
        self.waves = [
            (row[0], row[1], row[2], row[3], row[4])
            for row in await store.read("SELECT seq, what, ticket, until_ticket, node FROM ramet_path_waves")
        ]
        for (self.repairs,) in await store.read("SELECT value FROM ramet_counters WHERE name = 'path_repairs'"):
            pass

    def covered(self, place: Place) -> bool:
        """A wave is on its way to this one."""
        for _, what, ticket, until, node in self.waves:
            if what == "wake" and ticket == place.waits_on:
                return True
            if what != "wake" and node in place.nodes[:-1] and ticket < place.stood < until:
                return True
        return False

    def may_run(self, seq: int) -> bool:
        """A worker has a claim of it, or may have one still."""
        stand = self.stands.get(seq)
        return seq in self.holds or (stand is not None and stand.state == "processing")


async def paths(store: Store) -> list[str]:
    """One line for everything that is wrong with the rows of paths."""
    rows = PathRows()
    await rows.load(store)
    await rows.load_lines(store)
    return [f"{check.__name__}: {line}" for check in CHECKS for line in check(rows)]


def claims_exclude_each_other(rows: PathRows) -> Iterator[str]:
    """I7: no two tasks on conflicting paths are in the hands of workers at once, and none before its turn."""
    running: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for seq, said in rows.said.items():
        if rows.may_run(seq):
            running[said.queue, said.owner, said.elements[0]].append(seq)
    for together in running.values():
        for one, other in combinations(together, 2):
            if rows.said[one].conflicts(rows.said[other]):
                yield f"tasks {one} and {other} run at once on {rows.said[one]} and {rows.said[other]}"


def every_task_has_its_place(rows: PathRows) -> Iterator[str]:
    """One row for each live task with a path, and for one that a worker may still run; nothing else."""
    for seq in rows.said.keys() & rows.stands.keys() - rows.places.keys():
        yield f"task {seq} has a path and no place"
    for seq, place in rows.places.items():
        if seq not in rows.said:
            yield f"place {seq} belongs to no task with a path"
            continue
        said = rows.said[seq]
        if place.nodes != nodes_of(said.elements, said.queue, said.owner):
            yield f"place {seq} is not where its path says"
        if seq not in rows.stands and place.ended is None:
            yield f"place {seq} is left behind"
        if place.ended is not None and seq not in rows.holds:
            yield f"place {seq} is kept for a worker ({place.ended}), and there is none"
    for seq, stand in rows.stands.items():
        if (stand.holds_path is None) != (seq not in rows.places):
            yield f"task {seq} says {stand.holds_path} of its path"


def tickets_equal_a_recount(rows: PathRows) -> Iterator[str]:
    """A ticket stands at every prefix of its path for as long as it is live; no two are the same."""
    expected: set[tuple[int, int, int, int]] = set()
    seen: dict[int, int] = {}
    for place in rows.places.values():
        if place.ticket is None:
            continue
        if place.ticket in seen:
            yield f"tasks {seen[place.ticket]} and {place.seq} share ticket {place.ticket}"
        seen[place.ticket] = place.seq
        last = len(place.nodes) - 1
        expected |= {(node, int(at == last), place.ticket, place.seq) for at, node in enumerate(place.nodes)}
    for name, extra in (("is left behind", rows.tickets - expected), ("is missing", expected - rows.tickets)):
        for node, exact, ticket, seq in sorted(extra):
            yield f"ticket {ticket} of task {seq} at {node} (exact {exact}) {name}"


def holders_equal_a_recount(rows: PathRows) -> Iterator[str]:
    """I7, as the database holds it: who holds what."""
    counted: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for place in rows.places.values():
        for node in place.nodes if place.holds else ():
            counted[node][node != place.nodes[-1]] += 1
    for node in counted.keys() | rows.holders.keys():
        if tuple(counted[node]) != rows.holders.get(node):
            yield f"at {node} there are {counted[node]} holders and below, not {rows.holders.get(node)}"


def nobody_waits_in_vain(rows: PathRows) -> Iterator[str]:
    """I7: each waits on the latest before it that conflicts, whoever waits on nobody may run, or a wave is coming."""
    latest = _latest(rows)
    for place in rows.places.values():
        if place.ticket is not None and place.waits_on != latest.get(place.seq) and not rows.covered(place):
            yield f"task {place.seq} waits on ticket {place.waits_on}, not on {latest.get(place.seq)}"
        if place.holds and latest.get(place.seq) is not None:
            yield f"task {place.seq} holds its path before ticket {latest[place.seq]}"
        if place.behind is not None and not rows.covered(place):
            yield f"task {place.seq} is behind {place.behind}, whom nobody waits for"
        if place.behind is not None and place.ticket is not None:
            yield f"task {place.seq} is behind {place.behind} and has ticket {place.ticket}"


def tasks_say_whether_they_hold(rows: PathRows) -> Iterator[str]:
    """What the claim looks at is what the place says."""
    for place in rows.places.values():
        stand = rows.stands.get(place.seq)
        if stand is None:
            continue
        holds = place.holds and place.ended is None
        if (stand.holds_path == 1) != holds:
            yield f"task {place.seq} says {stand.holds_path} of its path, its place says {holds}"
        if stand.state == "pending" and holds and stand.wait in ("path", "ticket"):
            yield f"task {place.seq} holds its path and waits for its {stand.wait}"
        if stand.state == "processing" and not holds:
            yield f"task {place.seq} runs and holds no path"
        if stand.state == "pending" and not holds and stand.wait in (None, "resource", "due"):
            yield f"task {place.seq} holds no path and could be claimed"


def _latest(rows: PathRows) -> dict[int, int | None]:
    """For each place with a ticket the latest ticket before its own on a conflicting path."""
    exact: dict[Said, list[int]] = defaultdict(list)
    through: dict[Said, list[int]] = defaultdict(list)
    lined_up = sorted((place.ticket, place.seq) for place in rows.places.values() if place.ticket is not None)
    lined_up = [(ticket, seq) for ticket, seq in lined_up if seq in rows.said]
    for ticket, seq in lined_up:
        *above, itself = rows.said[seq].prefixes()
        exact[itself].append(ticket)
        for prefix in above:
            through[prefix].append(ticket)

    def before(tickets: list[int], ticket: int) -> list[int]:
        at = bisect_left(tickets, ticket)
        return tickets[max(0, at - 1) : at]

    latest: dict[int, int | None] = {}
    for ticket, seq in lined_up:
        prefixes = rows.said[seq].prefixes()
        found = [earlier for prefix in prefixes for earlier in before(exact[prefix], ticket)]
        latest[seq] = max([*found, *before(through[prefixes[-1]], ticket)], default=None)
    return latest


def waves_have_somebody(rows: PathRows) -> Iterator[str]:
    """Who stands aside for one without a ticket has that one to come back."""
    for seq, what, *_ in rows.waves:
        if what == "away" and (seq not in rows.places or rows.places[seq].ticket is not None):
            yield f"a wave waits for task {seq}, which is not away"


def nothing_had_to_be_repaired(rows: PathRows) -> Iterator[str]:
    """A wake-up that got lost is a fault, although maintenance makes good for it."""
    if rows.repairs:
        yield f"{rows.repairs} wake-ups got lost"


CHECKS: tuple[Any, ...] = (
    claims_exclude_each_other,
    every_task_has_its_place,
    tickets_equal_a_recount,
    holders_equal_a_recount,
    nobody_waits_in_vain,
    tasks_say_whether_they_hold,
    waves_have_somebody,
    nothing_had_to_be_repaired,
)
