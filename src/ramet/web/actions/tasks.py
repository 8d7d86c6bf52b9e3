"""Actions on single tasks: retry, cancel, exclude."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ramet import Client, Task, TaskState, display_key
from ramet.commands.terminal import counted
from ramet.model.values import PRIORITY_MAX
from ramet.web.actions.action import Action, Done, Fields, Name, Person, done, require
from ramet.web.page import existing

EXTEND_SECONDS_MAX = 366 * 86_400.0
Extend = Annotated[
    float | None,
    Field(
        gt=0, le=EXTEND_SECONDS_MAX, allow_inf_nan=False, title="Let its lineage live at least so long (seconds)",
        description="From now; needed where the lineage's deadline has passed.",
    ),
]  # fmt: skip
TaskId = Annotated[Name, Field(title="Task")]


class OneTask(Fields):
    """Id of a task."""

    task_id: TaskId


class RetryTaskFields(OneTask):
    """Id of a task, and the extension of its lineage."""

    extend_seconds: Extend = None


class Reprioritised(OneTask):
    """Id of a task, and its new priority."""

    priority: Annotated[int, Field(ge=-PRIORITY_MAX, le=PRIORITY_MAX, title="Priority",
                                   description="The largest goes first.")]  # fmt: skip


class Rescheduled(OneTask):
    """Id of a task, and when it may run."""

    delay_seconds: Annotated[float, Field(ge=0, le=EXTEND_SECONDS_MAX, allow_inf_nan=False, title="Seconds from now",
                                          description="0: now.")]  # fmt: skip


async def _task(client: Client, task_id: str) -> Task:
    return existing(await client.get(task_id), f"no task {task_id}: its lineage lists tasks with their ids")


def label_of(task: Task) -> str:
    """Return a task in words."""
    return f"task {task.id} ({task.kind} {display_key(task.key)})"


async def _ask_retry(client: Client, fields: RetryTaskFields) -> str:
    task = await _task(client, fields.task_id)
    why = f"{label_of(task)} is {task.state}: only an ended, unsuccessful task can be retried"
    require(task.state.terminal and task.state is not TaskState.SUCCESS, why)
    return f"Gives {label_of(task)}, which is {task.state}, new attempts under its old identity."


async def _retry(client: Client, fields: RetryTaskFields, person: Person) -> Done:
    task = await _task(client, fields.task_id)
    revived = await client.revive(
        [task.id], by=person.by, reason=person.reason, extend_seconds=fields.extend_seconds
    )  # fmt: skip
    why = f"{label_of(task)} is {task.state}: only an ended, unsuccessful task can be retried"
    return done(bool(revived), f"revived {label_of(task)}", why, revived=revived)


async def _ask_cancel(client: Client, fields: OneTask) -> str:
    task = await _task(client, fields.task_id)
    require(not task.state.terminal, f"nothing to cancel: {label_of(task)} is {task.state} already")
    running = " Its handler is notified; a late result is refused." if task.state is TaskState.PROCESSING else ""
    return f"Cancels {label_of(task)}, which is {task.state}.{running} Its descendants continue."


async def _cancel(client: Client, fields: OneTask, person: Person) -> Done:
    task = await _task(client, fields.task_id)
    cancelled = await client.cancel(task.id, by=person.by, reason=person.reason)
    why = f"nothing to cancel: {label_of(task)} has ended already"
    return done(cancelled, f"cancelled {label_of(task)}", why, task_id=task.id)


async def _ask_cancel_tree(client: Client, fields: OneTask) -> str:
    task = await _task(client, fields.task_id)
    lineage = await client.lineage(task.tracking_id)
    live = 0 if lineage is None else lineage.live
    require(live > 0, f"nothing to cancel: no task of lineage {task.tracking_id} is live any more")
    children = (await client.child_counts([task.id])).get(task.id, 0)
    return (
        f"Cancels {label_of(task)} and all its descendants ({counted(children, 'child', 'children')} and all "
        f"below), now and later. Its lineage has {counted(live, 'live task')}. Running handlers are notified; "
        "late results are refused."
    )


async def _cancel_tree(client: Client, fields: OneTask, person: Person) -> Done:
    task = await _task(client, fields.task_id)
    cancelled = await client.cancel(task.id, tree=True, by=person.by, reason=person.reason)
    why = f"nothing to cancel: {label_of(task)} and everything below it is over already"
    return done(cancelled, f"cancelled {label_of(task)} and everything below it", why, task_id=task.id)


async def _ask_exclude(client: Client, fields: OneTask) -> str:
    task = await _task(client, fields.task_id)
    can = task.state in (TaskState.PENDING, TaskState.FAILED, TaskState.CANCELLED)
    require(can, f"{label_of(task)} is {task.state}: only a pending, failed or cancelled task can be excluded")
    return (
        f"Takes {label_of(task)}, which is {task.state}, out for good: it is skipped, and nothing of its kind and key "
        "is spawned again in its lineage, nor elsewhere where the kind is unique over all lineages. A retry undoes it."
    )


async def _exclude(client: Client, fields: OneTask, person: Person) -> Done:
    task = await _task(client, fields.task_id)
    excluded = await client.exclude([task.id], by=person.by, reason=person.reason)
    why = f"{label_of(task)} is {task.state}: only a pending, failed or cancelled task can be excluded"
    return done(bool(excluded), f"excluded {label_of(task)}", why, excluded=excluded)


async def _pending(client: Client, fields: OneTask, done: str) -> Task:
    task = await _task(client, fields.task_id)
    why = f"{label_of(task)} is {task.state}: only a pending task can be {done}"
    require(task.state is TaskState.PENDING, why)
    return task


async def _ask_reprioritise(client: Client, fields: Reprioritised) -> str:
    task = await _pending(client, fields, "reprioritised")
    return (
        f"Gives {label_of(task)} another priority than {task.priority}: of tasks that may be claimed the largest goes."
    )


async def _reprioritise(client: Client, fields: Reprioritised, person: Person) -> Done:
    task = await _pending(client, fields, "reprioritised")
    was = await client.reprioritise(task.id, fields.priority, by=person.by, reason=person.reason)
    return Done(f"{label_of(task)} has priority {fields.priority}; it had {was}", {"task_id": task.id, "was": was})


async def _ask_reschedule(client: Client, fields: Rescheduled) -> str:
    task = await _pending(client, fields, "rescheduled")
    return f"Moves the moment from which {label_of(task)} may be claimed."


async def _reschedule(client: Client, fields: Rescheduled, person: Person) -> Done:
    task = await _pending(client, fields, "rescheduled")
    at = await client.reschedule(task.id, delay_seconds=fields.delay_seconds, by=person.by, reason=person.reason)
    when = "now" if not fields.delay_seconds else f"in {fields.delay_seconds:g} s"
    return Done(f"{label_of(task)} may be claimed {when}", {"task_id": task.id, "available_at": at})


ACTIONS = (
    Action(
        "reprioritise",
        "Change priority",
        "Give a pending task another priority.",
        Reprioritised,
        _ask_reprioritise,
        _reprioritise,
        open=frozenset({"priority"}),
    ),
    Action(
        "reschedule",
        "Reschedule",
        "Move the moment from which a pending task may run.",
        Rescheduled,
        _ask_reschedule,
        _reschedule,
        open=frozenset({"delay_seconds"}),
    ),
    Action(
        "retry", "Retry task", "Give an ended, unsuccessful task new attempts.", RetryTaskFields, _ask_retry, _retry
    ),
    Action("cancel", "Cancel task", "Cancel one task; what grew from it goes on.", OneTask, _ask_cancel, _cancel, True),
    Action(
        "cancel-tree",
        "Cancel task and all below",
        "Cancel a task and everything that grew from it, now and later.",
        OneTask,
        _ask_cancel_tree,
        _cancel_tree,
        True,
    ),
    Action(
        "exclude",
        "Exclude task",
        "Take a task out for good; its identity stays taken.",
        OneTask,
        _ask_exclude,
        _exclude,
        True,
    ),
)
