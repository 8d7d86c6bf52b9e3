"""Every place where a program's or a person's text enters through a client: how it is given, and how it comes back."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from ramet import Client, ResourcePolicy
from ramet.model.keys import text_key

Give = Callable[[Client, str, str], Awaitable[Any]]
"""(client, text, a mark that no earlier text had): whether it came back as it was given; None where only asked."""


class Field(NamedTuple):
    """One of them."""

    name: str
    give: Give
    storing: bool = True
    """Whether the text is stored; a lookup only asks for it."""


async def _task(client: Client, **options: Any) -> Any:
    submitted = await client.submit("child", {"a": 1}, **options)
    task = await client.get(submitted.id)
    assert task is not None
    return task


async def _payload(client: Client, text: str, mark: str) -> bool:
    submitted = await client.submit("child", {"said": text, text: 1}, key=mark)
    task = await client.get(submitted.id)
    return task is not None and task.payload == {"said": text, text: 1}


async def _key(client: Client, text: str, mark: str) -> bool:
    return bool((await _task(client, key=f"{mark}{text}")).key == text_key(f"{mark}{text}"))


async def _queue(client: Client, text: str, mark: str) -> bool:
    return bool((await _task(client, key=mark, queue=text)).queue == text)


async def _kind(client: Client, text: str, mark: str) -> bool:
    submitted = await client.submit(text, {"a": 1}, key=mark)
    task = await client.get(submitted.id)
    return task is not None and task.kind == text


async def _tracking_id(client: Client, text: str, mark: str) -> bool:
    return bool((await _task(client, key=mark, tracking_id=f"{mark}{text}")).tracking_id == f"{mark}{text}")


async def _path(client: Client, text: str, mark: str) -> bool:
    task = await _task(client, key=mark, path=[mark, text])
    page = await client.paths([mark, text])
    return [found.task_id for found in page.tasks] == [task.id]


async def _recorded(client: Client, by: str, reason: str) -> bool:
    return [(act.by, act.reason) for act in await client.acts(limit=1)] == [(by, reason)]


async def _reason_of_cancel(client: Client, text: str, mark: str) -> bool:
    task = await _task(client, key=mark)
    assert await client.cancel(task.id, by="me", reason=text)
    ended = await client.get(task.id)
    return ended is not None and text in str(ended.reason)


async def _by_of_revive(client: Client, text: str, mark: str) -> bool:
    task = await _task(client, key=mark)
    await client.cancel(task.id)
    return await client.revive([task.id], by=text, reason=text) == [task.id]


async def _reason_of_exclude(client: Client, text: str, mark: str) -> bool:
    task = await _task(client, key=mark)
    assert await client.exclude([task.id], by="me", reason=text) == [task.id]
    ended = await client.get(task.id)
    return ended is not None and text in str(ended.reason)


async def _pause(client: Client, text: str, mark: str) -> bool:
    await client.pause_queue(text, by="me", reason=text)
    paused = {queue.name for queue in await client.queues()}
    return await client.resume_queue(text, by="me", reason=text) and text in paused


async def _pause_lineage(client: Client, text: str, mark: str) -> bool:
    task = await _task(client, key=mark)
    return await client.pause_lineage(task.tracking_id, by="me", reason=text) and await _recorded(client, "me", text)


async def _resource(client: Client, text: str, mark: str) -> bool:
    await client.limit_resource(ResourcePolicy(text, concurrency=2), reason=text)
    return text in {policy.pattern for policy in await client.policies()}


async def _breaker(client: Client, text: str, mark: str) -> bool:
    await client.open_breaker(text, by="me", reason=text)
    return [found.name for found in await client.resources(text)] == [text]


async def _kind_limit(client: Client, text: str, mark: str) -> bool:
    await client.limit("kind", text, 3, reason=text)
    return text in {limit.name for limit in await client.kind_limits()}


async def _setting(client: Client, text: str, mark: str) -> bool:
    await client.settings.set("limits.max_tasks", 1_000 + zlib.crc32(mark.encode()), by="me", reason=text)
    return await _recorded(client, "me", text)


async def _raised(client: Client, text: str, mark: str) -> bool:
    task = await _task(client, key=mark)
    await client.raise_limits(task.tracking_id, by="me", reason=text, retries_per_minute=10_000_000)
    return await _recorded(client, "me", text)


async def _stopped(client: Client, text: str, mark: str) -> bool:
    entry = await client.stop("host", f"{mark}.example", by="me", reason=text)
    return await client.unstop("host", entry.value, by="me", reason=text)


async def _scheduled(client: Client, text: str, mark: str) -> bool:
    made = await client.schedules.add("child", {"said": text}, key=mark, every_seconds=3_600, name=mark, queue=text)
    return await client.schedules.pause(mark, by="me", reason=text) and made.name == mark


def _asks(call: Callable[[Client, str], Awaitable[Any]]) -> Give:
    async def give(client: Client, text: str, mark: str) -> None:
        await call(client, text)

    return give


STORED = [
    Field("payload", _payload),
    Field("key", _key),
    Field("queue", _queue),
    Field("kind", _kind),
    Field("tracking_id", _tracking_id),
    Field("path", _path),
    Field("reason of a cancel", _reason_of_cancel),
    Field("person who revives", _by_of_revive),
    Field("reason of an exclusion", _reason_of_exclude),
    Field("name of a queue", _pause),
    Field("reason of a pause", _pause_lineage),
    Field("name of a resource", _resource),
    Field("name of a breaker", _breaker),
    Field("name of a kind", _kind_limit),
    Field("reason of a setting", _setting),
    Field("reason of a raise", _raised),
    Field("reason of a stop", _stopped),
    Field("schedule", _scheduled),
]
ASKED = [
    Field(name, _asks(call), storing=False)
    for name, call in {
        "task": lambda client, text: client.get(text),
        "key filter": lambda client, text: client.tasks(key=text),
        "kind filter": lambda client, text: client.tasks(kind=text),
        "lineage filter": lambda client, text: client.tasks(tracking_id=text),
        "parent filter": lambda client, text: client.tasks(parent_id=text),
        "explain": lambda client, text: client.explain(text),
        "explain key": lambda client, text: client.explain_key(text, text),
        "blocks": lambda client, text: client.blocks(text, key=text),
        "live": lambda client, text: client.has_live(text, text),
        "search": lambda client, text: client.tasks_with_key(text),
        "prefix": lambda client, text: client.lineage_page(prefix=text),
        "page of lineages": lambda client, text: client.lineage_page(before=text),
        "page of blocks": lambda client, text: client.block_page("line", after=text),
        "resources": lambda client, text: client.resources(text),
        "paths": lambda client, text: client.paths([text]),
        "parameter": lambda client, text: client.read("SELECT 1 WHERE 'x' = ?", [text]),
        "setting": lambda client, text: client.settings.set(text, 1),
        "value": lambda client, text: client.settings.set("limits.max_tasks", text),
        "preset": lambda client, text: client.settings.preset(text),
        "stop type": lambda client, text: client.stop(text, "a.example"),
        "stop host": lambda client, text: client.stop("host", text),
        "stop pattern": lambda client, text: client.unstop("pattern", text),
        "alert": lambda client, text: client.acknowledge_alert(0, by=text),
        "schedule name": lambda client, text: client.schedules.add("child", {}, every_seconds=60, name=text),
        "cron": lambda client, text: client.schedules.add("child", {}, cron=text),
        "time zone": lambda client, text: client.schedules.add("child", {}, cron="* * * * *", timezone=text),
        "run": lambda client, text: client.schedules.run(text),
        "excluded": lambda client, text: client.exclude([text]),
    }.items()
]
FIELDS = [*STORED, *ASKED]
