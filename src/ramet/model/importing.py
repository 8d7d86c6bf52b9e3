"""Rows of another queue as tasks: what each field means here (docs/guides/migrating.md).

Pure: a row is a mapping of whatever a file had. An invalid row is refused with :class:`RowError`, which names the field
and says what to do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ramet.model.keys import InvalidKey, text_key, url_key
from ramet.model.paths import InvalidPath, path_of
from ramet.model.task.task import LIVE, TaskState

ID_LENGTH_MAX = 200
KIND_LENGTH_MAX = 200
ERROR_LENGTH_MAX = 10_000
COUNT_MAX = 1_000_000
DEPTH_MAX = 1_000
"""Largest ``max_spawn_depth`` of an imported lineage: every task names its ancestors."""
PATH_LENGTH_MAX = 100
PATH_BYTES_MAX = 16_384
SECONDS_MIN, SECONDS_MAX = 0.0, 10_000_000_000.0
MILLISECONDS_MIN = 100_000_000_000.0
"""A number at least this large is milliseconds: as seconds it would be in the year 5138."""

FORMATS = ("jsonl", "csv", "sqlite")
"""Formats of files with rows."""

FIELDS = frozenset(
    "id type url status retry_count max_retries error_details parent_item_id tracking_id ancestry_chain spawn_depth "
    "max_spawn_depth pipeline_stage pipeline_state queue_hint document_id created_at completed_at sub_task".split()
)
"""Columns that have a meaning; all others become part of the payload."""
ALIASES = {
    "kind": "type",
    "state": "status",
    "error": "error_details",
    "parent_id": "parent_item_id",
    "retries": "retry_count",
    "stage": "pipeline_stage",
    "finished_at": "completed_at",
    "ended_at": "completed_at",
}
"""Other names of columns. ``queueHint`` and its like are read as ``queue_hint``."""

_P, _S, _F = TaskState.PENDING, TaskState.SUCCESS, TaskState.FAILED
STATES: dict[str, TaskState] = {
    **dict.fromkeys("pending queued waiting new discovered retry retrying scheduled ready created".split(), _P),
    **dict.fromkeys("processing running claimed in_progress started active loaded".split(), TaskState.PROCESSING),
    **dict.fromkeys("success succeeded done complete completed ok finished processed".split(), _S),
    **dict.fromkeys("failed failure error dead".split(), _F),
    **dict.fromkeys("skipped skip ignored excluded".split(), TaskState.SKIPPED),
    **dict.fromkeys("filtered filter rejected".split(), TaskState.FILTERED),
    **dict.fromkeys("cancelled canceled aborted".split(), TaskState.CANCELLED),
}
"""Their word for a state to ours. ``processing`` arrives pending: no claim of another system means anything here."""

ADVANCED = ("pending", "processing", "cancelled", "failed", "skipped", "filtered", "success")
"""States from the least to the most advanced: of rows with one identity the most advanced wins."""

IMPORTED = "imported"
"""Name in the state of a task that starts at its first stage for what its row had: ``stage`` and ``pipeline_state``."""

Takeover = Callable[[str | None, dict[str, Any]], tuple[str | None, dict[str, Any]] | None]
"""Function from a row's stage and pipeline_state to those at which a kind's handler goes on; None: it starts over."""

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_UNSTORABLE_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000|[\ud800-\udfff]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class RowError(ValueError):
    """A row that cannot be imported; the message names the field and says what to do."""


class Rules(NamedTuple):
    """Rules of an import, chosen by the caller."""

    kinds: Mapping[str, str] = {}
    """Their type to our kind; a type that is not named keeps its name."""
    states: Mapping[str, TaskState] = {}
    """Their status to our state, over :data:`STATES`."""
    columns: Mapping[str, str] = {}
    """Their column to one of :data:`FIELDS`."""
    payload_column: str | None = None
    """The column that is the payload, as it is; None makes an object of the URL and all other columns."""
    takeovers: Mapping[str, Takeover] = {}
    """Takeovers by our kind."""
    held_seconds: Mapping[str, float] = {}
    """Most seconds for which an ended row holds its unique key, by our kind."""


class ImportedRow(NamedTuple):
    """A row, understood. JSON-friendly: it is kept as text between two passes over a file."""

    id: str
    kind: str
    key: str
    payload: Any
    status: str
    """Their word."""
    state: str
    """A :class:`~ramet.model.task.task.TaskState`; ``processing`` for what was running there."""
    retry_count: int
    max_attempts: int | None
    """None: what the kind gives."""
    error: str | None
    parent_id: str | None
    tracking_id: str | None
    max_spawn_depth: int | None
    stage: str | None
    pipeline_state: Any
    path: list[str] | None
    """Path from ``queueHint``, or ``[documentId]``; of a live row the place at which it waits."""
    created_at: float | None
    ended_at: float | None = None
    resource: str | None = None
    """Resource that tasks of its kind share."""
    spawn_depth: int = 0
    """Its depth there: where its parent is nowhere, its depth here too."""
    step: str | None = None
    """Step of the row, where a piece of work has a row for each step."""

    @property
    def attempts(self) -> int:
        """Attempts made: a live row has made one for each retry that was counted, an ended one a last one too."""
        live = self.state in ("pending", "processing")
        made = self.retry_count + (0 if live else 1)
        if self.max_attempts is None:
            return made
        return min(made, self.max_attempts - 1 if live else self.max_attempts)


def column_name(name: str, rules: Rules) -> str:
    """Return the field that a column is, or its own name."""
    if name in rules.columns:
        return rules.columns[name]
    snake = _CAMEL.sub("_", name.strip()).lower()
    snake = "sub_task" if snake.endswith("_sub_task") else ALIASES.get(snake, snake)
    return snake if snake in FIELDS else name


def parse_row(row: Mapping[str, Any], rules: Rules) -> ImportedRow:
    """Return a row as what it means here.

    Raises:
        RowError: a field is missing or makes no sense.
    """
    fields: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for column, value in row.items():
        name = column_name(column, rules)
        if name == "sub_task":  # It tells rows apart, and may be of use to a handler.
            rest[column] = value
        if column == rules.payload_column or name not in FIELDS:
            rest[column] = value
        elif name in fields and value not in (None, "") and fields[name] not in (None, "", value):
            raise RowError(f"{name} is given twice, as {_shown(fields[name])} and {_shown(value)}: keep one of them")
        elif fields.get(name) in (None, ""):
            fields[name] = value
    for column, value in _dotted(row, rules).items():
        # Values of an object count only for rows that lack them.
        name = column_name(column, rules)
        if column == rules.payload_column:
            rest[column] = value
        elif fields.get(name) in (None, ""):
            fields[name] = value
    own = _text(fields, "id", ID_LENGTH_MAX, needed=True)
    tracking_id = _text(fields, "tracking_id", ID_LENGTH_MAX)
    chain = _strings(fields, "ancestry_chain")
    ancestors = [item for item in chain if item not in (own, tracking_id)]
    parent_id = _text(fields, "parent_item_id", ID_LENGTH_MAX) or (ancestors[-1] if ancestors else None)
    kind = _text(fields, "type", KIND_LENGTH_MAX, needed=True)
    status, state = _state(fields, rules)
    retries_max = _count(fields, "max_retries", COUNT_MAX)
    url = _text(fields, "url", 100_000)
    stage = _text(fields, "pipeline_stage", ID_LENGTH_MAX)
    error = fields.get("error_details")
    return ImportedRow(
        id=own,
        kind=rules.kinds.get(kind, kind),
        key=_key(url, own),
        payload=_payload(url, rest, rules),
        status=status,
        state=state,
        retry_count=_count(fields, "retry_count", COUNT_MAX) or 0,
        max_attempts=None if retries_max is None else retries_max + 1,
        error=None if error in (None, "") else _stored(_as_text(error), "error_details")[:ERROR_LENGTH_MAX],
        parent_id=parent_id or None,
        tracking_id=tracking_id or None,
        max_spawn_depth=_count(fields, "max_spawn_depth", DEPTH_MAX),
        stage=stage or ("loaded" if status == "loaded" else None),
        pipeline_state=_json(fields, "pipeline_state"),
        path=_path(fields, live=state in LIVE),
        created_at=_moment(fields, "created_at"),
        ended_at=_moment(fields, "completed_at"),
        spawn_depth=_count(fields, "spawn_depth", COUNT_MAX) or 0,
        step=_text(fields, "sub_task", ID_LENGTH_MAX) or None,
    )


def from_first_stage(row: ImportedRow, takeover: Takeover | None) -> ImportedRow:
    """Return the row with the stage and the state that its kind's handler goes on from.

    Without a word of its kind the handler starts at its first stage: what another queue's stages left is nothing that
    it may take for its own.
    """
    stage, state = row.stage, row.pipeline_state
    if stage is None and state is None:
        return row
    own = {} if state is None else state
    # A name with $ is the engine's own.
    known = takeover is not None and isinstance(own, dict) and not any(name[:1] == "$" for name in own)
    taken = takeover(stage, own) if takeover is not None and known else None
    if taken is None:
        taken = None, {IMPORTED: {"stage": stage, "pipeline_state": state}}
    return row._replace(stage=taken[0], pipeline_state=taken[1] or None)


def _dotted(row: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """Split columns with dots: ``input.url`` is ``url`` in the object, or the JSON text, of column ``input``."""
    found = {}
    for column in (*rules.columns, rules.payload_column or ""):
        name, *steps = column.split(".")
        value = row.get(name) if steps and column not in row else None
        for step in steps:
            if isinstance(value, str) and value[:1] == "{":
                value = _parsed(value, column)
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is not None:
            found[column] = value
    return found


def state_on_arrival(state: str) -> str:
    """Return the state in which a row arrives: what was running there has to be claimed here again."""
    return TaskState.PENDING.value if state == TaskState.PROCESSING else state


def storable(text: str, what: str) -> str:
    """JSON text that every database can hold.

    Raises:
        RowError: it has a NUL or a lone surrogate.
    """
    if _UNSTORABLE_JSON.search(text):
        raise RowError(f"{what} has a NUL or half a character: remove it")
    return text


def as_json(value: Any, what: str, bytes_max: int) -> str:
    """Return a value as the JSON text that is stored.

    Raises:
        RowError: JSON has no such value, it is too large, or no database can hold it.
    """
    try:
        # As submits write it, so that what they take fits here too.
        text = storable(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")), what)
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, RowError):
            raise
        raise RowError(f"{what} is not valid JSON ({error}): correct it") from error
    size = len(text.encode())
    if size > bytes_max:
        raise RowError(f"{what} has {size} bytes, over {bytes_max}: keep the large part elsewhere, with a reference")
    return text


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _stored(text: str, name: str) -> str:
    if found := _UNSTORABLE.search(text):
        raise RowError(f"{name} has the character {found[0]!a}: remove it")
    return text


def _text(fields: Mapping[str, Any], name: str, length_max: int, *, needed: bool = False) -> str:
    """Return a field as text; the empty string where it is missing."""
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise RowError(f"{name} is {_shown(value)}: give it as text")
    text = "" if value is None else str(value).strip()
    if needed and not text:
        raise RowError(f"{name} is missing: every row needs one")
    if len(text) > length_max:
        raise RowError(f"{name} has {len(text)} characters, over {length_max}: shorten it")
    return _stored(text, name)


def _count(fields: Mapping[str, Any], name: str, count_max: int) -> int | None:
    value = fields.get(name)
    if value is None or value == "":
        return None
    try:
        if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
            raise ValueError
        if isinstance(value, str) and len(value) > 20:
            raise ValueError
        count = int(value)
    except (ValueError, TypeError, OverflowError):
        raise RowError(f"{name} is {_shown(value)}: give a whole number") from None
    if not 0 <= count <= count_max:
        raise RowError(f"{name} is {_shown(value)}: give a number from 0 to {count_max}")
    return count


def _parsed(value: Any, name: str) -> Any:
    """JSON text of a format that knows text only, such as CSV, as its value."""
    try:
        return json.loads(value, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RowError(f'{name} is not valid JSON: write it like ["a"] or {{"n": 1}}') from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


def _json(fields: Mapping[str, Any], name: str) -> Any:
    value = fields.get(name)
    if value is None or value == "":
        return None
    return _parsed(value, name) if isinstance(value, str) else value


def _strings(fields: Mapping[str, Any], name: str) -> list[str]:
    value = fields.get(name)
    if value is None or value == "":
        return []
    if isinstance(value, str):
        value = _parsed(value, name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RowError(f"{name} is {_shown(value)}: give a list of texts")
    return [_stored(item, name) for item in value]


def _path(fields: Mapping[str, Any], *, live: bool) -> list[str] | None:
    """Return the path of a row; an ended row keeps the one it had, a live one must have a valid path."""
    hint, document = fields.get("queue_hint"), _text(fields, "document_id", PATH_BYTES_MAX)
    if hint is None or hint == "":
        if not document:
            return None
        path = [document]
    else:
        path = _strings(fields, "queue_hint") if not isinstance(hint, str) or hint.startswith("[") else [hint]
    if len(path) > PATH_LENGTH_MAX or len(json.dumps(path)) > PATH_BYTES_MAX:
        raise RowError(f"queue_hint has over {PATH_LENGTH_MAX} elements or {PATH_BYTES_MAX} bytes: shorten it")
    try:
        path_of(path if live else ())
    except InvalidPath as error:
        raise RowError(f"queue_hint: {error}") from None
    return path


def _state(fields: Mapping[str, Any], rules: Rules) -> tuple[str, str]:
    status = _text(fields, "status", ID_LENGTH_MAX)
    if not status:
        return "", TaskState.PENDING.value
    word = status.lower().replace("-", "_").replace(" ", "_")
    state = rules.states.get(status) or rules.states.get(word) or STATES.get(word)
    if state is None:
        raise RowError(f"status is {_shown(status)}: say what it means with --status {status[:40]}=STATE")
    return word if word in ("loaded",) else status, state.value


def _key(url: str, own: str) -> str:
    try:
        if "://" in url:
            return url_key(url)
        return text_key(url or own)
    except InvalidKey as error:
        raise RowError(f"url is {_shown(url)}: {error}") from None


def _payload(url: str, rest: dict[str, Any], rules: Rules) -> Any:
    if rules.payload_column is None:
        return {**rest, **({"url": url} if url else {})}
    value = rest.get(rules.payload_column)
    if isinstance(value, str) and value[:1] in ("{", "["):
        return _parsed(value, rules.payload_column)
    return value


def _moment(fields: Mapping[str, Any], name: str) -> float | None:
    """Unix seconds from a date in ISO 8601 (without a zone: UTC), or from seconds or milliseconds since 1970."""
    value = fields.get(name)
    if value is None or value == "":
        return None
    wrong = RowError(f"{name} is {_shown(value)}: give a date like 2025-09-30T12:00:00Z, or Unix seconds")
    if isinstance(value, str):
        try:
            seconds = float(value)
        except ValueError:
            try:
                moment = datetime.fromisoformat(value.strip())
                seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError):
                raise wrong from None
    elif isinstance(value, Mapping) and value.keys() & {"_seconds", "seconds"}:
        return _moment({name: value.get("_seconds", value.get("seconds"))}, name)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong
    else:
        seconds = float(value) if abs(value) < 1e300 else math.inf
    if seconds >= MILLISECONDS_MIN:
        seconds /= 1_000.0
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise wrong
    return seconds


def advance_of(state: str) -> int:
    """Return how far a row has come, for comparison; larger wins."""
    return ADVANCED.index(state)


def parse_pairs(words: Sequence[str], option: str) -> dict[str, str]:
    """``A=B`` options as a mapping.

    Raises:
        RowError: one has no ``=``, or a side is empty.
    """
    pairs = {}
    for word in words:
        left, equals, right = word.partition("=")
        if not equals or not left or not right:
            raise RowError(f"{option} {word} is not a pair: write it like {option} theirs=ours")
        pairs[left] = right
    return pairs
