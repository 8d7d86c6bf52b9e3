"""Tasks that are created after others: the tasks that their requests name, and the edges to them (DESIGN §4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ramet.model.keys import display_key
from ramet.model.lineage.guard import Holder
from ramet.model.lineage.lineage import Lineage, Placement
from ramet.model.task.task import LIVE, After, NewTask
from ramet.store.errors import StoreError
from ramet.store.rows import waits
from ramet.store.session import Session

Holders = dict[tuple[str, str], list[Holder]]
"""Tasks by (tracking_id, key), in the order of their numbers; those about to be created come last."""


def words_of(name: Sequence[str]) -> str:
    """Return a task that another one comes after, in words."""
    return f"task {name[0]}" if len(name) == 1 else f"{name[0]} {display_key(name[1])!r}"


class Dependencies:
    """The tasks that the wanted tasks of one transaction come after, and the edges that follow from it."""

    def __init__(self, session: Session, wanted: Iterable[tuple[str, NewTask]]) -> None:
        """Read those that are named by their ids; of each wanted task its tracking_id is known.

        Args:
            session: the transaction, which holds the rows of the lineages.
            wanted: tracking_id, and the task that comes after others or not.
        """
        self._session = session
        self.names: set[tuple[str, str]] = set()
        """(tracking_id, key) of those that are named by kind and key."""
        ids: set[str] = set()
        for tracking_id, new in wanted:
            for name in new.after.on if new.after is not None else ():
                if len(name) == 1:
                    ids.add(name[0])
                else:
                    self.names.add((tracking_id, name[1]))
        self._by_id: dict[str, tuple[str, Holder]] = {}
        if ids:
            listed, values = session.members(sorted(ids))
            self._by_id = {
                task_id: (tracking_id, Holder(task_id, kind, state, seq))
                for task_id, tracking_id, kind, state, seq in session.rows(
                    "SELECT t.id, t.tracking_id, t.kind, COALESCE(t.state, l.state), t.seq FROM ramet_tasks t "
                    f"LEFT JOIN ramet_live l ON l.seq = t.seq WHERE t.id {listed}",
                    (values,),
                )
            }
        self._on: dict[str, list[Holder]] = {}
        """Dependencies by the id of the wanted task."""
        self._waiting: dict[str, frozenset[int]] = {}

    def find(
        self, tracking_id: str, after: After, holders: Mapping[tuple[str, str], Sequence[Holder]]
    ) -> tuple[list[Holder], str | None]:
        """Return the tasks that are named, and in words the first that is not there, if any.

        Args:
            tracking_id: of the lineage.
            after: as the wanted task says.
            holders: tasks of the lineage that have one of :attr:`names`.
        """
        found: dict[str, Holder] = {}
        for name in after.on:
            if len(name) == 1:
                where, holder = self._by_id.get(name[0], ("", None))
                holder = holder if where == tracking_id else None
            else:
                holder = _named(name[0], holders.get((tracking_id, name[1]), ()))
            if holder is None:
                return [], words_of(name)
            found[holder.id] = holder
        return [*found.values()], None

    def waits_for_it(self, lineage: Lineage, on: Sequence[Holder], chain: Sequence[str]) -> tuple[str, str] | None:
        """Return kind and id of one of these that would wait for a new task below the chain; None for none.

        That is an ancestor, or one that waits for an ancestor which waits for all that grows below it.
        """
        waiting: frozenset[int] = frozenset()
        if lineage.waits and chain:
            if chain[-1] not in self._waiting:
                self._waiting[chain[-1]] = waits.waiting_for_branch(self._session, lineage.tracking_id, chain)
            waiting = self._waiting[chain[-1]]
        for holder in on:
            if holder.id in chain or holder.seq in waiting:
                return holder.kind, holder.id
        return None

    def granted(self, new: NewTask, on: Sequence[Holder]) -> None:
        """Record that a wanted task will be created after these."""
        self._on[new.id] = [*on]

    def save(self, first: int, news: Sequence[NewTask], places: Sequence[Placement]) -> None:
        """Write the edges of tasks that were created.

        Args:
            first: number of the first of them.
            news: the tasks, with consecutive numbers.
            places: where each of them hangs.
        """
        if not self._on:
            return
        seqs = {new.id: seq for seq, new in enumerate(news, first)}
        rows, counts = [], defaultdict[str, list[int]](list)
        for seq, (new, place) in enumerate(zip(news, places, strict=True), first):
            if new.after is not None:
                on = [holder.seq or seqs[holder.id] for holder in self._on[new.id]]
                rows.append((seq, place.tracking_id, new.after.skips, on))
                counts[place.tracking_id].append(len(on))
        waits.begin_after(self._session, rows)
        changes = ("waits = waits + ?", "edges = edges + ?")
        self._session.update(
            "ramet_lineages", changes, ("tracking_id",), [(len(e), sum(e), name) for name, e in sorted(counts.items())]
        )
        self._session.wake()


def _named(kind: str, holders: Sequence[Holder]) -> Holder | None:
    """Return the task of this kind; of a kind with stages the one that is live, else the last."""
    several = [holder for holder in holders if holder.kind == kind or holder.kind.startswith(f"{kind}.")]
    live = [holder for holder in several if holder.state in LIVE]
    return live[-1] if live else several[-1] if several else None


def order_roots(found: Dependencies, tracking_id: str, roots: Sequence[NewTask]) -> None:
    """Find the roots that other roots of the same new lineage come after.

    Raises:
        StoreError: one is not among them, or some come after each other.
    """
    if all(new.after is None for new in roots):
        return
    holders: Holders = defaultdict(list)
    for new in roots:
        holders[tracking_id, new.key].append(Holder(new.id, new.kind, "pending"))
    edges: dict[str, list[str]] = {}
    for new in roots:
        if new.after is not None:
            on, missing = found.find(tracking_id, new.after, holders)
            if missing is not None:
                raise StoreError(
                    f"{new.kind} {display_key(new.key)!r} comes after {missing}, which is not a task of this lineage: "
                    "submit it with the others"
                )
            found.granted(new, on)
            edges[new.id] = [holder.id for holder in on]
    circle = circle_in(edges)
    if circle:
        named = {new.id: f"{new.kind} {display_key(new.key)!r}" for new in roots}
        words = " after ".join(named[each] for each in [*circle, circle[0]])
        raise StoreError(f"tasks wait for each other: {words}; take one of these out")


def circle_in(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """Return nodes of which each has an edge to the next, and the last to the first; empty where there is no circle.

    Args:
        edges: by node; one that has none may be left out.
    """
    done: set[str] = set()
    for start in edges:
        trail: dict[str, list[str]] = {}
        node: str | None = start
        while node is not None:
            if node not in trail:
                trail[node] = [each for each in edges.get(node, ()) if each not in done]
            following = trail[node].pop() if trail[node] else None
            if following in trail:
                nodes = [*trail]
                return nodes[nodes.index(following) :]
            if following is None:
                done.add(node)
                del trail[node]
                following = next(reversed(trail), None)
            node = following
    return []
