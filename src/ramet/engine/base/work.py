"""Messages between a supervisor and the process that runs handlers, and their encoding.

Frames are JSON with a length in front; nothing is pickled. Only the events listed here can be asked for by a handler
process.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import repeat, starmap
from operator import itemgetter
from typing import Any, NamedTuple

from ramet.engine.base.error_text import describe_error
from ramet.model.lineage.guard import BlockReason
from ramet.model.money import Charge
from ramet.model.reasons import Reason, inner, outer
from ramet.model.task import events as ev
from ramet.model.task.binding import ItemResult, ItemSettlement
from ramet.model.task.retry import ErrorClass, fingerprint
from ramet.model.task.task import NewTask, Standing
from ramet.model.values import REASON_CHARACTERS_MAX, read_json, storable
from ramet.store.answers import ClaimedTask, SettleResult, SpawnResult
from ramet.store.requests import Settlement, Write

FRAME_HEAD = 4
"""Bytes of the big-endian length in front of every frame."""


class Work(NamedTuple):
    """A claimed task as its handler's process sees it."""

    seq: int
    fence: int
    id: str
    tracking_id: str
    kind: str
    key: str
    parent_id: str | None
    payload: str
    ancestry_chain: str
    spawn_depth: int
    max_spawn_depth: int
    path: str | None
    """Its rule about paths as JSON: path, scope, ``on_dependency_failure``."""
    attempts: int
    max_attempts: int | None
    losses: int
    snoozes: int
    chain_depth: int
    stage: str | None
    pipeline_state: str | None
    created_at: float
    deadline_at: float | None
    ending: str | None = None
    ending_reason: str | None = None
    ending_facts: str | None = None
    unique_seconds: float | None = None
    resource: str | None = None
    payload_version: int | None = None
    """None for the first."""
    retry: str | None = None
    """Its own back-off (:attr:`ramet.model.task.task.NewTask.retry`); None for its kind's."""
    round: int = 0
    """Number of its joins so far."""
    after: int = 0
    """Number of tasks that it was created after."""


_GIVEN = (*Standing._fields, *ClaimedTask._fields[1:])
_OF_GIVEN = itemgetter(*map(_GIVEN.index, Work._fields))


def work_of(claimed: ClaimedTask) -> Work:
    """Return the handler's view of a claim."""
    # All of it in one step: this runs for every task.
    return tuple.__new__(Work, _OF_GIVEN(claimed.standing + claimed[1:]))


def _columns(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Rows as JSON values, column by column: a list of texts is written and read faster than many mixed rows.

    A column of equal values, as most are, has one of them; the first column has all, and tells how many rows there are.
    """
    first, *others = zip(*rows, strict=True)
    return [first, *(each[:1] if each.count(each[0]) == len(each) else each for each in others)]


def _rows(columns: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    count = len(columns[0])
    return zip(*(each if len(each) == count else repeat(each[0], count) for each in columns), strict=True)


def works_out(works: Sequence[Work]) -> list[Sequence[Any]]:
    """Claimed tasks, one or more, as JSON values."""
    return _columns(works)


def works_in(columns: Sequence[Sequence[Any]]) -> list[Work]:
    """Claimed tasks from JSON values."""
    return [tuple.__new__(Work, row) for row in _rows(columns)]


_EVENTS: dict[str, type[Any]] = {
    event.__name__: event
    for event in (
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
}


@lru_cache(maxsize=1_000)
def completed(fence: int) -> ev.Complete:
    """Return the completion of a handler that returned under this fence. Most tasks have the same low one, and the
    event never changes.
    """
    return ev.Complete(fence)


def succeeded(seq: int, fence: int, result: str | None) -> Settlement:
    """Return the settlement of a handler that only returned."""
    return Settlement(seq, fence, completed(fence), result)


def outcomes_out(items: Sequence[Settlement]) -> list[Any]:
    """Return outcomes as JSON values: task, fence and result of handlers that only returned, as most do, by column;
    then the others, each in full."""
    returned: list[tuple[int, int, str | None]] = []
    others: list[list[Any]] = []
    for item in items:
        if item.only_returned:
            returned.append((item.seq, item.fence, item.result))
        else:
            others.append(settlement_out(item))
    return [_columns(returned) if returned else [], others]


def outcomes_in(columns: Sequence[Sequence[Any]], others: Iterable[Sequence[Any]]) -> list[Settlement]:
    """Return outcomes from JSON values; one that cannot be understood is that task's error."""
    return [*starmap(succeeded, _rows(columns) if columns else ()), *map(outcome_in, others)]


def settlement_out(item: Settlement) -> list[Any]:
    """Return a settlement as JSON values."""
    event = item.event
    fields = [_field_out(getattr(event, name)) for name in type(event).__slots__]
    writes = [(write.sql, [_value_out(value) for value in write.parameters]) for write in item.writes]
    return [
        item.seq, item.fence, type(event).__name__, fields, item.result, item.spawns, writes, item.pipeline_state,
        item.progress, item.lower, item.charge, [*map(_item_out, item.items)], item.hold_seconds, item.switch_off,
        item.log,
    ]  # fmt: skip


def settlement_in(row: Sequence[Any]) -> Settlement:
    """Return a settlement from JSON values."""
    (
        seq, fence, name, fields, result, spawns, writes, pipeline_state, progress, lower, charge, items,
        hold_seconds, switch_off, log,
    ) = row  # fmt: skip
    event = _EVENTS[name](*map(_field_in, fields))
    if name == ev.Error.__name__:
        event = replace(event, waits=tuple(event.waits))
    elif name == ev.Join.__name__:
        event = replace(event, refused=tuple(map(tuple, event.refused)))
    return Settlement(
        seq=seq,
        fence=fence,
        event=event,
        result=result,
        spawns=[NewTask.listed(new) for new in spawns] if spawns else (),
        writes=[Write(sql, tuple(map(_value_in, parameters))) for sql, parameters in writes] if writes else (),
        pipeline_state=pipeline_state,
        progress=progress,
        lower=tuple((name, value) for name, value in lower) if lower else (),
        charge=None if charge is None else Charge(*charge),
        items=[_item_in(item) for item in items] if items else (),
        hold_seconds=hold_seconds,
        switch_off=switch_off,
        log=log,
    )


def _item_out(item: ItemSettlement) -> Sequence[Any]:
    if not item.writes:
        return item
    return [*item[:-1], [(sql, [_value_out(value) for value in parameters]) for sql, parameters in item.writes]]


def _item_in(row: Sequence[Any]) -> ItemSettlement:
    *fields, writes = row
    decoded = tuple((sql, tuple(map(_value_in, parameters))) for sql, parameters in writes)
    return ItemSettlement._make([*fields, decoded])


def outcome_in(row: Sequence[Any]) -> Settlement:
    """Return a task's outcome from JSON values; one that cannot be understood is that task's error."""
    try:
        return settlement_in(row)
    except Exception as error:
        seq, fence = row[:2]
        return unsettled(Settlement(seq, fence, ev.HandBack(fence)), "what it asked for cannot be understood", error)


def unsettled(item: Settlement, what: str, error: BaseException) -> Settlement:
    """Return the settlement as the error that it turned out to be; nothing that it asked for is kept."""
    text = str(describe_error(error))
    event = ev.Error(
        item.fence,
        storable(f"{what}: {text}", REASON_CHARACTERS_MAX),
        ErrorClass.UNCLASSIFIED.value,
        fingerprint(what, text),
        jitter=1.0,
    )
    return Settlement(item.seq, item.fence, event)


def _field_out(value: Any) -> Any:
    """Return a field of an event as a JSON value; a reason with a code becomes an object, which no other field is."""
    return inner(value) if isinstance(value, Reason) else value


def _field_in(value: Any) -> Any:
    return outer(value) if isinstance(value, dict) else value


def _value_out(value: Any) -> Any:
    """Return a parameter of a write as a JSON value; bytes become a list of one, which no parameter is."""
    return [base64.b64encode(value).decode()] if isinstance(value, bytes) else value


def _value_in(value: Any) -> Any:
    return base64.b64decode(value[0]) if isinstance(value, list) else value


def settled_in(row: Sequence[Any]) -> SettleResult:
    """Return an answer from JSON values."""
    seq, state, refused, spawns, reason, items, error = row
    decoded = [
        SpawnResult(new_id, kind, key, None if why is None else BlockReason(why), facts)
        for new_id, kind, key, why, facts in spawns
    ]
    return SettleResult(seq, state, refused, decoded, reason, [ItemResult(*item) for item in items], error)


def frame(message: Any) -> bytes:
    """One message, ready to be sent."""
    from pydantic_core import to_json

    body = to_json(message)
    return len(body).to_bytes(FRAME_HEAD, "big") + body


def unframe(body: bytes) -> Any:
    """Return the message of a frame's body.

    Raises:
        ValueError: it is not a message at all.
    """
    from pydantic_core import from_json

    try:
        return from_json(body, cache_strings="keys")
    except ValueError:
        # One value of it may be beyond what that reader takes: the others must not be lost with it.
        return read_json(body)


def _reference(value: object) -> object:
    """Return the reference of a blob in a state."""
    reference = getattr(value, "reference", None)
    if not isinstance(reference, dict):
        raise TypeError(f"a pipeline_state holds a {type(value).__name__}: give JSON values")
    return reference


def state_json(state: object, bytes_max: int) -> str:
    """Return a pipeline state as JSON text.

    Raises:
        ValueError: it is over the limit.
    """
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_reference)
    if len(text.encode()) > bytes_max:
        raise ValueError(
            f"pipeline_state has {len(text.encode())} bytes, over {bytes_max}: keep the large part in a blob"
        )
    return text
