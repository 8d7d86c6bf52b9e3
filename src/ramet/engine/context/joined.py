"""The tasks that a handler has waited for: ``ctx.joined``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol, Self, overload

from ramet.engine.base.work import Work
from ramet.engine.context.ports import SupervisorPort
from ramet.model.task import events as ev
from ramet.model.task.joined import JoinedTask, JoinPlace, joined_task
from ramet.store.answers import SpawnResult
from ramet.store.store import Store


class Joined(Sequence[JoinedTask]):
    """The tasks of a round, in the order of their spawns, refused ones among them.

    The first thousand are at hand, as a sequence; ``async for`` reads on, a page at a time, through as many as there
    are. A plain handler reads no further than ``first``.
    """

    def __init__(
        self, desk: SupervisorPort, seq: int, round_: int, *, rows: list[JoinedTask], after: JoinPlace | None,
        states: Mapping[str, int], refused: int,
    ) -> None:  # fmt: skip
        self._desk, self._seq, self._rows, self._after = desk, seq, rows, after
        self.round = round_
        """Number of the join, from 1; 0 for the tasks that it was created after."""
        self.states = states
        """Number of granted tasks, by state."""
        self.refused = refused
        """Number of spawns that the guard refused."""

    @property
    def total(self) -> int:
        """Number of tasks, refused spawns included."""
        return sum(self.states.values()) + self.refused

    @property
    def complete(self) -> bool:
        """True if all of them are at hand, and can be read without ``async``."""
        return self._after is None

    def __len__(self) -> int:
        return len(self._at_hand())

    @overload
    def __getitem__(self, at: int) -> JoinedTask: ...
    @overload
    def __getitem__(self, at: slice) -> list[JoinedTask]: ...
    def __getitem__(self, at: int | slice) -> JoinedTask | list[JoinedTask]:
        return self._at_hand()[at]

    def __iter__(self) -> Iterator[JoinedTask]:
        return iter(self._at_hand())

    def _at_hand(self) -> list[JoinedTask]:
        if self._after is not None:
            raise LookupError(
                f"{self.total:,} tasks were joined, and {len(self._rows):,} are at hand: read them with "
                "`async for task in ctx.joined`"
            )
        return self._rows

    @property
    def first(self) -> Sequence[JoinedTask]:
        """The tasks at hand: the first thousand, fewer where results are large."""
        return self._rows

    @property
    def next(self) -> JoinPlace | None:
        """Return where the page behind :attr:`first` begins; None where all are at hand."""
        return self._after

    async def __aiter__(self) -> AsyncIterator[JoinedTask]:
        for task in self._rows:
            yield task
        after = self._after
        while after is not None:
            rows, after = await read_page(self._desk, self._seq, self.round, after)
            for task in rows:
                yield task


async def read_page(
    desk: SupervisorPort, seq: int, round_: int, after: JoinPlace | None
) -> tuple[list[JoinedTask], JoinPlace | None]:
    """Return a page of a round, and where the next begins."""
    rows, following = await desk.ask("join_page", seq, round_, None if after is None else list(after))
    return [*map(joined_task, rows)], None if following is None else JoinPlace(*following)


async def joined_tasks(desk: SupervisorPort, seq: int, round_: int) -> Joined:
    """Return what a task finds when it is called again after a join."""
    rows, after = await read_page(desk, seq, round_, None)
    if after is None:  # All of them are at hand, and can be counted here.
        states: Mapping[str, int] = Counter(str(row.state) for row in rows if row.refused is None)
        refused = sum(row.refused is not None for row in rows)
    else:
        states, refused = await desk.ask("join_totals", seq, round_)
    return Joined(desk, seq, round_, rows=rows, after=after, states=states, refused=refused)


REFUSED_MAX = 10_000
"""Refused spawns of a claim, before the settlement that joins, that are shown in the round."""


class EarlierSpawns:
    """The guard's answers to the spawns of a claim before its join: those of checkpoints and ``spawn_now``."""

    def __init__(self) -> None:
        self._last: str | None = None
        self._refused: list[ev.RefusedSpawn] = []

    def add(self, answers: Iterable[SpawnResult]) -> Self:
        """Take answers, in the order in which the spawns were asked for."""
        for answer in answers:
            if answer.reason is None:
                self._last = answer.id
            elif len(self._refused) < REFUSED_MAX:
                facts = json.dumps({**answer.facts})
                self._refused.append((self._last, answer.kind, answer.key, answer.reason.value, facts))
        return self

    def with_results(self, event: ev.Join) -> ev.Join:
        """Return the join with what was refused before."""
        return replace(event, refused=tuple(self._refused), last=self._last)


class WaitedContext(Protocol):
    """A context of a task that may have waited for others."""

    joined: Joined | None
    after: Joined | None
    _work: Work

    @property
    def _desk(self) -> SupervisorPort: ...


async def load_joined(contexts: Iterable[WaitedContext]) -> None:
    """Fetch what tasks that have waited for others find, before their handler is called."""
    for context in contexts:
        work, desk = context._work, context._desk
        if work.round:
            context.joined = await joined_tasks(desk, work.seq, work.round)
        if work.after:
            context.after = await joined_tasks(desk, work.seq, 0)


async def page_out(store: Store, seq: int, round_: int, after: Sequence[int] | None) -> list[Any]:
    """For the supervisor: :func:`read_page` as JSON values."""
    page = await store.join_page(seq, round_, None if after is None else JoinPlace(*after))
    return [[asdict(row) for row in page.rows], None if page.next is None else list(page.next)]


async def totals_out(store: Store, seq: int, round_: int) -> list[Any]:
    """For the supervisor: how many tasks a round has, as JSON values."""
    totals = await store.join_totals(seq, round_)
    return [dict(totals.states), totals.refused]
