"""A job's results: one row for each row of its input, in its order, at any time.

Items are read in the order of their creation, which is that in which the rows first name them, so a job of millions of
rows needs little memory: an id for each item, and the answers of the rows at hand. A row that asks what a far
earlier one asked reads that answer again, by the id of its item.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

from ramet import Client, Task
from ramet.llm.index import IndexedRow, rows_of
from ramet.llm.items import PROCESSING, SUBMITTING
from ramet.llm.jobs import Job
from ramet.llm.providers.base import Mode, Usage
from ramet.llm.results import OutputRow
from ramet.llm.settings import BATCH, BATCH_ITEM, ITEM
from ramet.llm.status import ENDED, ItemState

PAGE = 1_000
KEPT = 10_000
"""Answers that are kept for rows that ask the same."""


_ANSWERS = (
    "SELECT task_id, late, code, input_tokens, cached_tokens, output_tokens, cost, answer FROM llm_answers "
    "WHERE task_id IN"
)
_UNKNOWN = "SELECT task_id, amount FROM llm_ambiguous WHERE outcome = 'unknown' AND task_id IN"


class _Told(NamedTuple):
    """What is known of an item, of all its submits."""

    cost: int = 0
    words: str | None = None
    """Of the last answer that the item itself does not keep."""
    code: str | None = None
    usage: Usage | None = None
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
        told = await _told(self._client, tasks)
        for number, task in enumerate(tasks, first):
            self._kept[number] = _row_of(task, told.get(task.id, _Told()), lanes)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    async def _lanes(self) -> dict[str, str]:
        """The stage of each lane."""
        page = await self._client.tasks(tracking_id=self._job.job_id, kind=BATCH)
        return {task.id: task.stage or "" for task in page.tasks}


def _row_of(task: Task, told: _Told, lanes: dict[str, str]) -> OutputRow:
    row = OutputRow(0, str(task.payload["model"]), _state(task, lanes), cost=told.cost, late=told.late)
    if task.result is not None:
        result: dict[str, Any] = task.result
        given, cached, answered = result["usage"]
        row.text, row.value, row.model = result["text"], result.get("value"), result.get("model")
        row.usage = Usage(given, cached, answered)
        return row
    if row.state in (ItemState.FAILED, ItemState.SKIPPED, ItemState.CANCELLED):
        reason = task.reason or row.state
        row.code, row.error = told.code or reason.partition(":")[0].strip(), task.why or reason
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


async def _told(client: Client, tasks: Sequence[Task]) -> dict[str, _Told]:
    """Costs of all answers of these tasks, and the words that the tasks do not keep."""
    if not tasks:
        return {}
    marks = f"({', '.join('?' * len(tasks))})"
    ids = [task.id for task in tasks]
    found: dict[str, _Told] = {}
    for task_id, late, code, given, cached, answered, cost, answer in await client.read(
        f"{_ANSWERS} {marks} ORDER BY answered_at",
        ids,
    ):
        words = json.loads(answer)["text"] if answer else None
        one = found.get(task_id, _Told())
        one = one._replace(cost=one.cost + int(cost))
        if late:
            one = one._replace(late=words)
        else:
            one = one._replace(words=words, code=code, usage=Usage(int(given), int(cached), int(answered)))
        found[task_id] = one
    for task_id, amount in await client.read(f"{_UNKNOWN} {marks}", ids):
        one = found.get(task_id, _Told())
        found[task_id] = one._replace(cost=one.cost + int(amount))
    return found
