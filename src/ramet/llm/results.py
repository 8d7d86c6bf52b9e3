"""How rows of named columns are put into a file: as lines of JSON or CSV, or as Parquet."""

from __future__ import annotations

import csv
import importlib
import io
import json
import sys
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from ramet import Client, Task
from ramet.commands.extras import import_extra
from ramet.commands.output_files import OutputError, harmless_cell, os_errors_as_user_errors, replaced
from ramet.llm.items import PROCESSING, SUBMITTING
from ramet.llm.jobs import IndexedRow, Job, rows_of
from ramet.llm.providers.base import Mode, TokenUsage
from ramet.llm.settings import BATCH, BATCH_ITEM, ITEM
from ramet.llm.status import ENDED, ItemState

GROUP_ROWS = 1_000
"""Rows of a group of a Parquet file, at most."""
GROUP_CHARACTERS = 8_000_000
"""Of the texts of a group, about."""

PARQUET_EXTRA = "'ramet[parquet]'"
"""The extra that installs what writes Parquet, as a shell is told."""


class RowWriter(Protocol):
    """Writes rows, each with a value for every column."""

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one more."""
        ...

    def finish(self) -> None:
        """All were written."""
        ...

    def abandon(self) -> None:
        """Nobody wants the file any more."""
        ...


class LineWriter:
    """One line a row: JSON, or CSV under a header."""

    def __init__(self, file: BinaryIO, columns: Mapping[str, str], *, as_csv: bool) -> None:
        self._file = file
        self._columns = columns
        self._csv = as_csv
        self._line = io.StringIO(newline="")
        self._cells = csv.writer(self._line)
        if as_csv:
            self._put_cells(list(columns))

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one more."""
        if self._csv:
            self._put_cells([_cell(row[name], kind) for name, kind in self._columns.items()])
        else:
            self._put(json.dumps(row, ensure_ascii=False) + "\n")

    def finish(self) -> None:
        """All were written."""
        self._file.flush()

    def abandon(self) -> None:
        """Nothing is held but the file, which is closed by who opened it."""

    def _put_cells(self, cells: list[Any]) -> None:
        self._line.seek(0)
        self._line.truncate()
        self._cells.writerow(cells)
        self._put(self._line.getvalue())

    def _put(self, line: str) -> None:
        # Half a surrogate pair, which UTF-8 has no bytes for, becomes the escape by which JSON writes it.
        self._file.write(line.encode(errors="backslashreplace"))


def _cell(value: Any, kind: str) -> Any:
    """A value for a table."""
    if value is None:
        return ""
    if kind == "flag":
        return str(value).lower()
    return harmless_cell(json.dumps(value, ensure_ascii=False) if kind == "json" else value)


class ParquetWriter:
    """Groups of rows, each written when it is full.

    Raises:
        ExtraMissing: pyarrow is not installed.
    """

    def __init__(self, file: BinaryIO, columns: Mapping[str, str]) -> None:
        self._arrow = import_extra("pyarrow", PARQUET_EXTRA)
        types = {
            "int": self._arrow.int64(),
            "flag": self._arrow.bool_(),
            "text": self._arrow.string(),
            "json": self._arrow.string(),
        }
        self._columns = columns
        self._schema = self._arrow.schema([(name, types[kind]) for name, kind in columns.items()])
        self._writer = importlib.import_module("pyarrow.parquet").ParquetWriter(file, self._schema)
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one more."""
        kept = {name: _storable(row[name], kind) for name, kind in self._columns.items()}
        self._rows.append(kept)
        self._characters += sum(len(value) for value in kept.values() if isinstance(value, str))
        if len(self._rows) >= GROUP_ROWS or self._characters >= GROUP_CHARACTERS:
            self._put()

    def finish(self) -> None:
        """All were written: the end of the file tells where the groups are."""
        if self._rows:
            self._put()
        self._writer.close()

    def abandon(self) -> None:
        """Close it while the file is open: it would do so by itself when it is collected, and complain."""
        self._rows.clear()
        try:
            self._writer.close()
        except OSError:
            # What was on its way to a full disk; the reason was told when it was written.
            self._writer.is_open = False

    def _put(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows.clear()
        self._characters = 0


def _storable(value: Any, kind: str) -> Any:
    """A value for Parquet, which has no bytes for half a surrogate pair either."""
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False) if kind == "json" else value
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text


STDOUT = "-"


class OutputFormat(StrEnum):
    """How rows are written."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


_FORMATS = {
    ".jsonl": OutputFormat.JSONL,
    ".ndjson": OutputFormat.JSONL,
    ".json": OutputFormat.JSONL,
    ".csv": OutputFormat.CSV,
    ".parquet": OutputFormat.PARQUET,
}


@dataclass(slots=True)
class OutputRow:
    """What became of a row of the input; the fields are told above. Amounts are integers."""

    position: int
    id: str
    state: str
    text: str | None = None
    value: Any = None
    code: str | None = None
    error: str | None = None
    model: str | None = None
    usage: TokenUsage | None = None
    cost: int = 0
    """Nano-dollars."""
    shared: bool = False
    """An earlier row asked the same: the answer is its, and so is the cost."""
    input_price: int | None = None
    cached_price: int | None = None
    output_price: int | None = None
    late: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The row as it is written, in the order of the columns."""
        usage = self.usage
        return {
            "position": self.position,
            "id": self.id,
            "state": self.state,
            "text": self.text,
            "value": self.value,
            "code": self.code,
            "error": self.error,
            "model": self.model,
            "input_tokens": None if usage is None else usage.input_tokens,
            "cached_tokens": None if usage is None else usage.cached_tokens,
            "output_tokens": None if usage is None else usage.output_tokens,
            "cost_nanodollars": self.cost,
            "shared": self.shared,
            "input_price": self.input_price,
            "cached_price": self.cached_price,
            "output_price": self.output_price,
            "late": self.late,
        }


COLUMNS = {
    "position": "int",
    "id": "text",
    "state": "text",
    "text": "text",
    "value": "json",
    "code": "text",
    "error": "text",
    "model": "text",
    "input_tokens": "int",
    "cached_tokens": "int",
    "output_tokens": "int",
    "cost_nanodollars": "int",
    "shared": "flag",
    "input_price": "int",
    "cached_price": "int",
    "output_price": "int",
    "late": "text",
}
"""Every field -> its type, in the order in which they are written."""


def format_of(path: Path | str, format: str | None = None) -> OutputFormat:
    """How to write: as told, else by the end of the file's name; standard output gets JSON Lines.

    Raises:
        OutputError: neither tells, or it cannot go there.
    """
    told = format or (OutputFormat.JSONL if str(path) == STDOUT else _FORMATS.get(Path(path).suffix.lower()))
    if told not in list(OutputFormat):
        raise OutputError(f"cannot tell how to write {path}; say jsonl, csv or parquet")
    if told == OutputFormat.PARQUET and str(path) == STDOUT:
        raise OutputError("Parquet cannot be written to standard output; name a file")
    return OutputFormat(told)


async def write_rows(
    rows: AsyncIterable[OutputRow] | Iterable[OutputRow], path: Path | str, format: str | None = None
) -> int:
    """Write rows to a file, or to standard output where the path is ``-``.

    When it fails, what was at the path stays as it was.

    Args:
        rows: in the order of the input.
        path: a file, its folder exists.
        format: ``jsonl``, ``csv`` or ``parquet``; None: by the file's name.

    Returns:
        How many rows there were.

    Raises:
        OutputError: it cannot be written there.
        ExtraMissing: Parquet, and pyarrow is not installed.
    """
    count = 0
    with open_output(path, format) as write:
        if isinstance(rows, AsyncIterable):
            async for row in rows:
                write(row)
                count += 1
        else:
            for row in rows:
                write(row)
                count += 1
    return count


@contextmanager
def open_output(path: Path | str, format: str | None = None) -> Iterator[Callable[[OutputRow], None]]:
    """What writes one row after another; the file takes its place when the block ends well.

    Raises:
        OutputError, ExtraMissing: as for :func:`write_rows`, also by what writes.
    """
    form = format_of(path, format)
    if str(path) == STDOUT:
        sys.stdout.flush()
        lines = LineWriter(sys.stdout.buffer, COLUMNS, as_csv=form is OutputFormat.CSV)
        yield lambda row: lines.write(row.as_json())
        sys.stdout.buffer.flush()
        return
    with replaced(Path(path)) as file:
        with os_errors_as_user_errors(path):
            writer: RowWriter
            if form is OutputFormat.PARQUET:
                writer = ParquetWriter(file, COLUMNS)
            else:
                writer = LineWriter(file, COLUMNS, as_csv=form is OutputFormat.CSV)

        def write(row: OutputRow) -> None:
            with os_errors_as_user_errors(path):
                writer.write(row.as_json())

        try:
            yield write
            with os_errors_as_user_errors(path):
                writer.finish()
        except BaseException:
            writer.abandon()
            raise


PAGE = 1_000
KEPT = 10_000
"""Answers that are kept for rows that ask the same."""


_ANSWERS = (
    "SELECT task_id, late, code, input_tokens, cached_tokens, output_tokens, cost, answer FROM llm_answers "
    "WHERE task_id IN"
)
_UNKNOWN = "SELECT task_id, amount FROM llm_ambiguous WHERE outcome = 'unknown' AND task_id IN"


class _ItemFacts(NamedTuple):
    """What is known of an item, of all its submits."""

    cost: int = 0
    words: str | None = None
    """Of the last answer that the item itself does not keep."""
    code: str | None = None
    usage: TokenUsage | None = None
    late: str | None = None


async def output_rows(client: Client, job: Job) -> AsyncIterator[OutputRow]:
    """What became of each row so far.

    Raises:
        LookupError: the job was pruned.
    """
    items = _Items(client, job)
    async for row in rows_of(client, job.job_id, job.settings.index):
        shared = row.item < items.seen
        yield _output(row, await items.get(row.item), shared=shared, job=job)


def _output(row: IndexedRow, item: OutputRow, *, shared: bool, job: Job) -> OutputRow:
    price = job.settings.prices.get(item.id)
    return OutputRow(
        row.position, row.id, item.state, item.text, item.value, item.code, item.error, item.model, item.usage,
        0 if shared else item.cost, shared,
        None if price is None else price.input, None if price is None else price.cached,
        None if price is None else price.output, item.late,
    )  # fmt: skip


class _Items:
    """A job's items by their number."""

    def __init__(self, client: Client, job: Job) -> None:
        self._client, self._job = client, job
        self._kind = BATCH_ITEM if job.settings.mode is Mode.BATCH else ITEM
        self._after: int | None = 0
        """Where the next page begins."""
        self._ids: list[bytes] = []
        """Of every item that was read, joined by pages."""
        self._kept: OrderedDict[int, OutputRow] = OrderedDict()
        self.seen = 0
        """Items that a row has named."""

    async def get(self, number: int) -> OutputRow:
        """What became of an item; its ``id`` is the model that was asked.

        Raises:
            LookupError: it is not there any more.
        """
        self.seen = max(self.seen, number + 1)
        while len(self._ids) <= number // PAGE and self._after is not None:
            await self._read()
        if number not in self._kept:
            await self._read_again(number)
        self._kept.move_to_end(number)
        return self._kept[number]

    async def _read(self) -> None:
        page = await self._client.tasks(
            tracking_id=self._job.job_id, kind=self._kind, limit=PAGE, after=self._after or 0
        )
        self._after = page.next_after
        await self._keep(len(self._ids) * PAGE, page.tasks)
        self._ids.append(b" ".join(task.id.encode() for task in page.tasks))

    async def _read_again(self, number: int) -> None:
        ids = self._ids[number // PAGE].split(b" ") if number // PAGE < len(self._ids) else []
        task = await self._client.get(ids[number % PAGE].decode()) if number % PAGE < len(ids) else None
        if task is None:
            raise LookupError(f"item {number} of job {self._job.name} is not there any more: was the job pruned?")
        await self._keep(number, [task])

    async def _keep(self, first: int, tasks: Sequence[Task]) -> None:
        lanes = await self._lanes() if any(task.bound_to for task in tasks) else {}
        told = await _item_facts(self._client, tasks)
        for number, task in enumerate(tasks, first):
            self._kept[number] = _row_of(task, told.get(task.id, _ItemFacts()), lanes)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    async def _lanes(self) -> dict[str, str]:
        """The stage of each lane."""
        page = await self._client.tasks(tracking_id=self._job.job_id, kind=BATCH)
        return {task.id: task.stage or "" for task in page.tasks}


def _row_of(task: Task, told: _ItemFacts, lanes: dict[str, str]) -> OutputRow:
    row = OutputRow(0, str(task.payload["model"]), _state(task, lanes), cost=told.cost, late=told.late)
    if task.result is not None:
        result: dict[str, Any] = task.result
        given, cached, answered = result["usage"]
        row.text, row.value, row.model = result["text"], result.get("value"), result.get("model")
        row.usage = TokenUsage(given, cached, answered)
        return row
    if row.state in (ItemState.FAILED, ItemState.SKIPPED, ItemState.CANCELLED):
        reason = task.reason or row.state
        row.code, row.error = told.code or task.reason_code or reason.partition(":")[0].strip(), task.why or reason
        row.text, row.usage = told.words, told.usage
    return row


def _state(task: Task, lanes: dict[str, str]) -> str:
    ended = ENDED.get(task.state)
    if ended is not None:
        return ended
    stage = task.stage if task.bound_to is None else lanes.get(task.bound_to)
    if stage == SUBMITTING:
        return ItemState.SUBMITTING
    return ItemState.PROCESSING if stage == PROCESSING else ItemState.QUEUED


async def _item_facts(client: Client, tasks: Sequence[Task]) -> dict[str, _ItemFacts]:
    """Costs of all answers of these tasks, and the words that the tasks do not keep."""
    if not tasks:
        return {}
    marks = f"({', '.join('?' * len(tasks))})"
    ids = [task.id for task in tasks]
    found: dict[str, _ItemFacts] = {}
    for task_id, late, code, given, cached, answered, cost, answer in await client.read(
        f"{_ANSWERS} {marks} ORDER BY answered_at", ids
    ):
        words = json.loads(answer)["text"] if answer else None
        one = found.get(task_id, _ItemFacts())
        one = one._replace(cost=one.cost + int(cost))
        if late:
            one = one._replace(late=words)
        else:
            one = one._replace(words=words, code=code, usage=TokenUsage(int(given), int(cached), int(answered)))
        found[task_id] = one
    for task_id, amount in await client.read(f"{_UNKNOWN} {marks}", ids):
        one = found.get(task_id, _ItemFacts())
        found[task_id] = one._replace(cost=one.cost + int(amount))
    return found
