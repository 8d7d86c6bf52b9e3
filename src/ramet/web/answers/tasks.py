"""Tasks: lists of them, and one with all that happened to it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any, NamedTuple

from ramet import Branch, Client, Task, TaskHistory, TaskState, Twig, TwigPage
from ramet.model.task.task import Attempt, Block, TransitionRecord
from ramet.store.base_queries import TaskPage
from ramet.web.answers.shared import Answer, AsObject
from ramet.web.page import NotFound

LOOKS_MAX = 5
"""So often more of a list is looked at where few of its tasks were wanted."""
LOOKED_AT = 200
"""So many tasks at a time."""
ATTEMPTS_MAX = 500
"""Attempts, transitions and blocks of one task that are told, each the newest so many."""


TaskLine = Annotated[
    Task, AsObject("TaskLine", without={"payload", "ancestry_chain", "result"}, types={"why": str | None})
]
"""A task in a list."""
BlockAnswer = Annotated[Block, AsObject()]
TaskList = Annotated[TaskPage, AsObject("TaskList", inner={Task: TaskLine})]
BranchAnswer = Annotated[Branch, AsObject()]
TwigList = Annotated[TwigPage, AsObject("TwigList", inner={Task: TaskLine})]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail(Task):
    """A task with what it carries and what happened to it."""

    history: tuple[Attempt, ...]
    transitions: tuple[TransitionRecord, ...]
    blocks: tuple[Block, ...]
    links: tuple[str, ...]
    """Ids of existing tasks that it asked for."""
    pipeline_state: Any
    """Results of its stages so far; JSON."""
    progress: Any
    """Progress that its handler reported last; JSON."""


TaskAnswer = Annotated[
    TaskDetail,
    AsObject(
        "TaskAnswer",
        types={"why": str | None},
        inner={
            Attempt: Annotated[Attempt, AsObject(without={"fingerprint"})],
            TransitionRecord: Annotated[TransitionRecord, AsObject("TransitionAnswer")],
        },
    ),
]


class BranchList(Answer):
    """The branches of one level. The first 5,000 tasks are looked at; when there are more, every count says so."""

    branches: list[BranchAnswer]


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


async def tasks(client: Client, asked: TaskQuery) -> TaskPage:
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
    return TaskPage(tuple(found), after)


async def history(client: Client, task_id: str) -> TaskHistory:
    """What is stored about a task.

    Raises:
        NotFound: there is no such task.
    """
    found = await client.history(task_id)
    if found is None:
        raise NotFound(f"no task {task_id}: it was never there, or its lineage was pruned")
    return found


async def task(client: Client, task_id: str) -> TaskDetail:
    """Return a task with what it carries and what happened to it.

    Raises:
        NotFound: there is no such task.
    """
    found, checkpoint = await history(client, task_id), await client.checkpoint(task_id)
    one = found.task
    return TaskDetail(
        **{field.name: getattr(one, field.name) for field in fields(one)},
        history=found.attempts[-ATTEMPTS_MAX:],
        transitions=found.transitions[-ATTEMPTS_MAX:],
        blocks=found.blocks[:ATTEMPTS_MAX],
        links=found.links[:ATTEMPTS_MAX],
        pipeline_state=checkpoint and checkpoint.pipeline_state,
        progress=checkpoint and checkpoint.progress,
    )


FEW = 25
"""A level of so many tasks is shown at once."""
BRANCHES_MAX = 4
"""Of so many kinds and states: each costs a look."""


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
