"""Actions on the flow of work: pause and limit queues and kinds, switch resources off and on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import Field, field_validator

from ramet import Client, ResourcePolicy
from ramet.commands.terminal import counted
from ramet.model.flow.resources import FAILURES_MAX, NAME_LENGTH_MAX
from ramet.model.paths import DEFAULT_QUEUE, path_key
from ramet.web.actions.action import Action, Done, Fields, Name, Person, Value, done, require
from ramet.web.answer import path_from_text
from ramet.web.page import existing

LARGEST = 1_000_000
Concurrency = Annotated[
    int | None,
    Field(ge=1, le=LARGEST, title="Claims at once over all workers", description="Empty or none: no limit."),
]  # fmt: skip


def _none(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


class OneQueue(Fields):
    """Name of a queue."""

    queue: Annotated[Name, Field(title="Queue")]


class BlockedQueue(OneQueue):
    """Name of a queue, and the task that comes once it has drained."""

    on_drained: Annotated[
        Name | None, Field(title="Kind to submit once it has drained", description="Empty: none.")
    ] = None
    payload: Annotated[Value | None, Field(title="Its payload", description="JSON; empty: null.")] = None


class LimitedQueue(OneQueue):
    """Name of a queue, and its limit."""

    concurrency: Concurrency = None
    _take_none = field_validator("concurrency", mode="before")(_none)


class LimitedKind(Fields):
    """Name of a kind, and its limit."""

    kind: Annotated[Name, Field(title="Kind")]
    concurrency: Concurrency = None
    _take_none = field_validator("concurrency", mode="before")(_none)


class OnePath(Fields):
    """A path, and the queue to which it belongs."""

    path: Annotated[Value, Field(min_length=1, max_length=2_000, title="Path",
                                 description="Elements with / between them, or a JSON list.")]  # fmt: skip
    queue: Annotated[Name, Field(title="Queue")] = DEFAULT_QUEUE


class OneResource(Fields):
    """Name of a resource."""

    resource: Annotated[Name, Field(title="Resource", max_length=NAME_LENGTH_MAX)]


class ResourcePolicyFields(Fields):
    """Limits of a resource."""

    pattern: Annotated[Name, Field(
        title="Resource", max_length=NAME_LENGTH_MAX, description="A name, or a prefix followed by *.",
    )]  # fmt: skip
    concurrency: Concurrency = None
    rate_per_second: Annotated[float | None, Field(
        gt=0, le=LARGEST, allow_inf_nan=False, title="Claims a second", description="Empty: no limit.",
    )] = None  # fmt: skip
    burst: Annotated[float, Field(ge=1, le=LARGEST, allow_inf_nan=False, title="As many at once after rest")] = 1.0
    breaker_failures: Annotated[int, Field(
        ge=0, le=LARGEST, title="Failures in a row that open its breaker", description="0: none.",
    )] = FAILURES_MAX  # fmt: skip
    cooldown_seconds: Annotated[float | None, Field(
        gt=0, le=366 * 86_400, allow_inf_nan=False, title="Seconds after which one task tries",
        description="Empty: only an operator closes it.",
    )] = None  # fmt: skip


async def _ask_pause(client: Client, fields: OneQueue) -> str:
    paused = any(one.name == fields.queue and one.paused_at is not None for one in await client.queues())
    require(not paused, f"queue {fields.queue} is paused already")
    held = (await client.usage()).queues.get(fields.queue, 0)
    return (
        f"Claims nothing more from queue {fields.queue} and stops the clocks of what began in it. "
        f"{counted(held, 'claim')} held now may run to the end."
    )


async def _pause(client: Client, fields: OneQueue, person: Person) -> Done:
    paused = await client.pause_queue(fields.queue, by=person.by, reason=person.reason)
    return done(paused, f"paused queue {fields.queue}", f"queue {fields.queue} is paused already", queue=fields.queue)


async def _ask_resume(client: Client, fields: OneQueue) -> str:
    paused = any(one.name == fields.queue and one.paused_at is not None for one in await client.queues())
    require(paused, f"queue {fields.queue} is not paused")
    return f"Claims from queue {fields.queue} again."


async def _resume(client: Client, fields: OneQueue, person: Person) -> Done:
    resumed = await client.resume_queue(fields.queue, by=person.by, reason=person.reason)
    return done(resumed, f"resumed queue {fields.queue}", f"queue {fields.queue} is not paused", queue=fields.queue)


async def _is_blocked(client: Client, queue: str) -> bool:
    return any(one.name == queue and one.blocked_at is not None for one in await client.queues())


async def _ask_block(client: Client, fields: BlockedQueue) -> str:
    require(not await _is_blocked(client, fields.queue), f"queue {fields.queue} is blocked already")
    return f"Refuses submits into queue {fields.queue}. What is in it runs on, and spawns of running lineages go on."


async def _block(client: Client, fields: BlockedQueue, person: Person) -> Done:
    require(fields.on_drained is not None or fields.payload is None, "a payload needs a kind: give on_drained")
    drained = None
    if fields.on_drained is not None:
        try:
            drained = (fields.on_drained, None if fields.payload is None else json.loads(fields.payload))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"payload: give JSON ({error})") from error
    blocked = await client.block_queue(fields.queue, on_drained=drained, by=person.by, reason=person.reason)
    name = fields.queue
    return done(blocked, f"blocked queue {name}", f"queue {name} is blocked already", queue=name)


async def _ask_unblock(client: Client, fields: OneQueue) -> str:
    require(await _is_blocked(client, fields.queue), f"queue {fields.queue} is not blocked")
    return f"Accepts submits into queue {fields.queue} again."


async def _unblock(client: Client, fields: OneQueue, person: Person) -> Done:
    unblocked = await client.unblock_queue(fields.queue, by=person.by, reason=person.reason)
    name = fields.queue
    return done(unblocked, f"unblocked queue {name}", f"queue {name} is not blocked", queue=name)


async def _is_paused(client: Client, path: Sequence[str], queue: str) -> bool:
    return any((one.path, one.queue, one.tracking_id) == (path, queue, None) for one in await client.path_pauses())


async def _ask_pause_path(client: Client, fields: OnePath) -> str:
    path = path_from_text(fields.path)
    require(not await _is_paused(client, path, fields.queue), f"path {path_key(path)} is paused already")
    return (
        f"Claims nothing more at path {path_key(path)} in queue {fields.queue} and below it. Tasks keep their places."
    )


async def _pause_path(client: Client, fields: OnePath, person: Person) -> Done:
    path = path_from_text(fields.path)
    paused = await client.pause_path(path, queue=fields.queue, by=person.by, reason=person.reason)
    shown = path_key(path)
    return done(paused, f"paused path {shown}", f"path {shown} is paused already", path=list(path), queue=fields.queue)


async def _ask_resume_path(client: Client, fields: OnePath) -> str:
    path = path_from_text(fields.path)
    require(await _is_paused(client, path, fields.queue), f"path {path_key(path)} is not paused")
    return f"Claims at path {path_key(path)} in queue {fields.queue} and below it again."


async def _resume_path(client: Client, fields: OnePath, person: Person) -> Done:
    path = path_from_text(fields.path)
    resumed = await client.resume_path(path, queue=fields.queue, by=person.by, reason=person.reason)
    shown = path_key(path)
    return done(resumed, f"resumed path {shown}", f"path {shown} is not paused", path=list(path), queue=fields.queue)


def _most(concurrency: int | None) -> str:
    return "without limit" if concurrency is None else f"at most {concurrency:,} at once"


async def _ask_limit(client: Client, fields: LimitedQueue | LimitedKind, *, what: str) -> str:
    name = fields.queue if isinstance(fields, LimitedQueue) else fields.kind
    usage = await client.usage()
    if what == "queue":
        held, now = usage.queues.get(name, 0), {one.name: one.concurrency for one in await client.queues()}.get(name)
    else:
        held, now = (
            usage.kinds.get(name, 0),
            {one.name: one.concurrency for one in await client.kind_limits()}.get(name),
        )
    return (
        f"Limits {what} {name} over all workers to what is given; it is {_most(now)} now, with "
        f"{counted(held, 'claim')} held. From then on what an app declares about it changes nothing."
    )


async def _limit(client: Client, fields: LimitedQueue | LimitedKind, person: Person, *, what: str) -> Done:
    name = fields.queue if isinstance(fields, LimitedQueue) else fields.kind
    await client.limit(what, name, fields.concurrency, by=person.by, reason=person.reason)
    return Done(f"{what} {name}: {_most(fields.concurrency)}", {what: name, "concurrency": fields.concurrency})


async def _ask_limit_resource(client: Client, fields: ResourcePolicyFields) -> str:
    return (
        f"Limits {fields.pattern}; limits that are not given stay as they are. From then on what an app declares about "
        "the given ones changes nothing."
    )


async def _limit_resource(client: Client, fields: ResourcePolicyFields, person: Person) -> Done:
    if "*" in fields.pattern[:-1]:
        raise ValueError(f"{fields.pattern!r} is not a valid pattern: give a name, or a prefix followed by one *")
    changes = {name: getattr(fields, name) for name in ResourcePolicy._fields[1:-1] if name in fields.model_fields_set}
    if not changes:
        raise ValueError("nothing to change: give at least one limit of the resource")
    policy = await client.change_resource(fields.pattern, by=person.by, reason=person.reason, **changes)
    return Done(f"limited resource {fields.pattern}", policy._asdict())


async def _ask_open(client: Client, fields: OneResource) -> str:
    name = fields.resource
    known = await client.resources(name)
    require(not any(one.opened_at is not None for one in known), f"the breaker of resource {name} is open already")
    held = (await client.usage()).resources.get(name, 0)
    new = "" if known else " No task has used it."
    return (
        f"Opens the breaker of resource {name}: nothing of it is claimed until the breaker is closed, or its cool-down "
        f"is over. {counted(held, 'claim')} held now may run to the end.{new}"
    )


async def _open(client: Client, fields: OneResource, person: Person) -> Done:
    opened = await client.open_breaker(fields.resource, by=person.by, reason=person.reason)
    name = fields.resource
    return done(
        opened,
        f"opened the breaker of resource {name}",
        f"the breaker of resource {name} is open already",
        resource=name,
    )


async def _ask_close(client: Client, fields: OneResource) -> str:
    name = fields.resource
    known = await client.resources(name)
    one = existing(known[0] if known else None, f"no task has used resource {name}")
    stopped = one.opened_at is not None or one.paused_until > client.clock.now()
    require(stopped, f"the breaker of resource {name} is closed already")
    why = one.opened_reason if one.opened_at is not None else one.paused_reason
    return f"Closes the breaker of resource {name} and ends its pause. Reason of the stop: {why or 'none given'}."


async def _close(client: Client, fields: OneResource, person: Person) -> Done:
    closed = await client.close_breaker(fields.resource, by=person.by, reason=person.reason)
    name = fields.resource
    return done(
        closed,
        f"closed the breaker of resource {name}",
        f"the breaker of resource {name} is closed already",
        resource=name,
    )


ACTIONS = (
    Action("block-queue", "Block queue", "Refuse submits into a queue.", BlockedQueue, _ask_block, _block),
    Action("unblock-queue", "Unblock queue", "Accept submits into a queue again.", OneQueue, _ask_unblock, _unblock),
    Action("pause-queue", "Pause queue", "Claim nothing more from a queue.", OneQueue, _ask_pause, _pause),
    Action(
        "pause-path", "Pause path", "Claim nothing more at a path and below it.", OnePath, _ask_pause_path, _pause_path
    ),
    Action(
        "resume-path", "Resume path", "Claim at a path and below it again.", OnePath, _ask_resume_path, _resume_path
    ),
    Action("resume-queue", "Resume queue", "Claim from a paused queue again.", OneQueue, _ask_resume, _resume),
    Action(
        "limit-queue",
        "Limit queue",
        "How many claims at once a queue may have.",
        LimitedQueue,
        partial(_ask_limit, what="queue"),
        partial(_limit, what="queue"),
    ),
    Action(
        "limit-kind",
        "Limit kind",
        "How many claims at once a kind may have.",
        LimitedKind,
        partial(_ask_limit, what="kind"),
        partial(_limit, what="kind"),
    ),
    Action(
        "limit-resource",
        "Limit resource",
        "Limits of a resource, or of every one with a prefix.",
        ResourcePolicyFields,
        _ask_limit_resource,
        _limit_resource,
    ),
    Action(
        "open-breaker",
        "Open breaker",
        "Open the breaker of a resource: nothing of it is claimed.",
        OneResource,
        _ask_open,
        _open,
        True,
    ),
    Action(
        "close-breaker",
        "Close breaker",
        "Close the breaker of a resource and end its pause.",
        OneResource,
        _ask_close,
        _close,
    ),
)
