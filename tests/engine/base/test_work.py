"""What travels between supervisor and handler process comes out as it went in."""

from __future__ import annotations

import random
import types
import typing
import uuid
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.engine.base.clock import new_id
from ramet.engine.base.work import (
    FRAME_HEAD,
    Work,
    frame,
    outcomes_in,
    outcomes_out,
    settled_in,
    settlement_in,
    settlement_out,
    state_json,
    succeeded,
    unframe,
    work_of,
    works_in,
    works_out,
)
from ramet.model.lineage.branches import Budget
from ramet.model.lineage.guard import BlockReason
from ramet.model.money import Charge
from ramet.model.paths import PathRule
from ramet.model.reasons import Reason, code_of
from ramet.model.task import events as ev
from ramet.model.task.binding import ItemSettlement
from ramet.model.task.events import RefusedSpawn
from ramet.model.task.retry import Waits
from ramet.model.task.task import After, NewTask, Standing
from ramet.store.answers import ClaimedTask, SettleResult, SpawnResult
from ramet.store.requests import Settlement, Write

TEXT = st.text()
NUMBERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
SECONDS = st.floats(allow_nan=False)

FROM_HANDLERS = (
    ev.Complete,
    ev.Filter,
    ev.Skip,
    ev.Fail,
    ev.Error,
    ev.Snooze,
    ev.Join,
    ev.Continue,
    ev.Checkpoint,
    ev.Progress,
    ev.HandBack,
)
FROM_ELSEWHERE = tuple(kind for kind in typing.get_args(ev.Event) if kind not in FROM_HANDLERS)

PARAMETERS = st.one_of(st.none(), st.booleans(), NUMBERS, SECONDS, TEXT, st.binary())
ROW = st.lists(PARAMETERS, max_size=4).map(tuple)

OF_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    int: NUMBERS,
    float: SECONDS,
    str: TEXT,
    bool: st.booleans(),
    type(None): st.none(),
    tuple[RefusedSpawn, ...]: st.lists(st.tuples(st.none() | TEXT, TEXT, TEXT, TEXT, TEXT), max_size=3).map(tuple),
    tuple[tuple[str, tuple[Any, ...]], ...]: st.lists(st.tuples(TEXT, ROW), max_size=3).map(tuple),
    Waits: st.tuples(SECONDS, SECONDS, SECONDS, SECONDS),
    After: st.builds(After, st.lists(st.lists(TEXT, max_size=2).map(tuple), max_size=3).map(tuple), st.booleans()),
    Budget: st.tuples(st.none() | NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.none() | SECONDS).map(Budget._make),
    PathRule: st.builds(PathRule, st.lists(TEXT, max_size=3).map(tuple), TEXT, TEXT, st.booleans()),
}


def of_hint(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type, or of any member of a union."""
    members = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return st.one_of(*(OF_TYPE[member] for member in members))


def of_fields(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a class with typed fields."""
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{name: of_hint(hints[name]) for name in hints})


EVENTS = st.one_of(*(of_fields(kind) for kind in FROM_HANDLERS))
SETTLEMENTS = st.builds(
    Settlement,
    seq=NUMBERS,
    fence=NUMBERS,
    event=EVENTS,
    result=st.none() | TEXT,
    spawns=st.lists(of_fields(NewTask), max_size=3),
    writes=st.lists(st.builds(Write, TEXT, ROW), max_size=3),
    pipeline_state=st.none() | TEXT,
    progress=st.none() | TEXT,
    lower=st.lists(st.tuples(TEXT, NUMBERS), max_size=3).map(tuple),
    charge=st.none() | of_fields(Charge),
    items=st.lists(of_fields(ItemSettlement), max_size=3),
    hold_seconds=st.none() | SECONDS,
    switch_off=st.none() | TEXT,
)
ANSWERS = st.builds(
    SpawnResult,
    id=st.none() | TEXT,
    kind=TEXT,
    key=TEXT,
    reason=st.none() | st.sampled_from(BlockReason),
    facts=st.dictionaries(TEXT, TEXT | NUMBERS | st.none()),
)


def travelled(message: Any) -> Any:
    """Through a frame and out again."""
    sent = frame(message)
    assert int.from_bytes(sent[:FRAME_HEAD], "big") == len(sent) - FRAME_HEAD
    return unframe(sent[FRAME_HEAD:])


@given(SETTLEMENTS)
def test_every_settlement_survives_the_wire(settlement: Settlement) -> None:
    arrived = settlement_in(travelled(settlement_out(settlement)))
    listed = arrived._replace(spawns=list(arrived.spawns), writes=list(arrived.writes), items=list(arrived.items))
    assert listed == settlement
    assert type(arrived.event) is type(settlement.event)
    assert all(new.path is None or type(new.path) is PathRule for new in arrived.spawns)
    for sent, got in zip(settlement.writes, arrived.writes, strict=True):
        assert list(map(type, sent.parameters)) == list(map(type, got.parameters)), "1, 1.0 and True are not the same"


def test_a_reason_with_facts_survives_the_wire_and_a_text_stays_a_text() -> None:
    over = Reason("cost", ceiling="day", limit=5, spent=6)
    for reason, code in ((over, "cost"), (str(over), None)):
        arrived = settlement_in(travelled(settlement_out(Settlement(1, 2, ev.Snooze(2, 60.0, reason)))))
        assert isinstance(arrived.event, ev.Snooze)
        assert (arrived.event.reason, code_of(arrived.event.reason)) == (over, code)


RETURNED = st.builds(succeeded, NUMBERS, NUMBERS, st.none() | TEXT)


@given(st.lists(RETURNED, max_size=3), st.lists(SETTLEMENTS, max_size=2), st.randoms(use_true_random=False))
def test_outcomes_of_handlers_that_only_returned_travel_as_columns_and_arrive_whole(
    returned: list[Settlement], others: list[Settlement], chance: random.Random
) -> None:
    others = [item for item in others if type(item.event) is not ev.Complete]
    sent = returned + others
    chance.shuffle(sent)
    columns, rows = travelled(outcomes_out(sent))
    assert [len(rows), len(columns)] == [len(others), 3 if returned else 0]
    arrived = outcomes_in(columns, rows)
    assert len(arrived) == len(sent)
    assert arrived[: len(returned)] == [item for item in sent if type(item.event) is ev.Complete]
    assert all(type(item) is Settlement and type(item.event) is ev.Complete for item in arrived[: len(returned)])
    assert [item.event for item in arrived[len(returned) :]] == [i.event for i in sent if i in others]


@given(NUMBERS, NUMBERS, st.none() | TEXT)
def test_a_handler_that_only_returned_asks_for_nothing_else(seq: int, fence: int, result: str | None) -> None:
    assert succeeded(seq, fence, result) == Settlement(seq, fence, ev.Complete(fence), result)


def test_what_the_store_gave_is_what_the_handler_sees() -> None:
    values: dict[str, Any] = {name: f"standing {name}" for name in Standing._fields}
    standing = Standing(**values)
    more: dict[str, Any] = {name: f"claimed {name}" for name in ClaimedTask._fields[1:]}
    claimed = ClaimedTask(standing, **more)
    work = work_of(claimed)
    for name, value in zip(Work._fields, work, strict=True):
        assert value == (f"claimed {name}" if name in ClaimedTask._fields else f"standing {name}")
    assert type(work) is Work


@given(
    st.builds(
        SettleResult, NUMBERS, st.none() | TEXT, st.none() | TEXT, st.lists(ANSWERS, max_size=3), st.none() | TEXT
    )
)
def test_every_answer_survives_the_wire(settled: SettleResult) -> None:
    arrived = settled_in(travelled(settled))
    assert arrived == settled
    for sent, got in zip(settled.spawns, arrived.spawns, strict=True):
        assert got.reason is sent.reason


@given(st.lists(of_fields(Work), min_size=1, max_size=3))
def test_every_claimed_task_survives_the_wire(works: list[Work]) -> None:
    arrived = works_in(travelled(works_out(works)))
    assert arrived == works
    assert all(type(work) is Work for work in arrived)


@pytest.mark.parametrize("kind", FROM_HANDLERS)
def test_each_event_of_a_handler_is_known_on_both_sides(kind: type[Any]) -> None:
    values = {
        "fence": 1, "seconds": 1.0, "jitter": 0.5, "progressed": True, "lease_seconds": 9.0,
        "waits": (1.0, 2.0, 3.0, 0.5), "refused": (("t1", "page", "x", "done", "{}"),),
    }  # fmt: skip
    event = kind(**{f.name: values.get(f.name, "x") for f in fields(kind)})
    assert settlement_in(travelled(settlement_out(Settlement(1, 1, event)))).event == event


@pytest.mark.parametrize("kind", FROM_ELSEWHERE, ids=lambda kind: kind.__name__)
def test_a_handler_process_cannot_ask_for_what_is_not_a_handlers(kind: type[Any]) -> None:
    assert FROM_ELSEWHERE, "claim, cancel, revive and their like"
    row = settlement_out(Settlement(1, 1, ev.Skip(1, "x")))
    assert settlement_in(row).event == ev.Skip(1, "x")
    row[2] = kind.__name__
    with pytest.raises(KeyError):
        settlement_in(row)


def test_a_state_is_compact_json_within_its_limit() -> None:
    assert state_json({"a": [1, "ü"]}, 100) == '{"a":[1,"ü"]}'
    assert state_json("ü" * 4, 10)
    with pytest.raises(ValueError, match="pipeline_state has 12 bytes, over 11"):
        state_json("ü" * 5, 11)
    with pytest.raises(ValueError, match="not JSON compliant"):
        state_json(float("nan"), 100)


@pytest.mark.parametrize("bit", range(74))
def test_every_random_bit_of_an_id_is_in_its_text(bit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits that are not taken are the upper six of the first byte."""
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_123_456_789)

    def made(chance: int) -> uuid.UUID:
        monkeypatch.setattr("os.urandom", lambda size: chance.to_bytes(size, "big"))
        return uuid.UUID(new_id())

    assert made(0) != made(1 << bit)
    assert (made(1 << bit).version, made(1 << bit).variant) == (7, uuid.RFC_4122)
    assert made(1 << bit).int >> 80 == 1_700_000_000_123
