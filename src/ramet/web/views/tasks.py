"""Tasks: lists, one with its history, explanations, trees: readings, API routes and pages."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query

from ramet import AttemptLog, Client, Explanation, KeyExplanation, Task, TaskState, TreeGroup, TreePage, TreeTask
from ramet.commands.terminal import story
from ramet.engine.explain.explain import ExistingTask
from ramet.model.lineage.guard import GlobalHolder
from ramet.model.task.joined import JoinPlace, JoinRound
from ramet.model.task.task import Attempt, Block, TransitionRecord
from ramet.store.answers import TaskPage
from ramet.web.answer import Answer, AsObject, CauseAnswer, JsonText, cause_lines, pretty
from ramet.web.page import (
    After,
    BadInput,
    ClientDep,
    Id,
    Limit,
    NotFound,
    OptionalText,
    Page,
    Text,
    Visit,
    existing,
    no_task,
)
from ramet.web.views import costs
from ramet.web.views.task_time import ended_badly, folded, progress_of, time_bar

SCANS_MAX = 5
"""Scans of a list for rare tasks, beside the first page."""
SCAN_SIZE = 200
"""Tasks of one scan."""
ATTEMPTS_MAX = 500
"""Attempts, transitions and blocks shown of one task, the newest of each."""


TaskLine = Annotated[
    Task, AsObject("TaskLine", without={"payload", "ancestry_chain", "result"}, types={"why": str | None})
]
"""A task in a list."""
TaskList = Annotated[TaskPage, AsObject("TaskList", inner={Task: TaskLine})]
TreeGroupAnswer = Annotated[TreeGroup, AsObject()]
TreePageAnswer = Annotated[TreePage, AsObject("TwigList", inner={Task: TaskLine})]


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
    log: tuple[AttemptLog, ...]
    """Log lines of its newest attempts, where its kind keeps them."""


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


class TreeGroupList(Answer):
    """The branches of one level. The first 5,000 tasks are looked at; when there are more, every count says so."""

    branches: list[TreeGroupAnswer]


class TaskQuery(NamedTuple):
    """A filter of tasks."""

    tracking_id: str | None = None
    state: str | None = None
    kind: str | None = None
    key: str | None = None
    min_depth: int = 0
    limit: int = 50
    after: int = 0
    newest: bool = False
    tag: str | None = None


async def load_tasks(client: Client, asked: TaskQuery) -> TaskPage:
    """Return a page of tasks. Filters without an index are compared with a bounded number of tasks."""
    indexed = asked.key is not None
    many = asked.state in (None, TaskState.PENDING, TaskState.SUCCESS)
    depth = asked.min_depth if not indexed and many else 0
    kind = None if indexed else asked.kind
    page_of = partial(
        client.tasks, tracking_id=asked.tracking_id, states=() if asked.state is None else (asked.state,),
        kind=asked.kind if indexed else None, key=asked.key, min_depth=None if depth else asked.min_depth or None,
        newest=asked.newest, tag=asked.tag,
    )  # fmt: skip
    found: list[Task] = []
    after: int | None = asked.after
    for scan in range(1 + SCANS_MAX):
        begin, room = after or 0, asked.limit - len(found)
        page = await page_of(limit=SCAN_SIZE if scan else asked.limit, after=begin)
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


async def load_task(client: Client, task_id: str) -> TaskDetail:
    """Return a task with what it carries and what happened to it.

    Raises:
        NotFound: there is no such task.
    """
    found, checkpoint = existing(await client.history(task_id), no_task(task_id)), await client.checkpoint(task_id)
    one = found.task
    return TaskDetail(
        **{field.name: getattr(one, field.name) for field in fields(one)},
        history=found.attempts[-ATTEMPTS_MAX:],
        transitions=found.transitions[-ATTEMPTS_MAX:],
        blocks=found.blocks[:ATTEMPTS_MAX],
        links=found.links[:ATTEMPTS_MAX],
        pipeline_state=checkpoint and checkpoint.pipeline_state,
        progress=checkpoint and checkpoint.progress,
        log=tuple(await client.task_log(task_id)),
    )


FEW = 25
"""Most tasks of a level that are shown at once."""
BRANCHES_MAX = 4
"""Most kinds and states of a level that is shown at once: each costs a query."""


class Level(NamedTuple):
    """The roots of a lineage, or the children of a task."""

    of: dict[str, str | None]
    """``tracking_id`` or ``parent_id``: whose. The other one is None."""
    branches: tuple[TreeGroup, ...]
    twigs: tuple[TreeTask, ...] | None
    """All tasks of the level, where they are few."""


async def load_level(client: Client, *, tracking_id: str | None = None, parent_id: str | None = None) -> Level:
    """Return one level of a tree."""
    of = {"tracking_id": tracking_id, "parent_id": parent_id}
    branches = await client.branches(tracking_id=tracking_id, parent_id=parent_id)
    few = sum(branch.tasks.number for branch in branches) <= FEW and len(branches) <= BRANCHES_MAX
    if not few or any(branch.tasks.more for branch in branches):
        return Level(of, branches, None)
    twigs: list[TreeTask] = []
    for branch in branches:
        page = await client.twigs(
            tracking_id=tracking_id, parent_id=parent_id, kind=branch.kind, state=branch.state, limit=FEW
        )
        twigs += page.twigs
    return Level(of, branches, tuple(twigs))


ExistingTaskAnswer = Annotated[ExistingTask, AsObject()]


JOIN_ROWS = 25
"""Tasks of its last join on the page of a task."""
ROUNDS_MAX = 100
"""Joins of a task with a link of their own, the newest."""
JoinRoundAnswer = Annotated[JoinRound, AsObject()]


async def load_joined(
    client: Client, task_id: str, round_: int | None, *, after: JoinPlace | None, limit: int
) -> JoinRound:
    """Return a page of a join of a task.

    Raises:
        NotFound: there is no such task or join.
    """
    found = await client.joined(task_id, round_=round_, after=after, limit=limit)
    which = "it has not joined" if round_ is None else f"it has no join {round_}"
    return existing(found, f"task {task_id}: {which}, or there is no such task")


class ExplanationAnswer(Answer):
    """Why a task is where it is."""

    headline: str
    task: TaskLine
    why: list[CauseAnswer]
    """Present obstacles, the first is the headline; of an ended task its end and the reasons."""
    refused: list[CauseAnswer]
    """Why the first of its spawns were refused."""
    wanted: list[ExistingTaskAnswer]
    """Existing tasks that it asked for."""
    waits_behind: int
    """Tasks before it on its path, counted up to 1,000."""


KeyAnswer = Annotated[
    KeyExplanation,
    AsObject(
        "KeyAnswer",
        types={"why": list[CauseAnswer]},
        inner={Task: TaskLine, GlobalHolder: Annotated[GlobalHolder, AsObject("HolderAnswer")]},
    ),
]


async def load_explanation(client: Client, task_id: str) -> Explanation:
    """Explain from stored rows why a task is in its state.

    Raises:
        NotFound: there is no such task.
    """
    return existing(await client.explain(task_id), no_task(task_id))


def explanation_answer(found: Explanation) -> ExplanationAnswer:
    """Return the explanation for machines."""
    chain = found.path.chain
    return ExplanationAnswer(
        headline=found.headline,
        task=found.history.task,
        why=CauseAnswer.each(found.why),
        refused=CauseAnswer.each(found.refused),
        wanted=[*found.wanted],
        waits_behind=0 if chain is None else chain.before,
    )


async def load_key(client: Client, kind: str, key: str, tracking_id: str | None = None) -> KeyExplanation:
    """Explain who has a kind and key, in any spelling of the key.

    Raises:
        NotFound: nothing is known of it.
    """
    found = await client.explain_key(kind, key, tracking_id)
    if found is None:
        where = f"lineage {tracking_id}" if tracking_id else "the newest lineages"
        tried = ", ".join(map(repr, client.spellings(kind, key)))
        raise NotFound(f"no task and no refused spawn of kind {kind!r}, key {key!r} in {where} (compared: {tried})")
    return found


explain_router = APIRouter(tags=["explain"])


@explain_router.get("/explain")
async def explain_key(client: ClientDep, *, kind: Text, key: Text, tracking_id: OptionalText = None) -> KeyAnswer:
    """Explain tasks with a kind and key, in any spelling of the key; without a lineage among the newest."""
    return await load_key(client, kind, key, tracking_id)


async def explain_page(visit: Visit) -> dict[str, Any]:
    """Show the form, and the explanation of the task or key that was asked for."""
    task_id, kind, key = visit.text("task_id"), visit.text("kind"), visit.text("key")
    context: dict[str, Any] = {"asked_kind": kind, "asked_key": key, "asked_lineage": visit.text("tracking_id")}
    context |= {"known": None, "why": (), "found": None, "nothing": None}
    try:
        if task_id is not None:
            found = await load_explanation(visit.client, task_id)
            context |= {"found": found, "why": cause_lines(found.why)}
        elif kind is not None and key is not None:
            known = await load_key(visit.client, kind, key, visit.text("tracking_id"))
            context |= {"known": known, "why": cause_lines(known.why)}
    except NotFound as nothing:
        context["nothing"] = str(nothing)
    return context


EXPLAIN_PAGES = (Page("/explain", "explain", "explain.html", explain_page, live=False),)


router = APIRouter(tags=["tasks"])
NUMBER_MAX = 2**62


@router.get("/tasks")
async def list_tasks(
    client: ClientDep,
    *,
    tracking_id: OptionalText = None,
    state: TaskState | None = None,
    kind: OptionalText = None,
    key: OptionalText = None,
    min_depth: Annotated[int, Query(ge=0, le=1_000)] = 0,
    tag: OptionalText = None,
    limit: Limit = 50,
    after: After = 0,
) -> TaskList:
    """List tasks by lineage, state, kind, key, depth and tag, the oldest first."""
    return await load_tasks(client, TaskQuery(tracking_id, state, kind, key, min_depth, limit, after, tag=tag))


@router.get("/task")
async def read_task(client: ClientDep, *, task_id: Text) -> TaskAnswer:
    """Return one task with payload, result, attempts, transitions and refused spawns; the newest 500 of each."""
    return await load_task(client, task_id)


@router.get("/joined")
async def read_joined(
    client: ClientDep,
    *,
    task_id: Text,
    round_: Annotated[int | None, Query(alias="round", ge=1, le=NUMBER_MAX)] = None,
    place: Annotated[int | None, Query(ge=0, le=NUMBER_MAX)] = None,
    behind: Annotated[int, Query(ge=0, le=NUMBER_MAX)] = 0,
    limit: Limit = 50,
) -> JoinRoundAnswer:
    """List the tasks of a join (by default the last), in the order of their spawns. `next` begins the next page."""
    after = None if place is None else JoinPlace(place, behind)
    return await load_joined(client, task_id, round_, after=after, limit=limit)


@router.get("/tasks/{task_id:path}/explanation")
async def explain_task(client: ClientDep, task_id: Id) -> ExplanationAnswer:
    """Explain why a task is where it is: causes with a code, facts and remedies."""
    return explanation_answer(await load_explanation(client, task_id))


@router.get("/tasks/{task_id:path}")
async def read_task_at(client: ClientDep, task_id: Id) -> TaskAnswer:
    """Return the same as `/task?task_id=`."""
    return await load_task(client, task_id)


@router.get("/branches")
async def list_branches(
    client: ClientDep, *, tracking_id: OptionalText = None, parent_id: OptionalText = None
) -> TreeGroupList:
    """List the roots of a lineage, or the children of a task, by kind and state. Give one of the two."""
    return TreeGroupList(branches=[*await client.branches(**_parent_of(tracking_id, parent_id))])


@router.get("/twigs")
async def list_twigs(
    client: ClientDep,
    *,
    tracking_id: OptionalText = None,
    parent_id: OptionalText = None,
    kind: Text,
    state: TaskState,
    limit: Limit = 50,
    after: After = 0,
) -> TreePageAnswer:
    """List the tasks of one branch, each with its number of children."""
    parent = _parent_of(tracking_id, parent_id)
    return await client.twigs(**parent, kind=kind, state=state, limit=limit, after=after)


def _parent_of(tracking_id: str | None, parent_id: str | None) -> dict[str, str | None]:
    """Return the arguments that name one level of a tree."""
    if (tracking_id is None) == (parent_id is None):
        raise BadInput("give a tracking_id for the roots of a lineage, or a parent_id for the children of a task")
    return {"tracking_id": tracking_id, "parent_id": parent_id}


STATES = tuple(state.value for state in TaskState)
DEPTH_MAX = 1_000


def query_of(visit: Visit) -> TaskQuery:
    """Return the filter in the address."""
    return TaskQuery(
        visit.text("tracking_id"),
        visit.word("state", STATES),
        visit.text("kind"),
        visit.text("key"),
        visit.number("min_depth", 0, 0, DEPTH_MAX),
        visit.number("limit", 50, 1, 200),
        visit.number("after", 0, 0, NUMBER_MAX),
        tag=visit.text("tag"),
    )


ORDERS = ("newest", "oldest")
BULK_ACTS = {"failed": ("retry", "exclude"), "cancelled": ("retry",), "skipped": ("retry",), "filtered": ("retry",),
             "pending": ("cancel", "exclude"), "processing": ("cancel",)}  # fmt: skip
"""State -> bulk acts that apply to its tasks."""


async def tasks_page(visit: Visit) -> dict[str, Any]:
    """Show tasks by state, kind, key, depth, tag and lineage, the newest first."""
    asked = query_of(visit)._replace(newest=visit.word("order", ORDERS) != "oldest")
    narrowed = asked.kind or asked.key or asked.tracking_id or asked.min_depth or asked.tag
    return {
        "page_of_tasks": await load_tasks(visit.client, asked),
        "asked": asked,
        "states": STATES,
        "counts": {} if narrowed else await visit.client.state_counts(),
        # Only what a bulk act can be filtered by.
        "bulk_acts": () if asked.key or asked.tag or asked.min_depth else BULK_ACTS.get(asked.state or "", ()),
    }


def _pretty(value: Any) -> JsonText | None:
    return None if value is None else pretty(value)


async def task_page(visit: Visit) -> dict[str, Any]:
    """Show one task: its causes, its history, its data, the tasks that grew from it."""
    found = await load_explanation(visit.client, visit.id("task_id"))
    one, checkpoint = found.history.task, await visit.client.checkpoint(found.history.task.id)
    return {
        "found": found,
        "why": cause_lines(found.why),
        "refused": cause_lines(found.refused[:10]),
        "story": folded(story(found.history, most=ATTEMPTS_MAX)),
        "time": time_bar(found.history, visit.now),
        "ended_badly": ended_badly(one.state),
        "traceback": found.history.traceback,
        "payload": pretty(one.payload),
        "result": _pretty(one.result),
        "gathered": None
        if checkpoint is None or checkpoint.pipeline_state is None
        else pretty(checkpoint.pipeline_state),
        "progress": None if checkpoint is None else progress_of(checkpoint.progress),
        "logs": (await visit.client.task_log(one.id))[::-1],
        "join": await visit.client.joined(one.id, limit=JOIN_ROWS),
        "level": await load_level(visit.client, parent_id=one.id),
        "money": await costs.calls(visit.client, one.id),
        "here": visit.address,
    }


async def joined_page(visit: Visit) -> dict[str, Any]:
    """Show the tasks of a join, a page at a time."""
    task_id, round_ = visit.id("task_id"), visit.number("round", 0, 0, NUMBER_MAX) or None
    place = None if visit.text("place") is None else visit.number("place", 0, 0, NUMBER_MAX)
    after = None if place is None else JoinPlace(place, visit.number("behind", 0, 0, NUMBER_MAX))
    found = await load_joined(visit.client, task_id, round_, after=after, limit=100)
    rounds = range(max(1, found.rounds - ROUNDS_MAX + 1), found.rounds + 1)
    return {"found": found, "task_id": task_id, "rounds": rounds}


async def branches_page(visit: Visit) -> dict[str, Any]:
    """Show the roots of a lineage, or the children of a task, by kind and state."""
    of = _parent_of(visit.text("tracking_id"), visit.text("parent_id"))
    level = await load_level(visit.client, **of)
    if not level.branches and await _is_missing(visit, of):
        raise NotFound("there is no such task or lineage: it was never there, or it was pruned")
    return {"level": level}


async def _is_missing(visit: Visit, of: dict[str, str | None]) -> bool:
    if of["tracking_id"] is not None:
        return await visit.client.lineage(of["tracking_id"]) is None
    return await visit.client.get(of["parent_id"] or "") is None


async def twigs_page(visit: Visit) -> dict[str, Any]:
    """Show a page of the tasks of one branch."""
    of, kind, state = (
        _parent_of(visit.text("tracking_id"), visit.text("parent_id")),
        visit.text("kind"),
        visit.word("state", STATES),
    )
    if kind is None or state is None:
        raise BadInput("give the kind and the state of the branch")
    after, limit = visit.number("after", 0, 0, NUMBER_MAX), visit.number("limit", 50, 1, 200)
    found = await visit.client.twigs(**of, kind=kind, state=state, limit=limit, after=after)
    return {"found": found, "asked": {**of, "kind": kind, "state": state, "after": visit.text("after")}}


PAGES = (
    Page("/tasks", "tasks", "tasks.html", tasks_page),
    Page("/tasks/{task_id:path}", "task", "task.html", task_page),
    Page("/joined", "joined", "joined.html", joined_page),
    Page("/branches", "branches", "branches.html", branches_page, live=False),
    Page("/twigs", "twigs", "twigs.html", twigs_page, live=False),
    Page("/parts/branches", "branches-part", "parts/branches.html", branches_page, live=False),
    Page("/parts/twigs", "twigs-part", "parts/twigs.html", twigs_page, live=False),
)
