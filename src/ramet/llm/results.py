"""Results of a job by row of its input: answer, cost, or the reason why there is none."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

from ramet import Client, Task
from ramet.llm.items import PROCESSING, SUBMITTING
from ramet.llm.jobs import Job
from ramet.llm.output_files import EXTRAS, OutputRow, own_name
from ramet.llm.providers.base import Mode, TokenUsage
from ramet.llm.rows import IndexedRow, own_columns, rows_of
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


class _ItemFacts(NamedTuple):
    """Facts of an item over all its submits."""

    cost: int = 0
    words: Mapping[str, Any] = {}
    """Text and details of the last answer that the item itself does not keep."""
    code: str | None = None
    usage: TokenUsage | None = None
    late: str | None = None


async def columns_of(client: Client, job: Job, *, prompt: bool = False) -> dict[str, str]:
    """Return the fields of results beside their own: columns of the input, and those of :data:`EXTRAS` in use.

    Args:
        prompt: whether the prompts are wanted.
    """
    found = {own_name(name): kind for name, kind in (await own_columns(client, job.job_id)).items()}
    wanted = {"prompt": prompt, "raw": job.settings.raw}
    return found | {name: kind for name, kind in EXTRAS.items() if wanted[name]}


async def output_rows(client: Client, job: Job, *, prompt: bool = False) -> AsyncIterator[OutputRow]:
    """Yield the result of each row so far.

    Args:
        prompt: whether the prompts are wanted.

    Raises:
        LookupError: the job was pruned.
    """
    items = _Items(client, job, prompt=prompt)
    async for row in rows_of(client, job.job_id):
        shared = items.is_named(row.key)
        yield _output(row, await items.get(row.key), shared=shared, job=job)


Item = tuple[Task, OutputRow]
"""The task of a question and its result, whose ``id`` is the model; the prompt is among its own columns."""


def item_kind(job: Job) -> str:
    """Return the kind of a job's questions."""
    return BATCH_ITEM if job.settings.mode is Mode.BATCH else ITEM


async def item_page(
    client: Client, job: Job, *, states: Sequence[str] = (), limit: int, after: int = 0
) -> tuple[list[Item], int | None]:
    """Return a page of a job's questions in these states (or all), and where the next page begins."""
    page = await client.tasks(tracking_id=job.job_id, kind=item_kind(job), states=states, limit=limit, after=after)
    return await _Items(client, job, prompt=True).of(page.tasks), page.next_after


async def item_of(client: Client, job: Job, task_id: str) -> Item | None:
    """Return one of a job's questions; None for a task that is none of them."""
    task = await client.get(task_id)
    if task is None or task.tracking_id != job.job_id or task.kind != item_kind(job):
        return None
    return (await _Items(client, job, prompt=True).of([task]))[0]


def _output(row: IndexedRow, item: OutputRow, *, shared: bool, job: Job) -> OutputRow:
    price = job.settings.prices.get(item.id)
    own = {own_name(name): value for name, value in row.columns.items()}
    return OutputRow(
        row.position, row.id, item.state, item.text, item.value, item.code, item.error, item.model, item.usage,
        0 if shared else item.cost, shared or item.shared,
        None if price is None else price.input, None if price is None else price.cached,
        None if price is None else price.output, item.late, item.details, own | dict(item.own),
    )  # fmt: skip


class _Items:
    """A job's items by their key."""

    def __init__(self, client: Client, job: Job, *, prompt: bool) -> None:
        self._client, self._job, self._prompt = client, job, prompt
        self._kind = item_kind(job)
        self._after: int | None = 0
        """Start of the next page."""
        self._kept: OrderedDict[str, OutputRow] = OrderedDict()
        self._named: set[bytes] = set()

    def is_named(self, key: str) -> bool:
        """Whether an earlier row asks the same."""
        return bytes.fromhex(key)[:16] in self._named

    async def get(self, key: str) -> OutputRow:
        """Return the outcome of an item; its ``id`` is the model that was asked.

        Raises:
            LookupError: it is not there any more.
        """
        if not self.is_named(key):
            self._named.add(bytes.fromhex(key)[:16])
            while key not in self._kept and self._after is not None:
                await self._read()
        if key not in self._kept:
            await self._read_again(key)
        self._kept.move_to_end(key)
        return self._kept[key]

    async def of(self, tasks: Sequence[Task]) -> list[Item]:
        """Return these tasks with their results."""
        await self._keep(tasks)
        return [(task, self._kept[task.key]) for task in tasks]

    async def _read(self) -> None:
        page = await self._client.tasks(
            tracking_id=self._job.job_id, kind=self._kind, limit=PAGE, after=self._after or 0
        )
        self._after = page.next_after
        await self._keep(page.tasks)

    async def _read_again(self, key: str) -> None:
        page = await self._client.tasks(tracking_id=self._job.job_id, kind=self._kind, key=key, exact=True, limit=1)
        if not page.tasks:
            raise LookupError(f"item {key} of job {self._job.name} is not there any more: was the job pruned?")
        await self._keep(page.tasks)

    async def _keep(self, tasks: Sequence[Task]) -> None:
        lanes = await self._lanes() if any(task.bound_to for task in tasks) else {}
        told = await _item_facts(self._client, tasks)
        for task in tasks:
            result: dict[str, Any] | None = task.result
            if result is not None and "blob" in result:
                result = await self._client.blob(result["blob"], self._job.job_id)
            row = _row_of(task, result, told.get(task.id, _ItemFacts()), lanes)
            if self._prompt:
                row.own = {**row.own, "prompt": await self._prompt_of(task)}
            self._kept[task.key] = row
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    async def _prompt_of(self, task: Task) -> str:
        """Return the words of the only message there is beside the system's, or the conversation as JSON."""
        payload = task.payload
        if payload.get("request") is not None:
            payload = await self._client.blob(payload["request"], self._job.job_id)
        messages = payload["messages"]
        asked = [message for message in messages if message["role"] != "system"]
        if len(asked) == 1 and isinstance(asked[0]["content"], str):
            return str(asked[0]["content"])
        return json.dumps(messages, ensure_ascii=False)

    async def _lanes(self) -> dict[str, str]:
        """Return the stage of each lane."""
        page = await self._client.tasks(tracking_id=self._job.job_id, kind=BATCH)
        return {task.id: task.stage or "" for task in page.tasks}


def _row_of(task: Task, result: dict[str, Any] | None, told: _ItemFacts, lanes: dict[str, str]) -> OutputRow:
    row = OutputRow(0, str(task.payload["model"]), _state(task, lanes), cost=told.cost, late=told.late)
    if result is not None:
        given, cached, answered = result["usage"]
        row.text, row.value, row.model = result["text"], result.get("value"), result.get("model")
        row.usage, row.details = TokenUsage(given, cached, answered), result
        row.own = {"raw": result["raw"]} if "raw" in result else {}
        row.shared = bool(result.get("cached"))
        return row
    if row.state in (ItemState.FAILED, ItemState.SKIPPED, ItemState.CANCELLED):
        reason = task.reason or row.state
        row.code, row.error = told.code or task.reason_code or reason.partition(":")[0].strip(), task.why or reason
        row.text, row.usage, row.details = told.words.get("text"), told.usage, told.words
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
        words = json.loads(answer) if answer else {}
        one = found.get(task_id, _ItemFacts())
        one = one._replace(cost=one.cost + int(cost))
        if late:
            one = one._replace(late=words.get("text"))
        else:
            one = one._replace(words=words, code=code, usage=TokenUsage(int(given), int(cached), int(answered)))
        found[task_id] = one
    for task_id, amount in await client.read(f"{_UNKNOWN} {marks}", ids):
        one = found.get(task_id, _ItemFacts())
        found[task_id] = one._replace(cost=one.cost + int(amount))
    return found
