"""What is in the database must be what the provider did: one checker for crashes, faults and ended jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ramet import Client, Task
from ramet.llm.calls import ClaimedJob as JobInHand
from ramet.llm.calls import calling, judged, request_of
from ramet.llm.jobs import Job, find_job
from ramet.llm.providers.base import AnswerState, Mode
from ramet.llm.requests import Request
from ramet.llm.rows import rows_of
from ramet.llm.settings import BATCH_ITEM, ITEM, ItemPayload
from tests.invariants.check import violations
from tests.llm.crashes.billing_provider import WORDS, BillingProvider, Taken


@dataclass
class Books:
    """A job that ended, as the database has it."""

    job: Job
    hand: JobInHand
    tasks: list[Task]
    """Its items, in the order of the input."""
    rows: int
    """Of the input, that the index has."""
    row_items: set[str]
    """Keys of the items that answer rows."""
    reserved: dict[str, tuple[int, int | None, bool]]
    """By the submit's name: amount, what was booked, whether it is open still."""
    answers: dict[tuple[str, str], tuple[str, int, int]]
    """By task and submit: state, cost, late."""
    ambiguous: dict[str, str]
    """By submit: what came of it."""
    ended: list[Any]


async def read_books(client: Client, name: str) -> Books:
    """The books of a job."""
    job = await find_job(client, name)
    kind = BATCH_ITEM if job.settings.mode is Mode.BATCH else ITEM
    tasks = [task async for task in client.all_tasks(tracking_id=job.job_id, kind=kind)]
    rows = [row async for row in rows_of(client, job.job_id)]
    reserved = await client.read(
        "SELECT id, amount, actual, settled_at IS NULL AND closed_at IS NULL FROM ramet_reservations"
    )
    answers = await client.read("SELECT task_id, submit_key, state, cost, late FROM llm_answers")
    return Books(
        job,
        await calling.job(client, job.job_id),
        tasks,
        len(rows),
        {row.key for row in rows},
        {name.replace(".submit", "."): (amount, actual, bool(open_)) for name, amount, actual, open_ in reserved},
        {(task_id, key): (state, int(cost), int(late)) for task_id, key, state, cost, late in answers},
        dict(await client.read("SELECT submit_key, outcome FROM llm_ambiguous")),
        await client.read("SELECT state, succeeded, failed FROM llm_jobs"),
    )


async def wrong(client: Client, provider: BillingProvider, name: str = "job", *, cut_short: bool = False) -> list[str]:
    """One line for everything in which a job that ended differs from what the provider did.

    Args:
        cut_short: a person or a limit ended it: what was at the provider then may be answered late.
    """
    books = await read_books(client, name)
    found = await violations(client.store)
    found += _complete(books, cut_short)
    found += _nothing_lost(books, provider)
    found += _money(books, provider)
    if not cut_short:
        found += _as_asked(books)
    return found


def _complete(books: Books, cut_short: bool) -> Iterator[str]:
    settings = books.job.settings
    if books.rows != settings.rows or books.row_items != {task.key for task in books.tasks}:
        yield f"{books.rows} rows of {settings.rows}, for items {sorted(books.row_items)}"
    if len(books.tasks) != settings.items:
        yield f"{len(books.tasks)} items, not {settings.items}"
    for task in books.tasks:
        if not task.state.terminal:
            yield f"item {_word(task)} is {task.state}"
        if (task.result is None) != (task.state != "success") or (task.result is None and not task.reason):
            yield f"item {_word(task)} is {task.state} with result {task.result} and reason {task.reason}"
    succeeded = sum(task.state == "success" for task in books.tasks)
    if [(row[1], row[2]) for row in books.ended] != [(succeeded, len(books.tasks) - succeeded)]:
        yield f"the job's last row is {books.ended}; {succeeded} items succeeded"
    if books.job.lineage.ended_at is None:
        yield f"the job is {books.job.lineage.state}"
    if not cut_short and any(late for _, _, late in books.answers.values()):
        yield "an answer is late, and nothing ended before it came"


def _nothing_lost(books: Books, provider: BillingProvider) -> Iterator[str]:
    """Every answer is kept, or its submit is one of which nobody knew. So nothing was asked twice unrecorded."""
    tasks = {task.key: task for task in books.tasks}
    names = [taken.submit_key for taken in provider.taken.values()]
    if len(set(names)) != len(names):
        yield f"a name was taken on twice: {sorted(names)}"
    given = set()
    for taken in provider.taken.values():
        unknown = books.ambiguous.get(taken.submit_key) == "unknown"
        for key, answer in taken.answers.items():
            task = tasks[key]
            one = judged(books.hand, _request(task), answer)
            row = books.answers.get((task.id, taken.submit_key))
            given.add((task.id, taken.submit_key))
            if row is None and not unknown:
                yield f"the answer to {_word(task)} under {taken.submit_key} is lost, and nobody wrote it down"
            elif row is not None and row[:2] != (one.state, one.cost):
                yield f"the answer to {_word(task)} is kept as {row}, it was {one.state} for {one.cost}"
    for task_id, submit_key in set(books.answers) - given:
        yield f"there is an answer for {task_id} under {submit_key} that nobody gave"
    for task in books.tasks:
        rows = [row for (task_id, _), row in books.answers.items() if task_id == task.id]
        good = sum(state == AnswerState.SUCCEEDED and not late for state, _, late in rows)
        if good != (task.state == "success"):
            yield f"item {_word(task)} is {task.state} with {good} good answers"


def _money(books: Books, provider: BillingProvider) -> Iterator[str]:
    """Booked is what was billed, and whole reservations of submits that are written down as unknown."""
    lineage, total = books.job.lineage, 0
    tasks = {task.key: task for task in books.tasks}
    taken = {one.submit_key: one for one in provider.taken.values()}
    for name in taken.keys() - books.reserved.keys():
        yield f"{name} was submitted without a reservation"
    for name, (amount, actual, open_) in books.reserved.items():
        if open_:
            yield f"the reservation of {name} is open"
        booked = amount if actual is None else actual
        total += booked
        bill = _bill(books, tasks, taken.get(name))
        allowed = {bill}
        if books.ambiguous.get(name) == "unknown":
            # Where the process died with the answer in hand, or a refusal, its price was booked before.
            in_hand = books.job.settings.mode is Mode.CHAT or name not in taken
            allowed = {amount, bill} if in_hand else {amount}
        if booked not in allowed:
            told = books.ambiguous.get(name, "certain")
            yield f"{name} ({told}) is booked with {booked} of {amount}, it cost {bill}"
        if bill > amount:
            yield f"{name} cost {bill}, more than the {amount} that were reserved"
    if (lineage.spent, lineage.reserved) != (total, 0):
        yield f"the job spent {lineage.spent} and reserved {lineage.reserved}; its submits are booked with {total}"


def _bill(books: Books, tasks: dict[str, Task], taken: Taken | None) -> int:
    """What a submit cost; whole where the provider does not tell."""
    if taken is None:
        return 0
    return sum(judged(books.hand, _request(tasks[key]), answer).cost for key, answer in taken.answers.items())


def _as_asked(books: Books) -> Iterator[str]:
    """What becomes of a question depends on the question, not on who died in between."""
    for task in books.tasks:
        if task.state != WORDS[_word(task)]:
            yield f"item {_word(task)} is {task.state}: {task.reason}"


def _word(task: Task) -> str:
    return str(task.payload["messages"][0]["content"])


def _request(task: Task) -> Request:
    return request_of(task.key, ItemPayload.model_validate(task.payload))
