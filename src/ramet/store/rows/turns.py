"""Turns: how far claims have come in each class, and which turn a new task takes (docs/decisions/0013)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from ramet.model.lineage.lineage import Lineage
from ramet.model.task.ordering import (
    TurnClass,
    class_of,
    class_of_standing,
    is_pulled,
    level_at,
    read_positions,
    write_positions,
)
from ramet.model.task.task import NewTask, Standing
from ramet.store.session import Session

LEVELS_IDLE_SECONDS = 3_600.0

# A claimed task that was created after its level began shows that everybody who was waiting at that level has been
# served: the next level begins, and newcomers queue behind those who wait for their second turn.
# Looked at first: the insert would hold the class's row even where it changes nothing, and claims beside this one would
# wait for its commit.
_ADVANCE = (
    "INSERT INTO ramet_turns (queue, kind, rank, resource, turn, seq, moved_at) "
    "SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT), number, "
    "CAST(? AS DOUBLE PRECISION) FROM ramet_next_number WHERE number > 0 AND NOT EXISTS (SELECT 1 FROM ramet_turns "
    "WHERE queue = ? AND kind = ? AND rank = ? AND resource = ? AND (turn > ? OR (turn = ? AND seq > ?))) "
    "ON CONFLICT (queue, kind, rank, resource) DO UPDATE SET "
    "turn = CASE WHEN excluded.turn > ramet_turns.turn THEN excluded.turn ELSE ramet_turns.turn + 1 END, "
    "seq = excluded.seq, moved_at = excluded.moved_at "
    "WHERE excluded.turn > ramet_turns.turn OR (excluded.turn = ramet_turns.turn AND ? >= ramet_turns.seq)"
)


_ALIKE = itemgetter(*map(NewTask._fields.index, ("queue", "kind", "priority", "breadth", "resource")))
"""Columns that make the class of tasks of one depth."""
_KIN = itemgetter(*map(Standing._fields.index, ("queue", "kind", "rank", "resource")))
_TURN = itemgetter(*map(Standing._fields.index, ("turn", "seq")))


class Turns:
    """The turns given in one transaction. Reads each class's level once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._levels: dict[TurnClass, int] = {}
        self._positions: dict[str, dict[str, int]] = {}

    def expect(self, wanted: Iterable[tuple[Sequence[NewTask], int]]) -> None:
        """Read the levels of all classes of these new tasks, which come with their depth, in one query."""
        kins = set[TurnClass]()
        for news, depth in wanted:
            kins.update(class_of(new, depth) for new in {_ALIKE(new): new for new in news}.values())
        self._read({kin for kin in kins if not is_pulled(kin.rank)} - self._levels.keys())

    def _read(self, kins: Collection[TurnClass]) -> None:
        if not kins:
            return
        self._levels.update(dict.fromkeys(kins, 0))
        lists = [self._listed({*column}) for column in zip(*kins, strict=True)]
        where = " AND ".join(f"{name} {listed}" for name, (listed, _) in zip(TurnClass._fields, lists, strict=True))
        found = self._session.rows(
            f"SELECT queue, kind, rank, resource, turn FROM ramet_turns WHERE {where}", [values for _, values in lists]
        )
        levels = {TurnClass(*row[:-1]): int(row[-1]) for row in found}
        self._levels.update((kin, levels[kin]) for kin in levels.keys() & kins)

    def _listed(self, values: Collection[object]) -> tuple[str, Any]:
        return self._session.members(values) if len(values) > 1 else ("= ?", next(iter(values)))

    def level(self, kin: TurnClass) -> int:
        """Return the turn that claims have reached in this class."""
        if is_pulled(kin.rank):
            return level_at(self._session.now)
        if kin not in self._levels:
            self._read([kin])
        return self._levels[kin]

    def take(self, lineage: Lineage, news: Iterable[NewTask], spawn_depth: int) -> list[int]:
        """Return the turns of new tasks of one depth: each after the lineage's last in its class, and never in the
        past.
        """
        positions = self._positions.get(lineage.tracking_id)
        if positions is None:
            positions = self._positions[lineage.tracking_id] = read_positions(lineage.turns)
        taken: list[int] = []
        for _, alike in groupby(news, _ALIKE):
            several = [*alike]
            kin = class_of(several[0], spawn_depth)
            key = kin.key()
            turn = max(positions.get(key, 0), self.level(kin))
            positions[key] = turn + len(several)
            taken += range(turn, turn + len(several))
        return taken

    def text(self, tracking_id: str) -> str:
        """Return what the lineage's row has to remember now."""
        return write_positions(self._positions.get(tracking_id, {}))


def advance(session: Session, taken: Sequence[Standing]) -> None:
    """Claims were made: move the levels of their classes."""
    in_turn = sorted(taken, key=_TURN)
    furthest = dict(zip(map(_KIN, in_turn), in_turn, strict=True)).values()
    rows = [(*class_of_standing(s), s.turn, s.seq) for s in furthest if not is_pulled(s.rank)]
    session.run_many(
        _ADVANCE, [(*kin, turn, session.now, *kin, turn, turn, seq, seq) for *kin, turn, seq in sorted(rows)]
    )


def in_order(session: Session, standings: Sequence[Standing]) -> list[Standing]:
    """Candidates of several classes in one order: rank, then how far ahead of its class's level, then age.

    Turns of different classes do not compare: their levels do not rise together.
    """
    if len({(s.queue, s.kind, s.resource) for s in standings}) <= 1:
        return list(standings)
    turns = Turns(session)

    def ahead(standing: Standing) -> int:
        return 0 if is_pulled(standing.rank) else max(0, standing.turn - turns.level(class_of_standing(standing)))

    return sorted(standings, key=lambda s: (s.rank, ahead(s), s.seq))


def renew(session: Session, standings: Sequence[Standing]) -> None:
    """Queue tasks that start over (*continue*) behind those that wait: at the next level, for at this one they are
    older than most.
    """
    turns = Turns(session)
    rows = []
    for standing in standings:
        if is_pulled(standing.rank):
            continue  # Its rank says how long it waits already.
        turn = turns.level(class_of_standing(standing)) + 1
        rows.append((turn, standing.seq, turn))
    session.update("ramet_live", ("turn",), ("seq", "turn < ?"), rows)


def forget_levels(session: Session, limit: int = 100) -> None:
    """Drop the levels of classes in which nothing waits and nothing was claimed for an hour."""
    session.run(
        "DELETE FROM ramet_turns WHERE moved_at <= ? AND (queue, kind, rank, resource) IN "
        "(SELECT t.queue, t.kind, t.rank, t.resource FROM ramet_turns t "
        "WHERE t.moved_at <= ? AND NOT EXISTS (SELECT 1 FROM ramet_live l INDEXED BY ramet_live_by_resource "
        "WHERE l.resource = t.resource AND l.wait = 'resource' AND l.state = 'pending') "
        "AND NOT EXISTS (SELECT 1 FROM ramet_live l INDEXED BY ramet_live_claimable "
        "WHERE l.queue = t.queue AND l.kind = t.kind AND l.rank = t.rank AND l.state = 'pending' AND l.wait IS NULL) "
        "LIMIT ?)",
        (session.now - LEVELS_IDLE_SECONDS, session.now - LEVELS_IDLE_SECONDS, limit),
    )
