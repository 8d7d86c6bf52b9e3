"""Tasks: lists of them, and one with all that happened to it."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from pydantic import JsonValue

from ramet import Branch, Client, Task, TaskCheckpoint, TaskHistory, TaskState, Twig, TwigPage
from ramet.web.answers.shared import Answer, CountAnswer, json_value
from ramet.web.page import NotFound

LOOKS_MAX = 5
"""So often more of a list is looked at where few of its tasks were wanted."""
LOOKED_AT = 200
"""So many tasks at a time."""
ATTEMPTS_MAX = 500
"""Attempts, transitions and blocks of one task that are told, each the newest so many."""


class TaskLine(Answer):
    """A task in a list."""

    id: str
    tracking_id: str
    parent_id: str | None
    kind: str
    key: str
    queue: str
    priority: int
    state: TaskState
    reason: str | None
    error: str | None
    why: str | None
    """Why it is in this state, on one line: of a failed task the first line of its error."""
    spawn_depth: int
    max_spawn_depth: int
    created_at: float
    available_at: float | None
    finished_at: float | None
    attempts: int
    max_attempts: int | None
    losses: int
    snoozes: int
    chain_depth: int
    stage: str | None
    fence: int
    lease_until: float | None
    worker: str | None
    deadline_at: float | None
    wait: str | None
    bound_to: str | None
    resource: str | None
    path: list[str]
    pulled: bool
    claimed_at: float | None
    """When its present claim began."""


class TaskList(Answer):
    """Tasks in the order of their numbers: the oldest first."""

    tasks: list[TaskLine]
    """May be fewer than were asked for although there are more: see ``next_after``."""
    next_after: int | None
    """Given as ``after`` it continues behind this page; null at the end."""


class AttemptAnswer(Answer):
    """One claim and its outcome."""

    fence: int
    worker: str | None
    claimed_at: float
    ended_at: float
    outcome: str
    reason: str | None
    error: str | None
    error_class: str | None
    traceback: str | None
    """Where the error came from, at most 16 KB; told of the newest 20 failed attempts."""


class TransitionAnswer(Answer):
    """A change of state that no attempt tells."""

    name: str
    from_state: str
    to_state: str
    at: float
    by: str | None
    reason: str | None


class BlockAnswer(Answer):
    """A spawn that the guard refused: one for each lineage, kind, key and reason."""

    tracking_id: str
    kind: str
    key: str
    reason: str
    detail: str
    count: int
    first_parent: str
    last_parent: str
    winner: str | None
    first_at: float
    last_at: float
    reoffered_at: float | None
    reoffered_by: str | None


class TaskAnswer(TaskLine):
    """A task with what it carries and what happened to it."""

    ancestry_chain: list[str]
    payload: JsonValue
    result: JsonValue
    history: list[AttemptAnswer]
    transitions: list[TransitionAnswer]
    blocks: list[BlockAnswer]
    links: list[str]
    """Ids of existing tasks that it asked for."""
    pipeline_state: JsonValue
    """What its stages have gathered."""
    progress: JsonValue
    """What its handler last said about how far it is."""


class TaskQuery(NamedTuple):
    """Which tasks to list."""

    tracking_id: str | None = None
    state: str | None = None
    kind: str | None = None
    key: str | None = None
    min_depth: int = 0
    limit: int = 50
    after: int = 0
    newest: bool = False


async def tasks(client: Client, asked: TaskQuery) -> TaskList:
    """A page of tasks. What no index helps with is looked for among a bounded number of them."""
    indexed = asked.key is not None
    depth = asked.min_depth if not indexed and asked.state in (None, TaskState.SUCCESS) else 0
    kind = None if indexed else asked.kind
    page_of = partial(
        client.tasks, tracking_id=asked.tracking_id, states=() if asked.state is None else (asked.state,),
        kind=asked.kind if indexed else None, key=asked.key, min_depth=None if depth else asked.min_depth or None,
        newest=asked.newest,
    )  # fmt: skip
    found: list[Task] = []
    after: int | None = asked.after
    for look in range(1 + LOOKS_MAX):
        begin, room = after or 0, asked.limit - len(found)
        page = await page_of(limit=LOOKED_AT if look else asked.limit, after=begin)
        wanted = [
            number for number, one in enumerate(page.tasks, 1) if one.spawn_depth >= depth and kind in (None, one.kind)
        ]
        if len(wanted) > room:
            # More than there is room for: the same once more, up to where this page ends.
            page, wanted = await page_of(limit=wanted[room - 1], after=begin), wanted[:room]
        found += [page.tasks[number - 1] for number in wanted if number <= len(page.tasks)]
        after = page.next_after
        if after is None or len(found) >= asked.limit:
            break
    return TaskList(tasks=TaskLine.each(found), next_after=after)


async def history(client: Client, task_id: str) -> TaskHistory:
    """What is stored about a task.

    Raises:
        NotFound: there is no such task.
    """
    found = await client.history(task_id)
    if found is None:
        raise NotFound(f"no task {task_id}: it was never there, or its lineage was pruned")
    return found


async def task(client: Client, task_id: str) -> TaskAnswer:
    """A task with what it carries and what happened to it."""
    return task_answer(await history(client, task_id), await client.checkpoint(task_id))


def task_answer(found: TaskHistory, kept: TaskCheckpoint | None) -> TaskAnswer:
    """What is stored about a task, for machines."""
    one = found.task
    line = TaskLine.model_validate(one).model_dump()
    return TaskAnswer(
        **line,
        ancestry_chain=list(one.ancestry_chain),
        payload=json_value(one.payload),
        result=json_value(one.result),
        history=AttemptAnswer.each(found.attempts[-ATTEMPTS_MAX:]),
        transitions=TransitionAnswer.each(found.transitions[-ATTEMPTS_MAX:]),
        blocks=BlockAnswer.each(found.blocks[:ATTEMPTS_MAX]),
        links=list(found.links[:ATTEMPTS_MAX]),
        pipeline_state=None if kept is None else json_value(kept.pipeline_state),
        progress=None if kept is None else json_value(kept.progress),
    )


FEW = 25
"""A level of so many tasks is shown at once."""
BRANCHES_MAX = 4
"""Of so many kinds and states: each costs a look."""


class BranchAnswer(Answer):
    """Roots of a lineage, or children of a task, of one kind in one state."""

    kind: str
    state: str
    tasks: CountAnswer
    depth: int
    with_children: bool


class BranchList(Answer):
    """The branches of one level. The first 5,000 tasks are looked at; when there are more, every count says so."""

    branches: list[BranchAnswer]


class TwigAnswer(Answer):
    """A task of a branch."""

    task: TaskLine
    children: CountAnswer
    below: CountAnswer
    """Everything that grew from it."""


class TwigList(Answer):
    """Tasks of a branch, in the order of their numbers."""

    twigs: list[TwigAnswer]
    next_after: int | None
    """Given as ``after`` it continues behind this page; null at the end."""


class Level(NamedTuple):
    """The roots of a lineage, or the children of a task."""

    of: dict[str, str | None]
    """``tracking_id`` or ``parent_id``: whose. The other one is None."""
    branches: tuple[Branch, ...]
    twigs: tuple[Twig, ...] | None
    """All tasks of the level, where they are few."""


async def level(client: Client, *, tracking_id: str | None = None, parent_id: str | None = None) -> Level:
    """One level of a tree."""
    of = {"tracking_id": tracking_id, "parent_id": parent_id}
    branches = await client.branches(tracking_id=tracking_id, parent_id=parent_id)
    few = sum(branch.tasks.number for branch in branches) <= FEW and len(branches) <= BRANCHES_MAX
    if not few or any(branch.tasks.more for branch in branches):
        return Level(of, branches, None)
    twigs: list[Twig] = []
    for branch in branches:
        page = await client.twigs(
            tracking_id=tracking_id, parent_id=parent_id, kind=branch.kind, state=branch.state, limit=FEW
        )
        twigs += page.twigs
    return Level(of, branches, tuple(twigs))


def branch_list(branches: tuple[Branch, ...]) -> BranchList:
    """The branches for machines."""
    return BranchList(branches=BranchAnswer.each(branches))


def twig_list(page: TwigPage) -> TwigList:
    """A page of a branch for machines."""
    return TwigList(twigs=TwigAnswer.each(page.twigs), next_after=page.next_after)
