"""Answers that are there already: an item's own, whose handler failed on it, and those of the cache.

Both are looked for only where a job asked for it: by `on_answer`, or by a cache over all jobs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ramet import BoundTask, Context, item_settlement
from ramet.llm.calls import ClaimedJob, request_of, whole_payload
from ramet.llm.on_answer import AnswerContext, HandlerFailed, Writes, writes_of
from ramet.llm.requests import Request, canonical, digest, identity
from ramet.llm.settings import PREFIX, ItemPayload, JobSettings

AT_ONCE = 500
"""Items of one statement."""
_ADD = "INSERT INTO llm_cache (scope, key, result, made_at) VALUES (?, ?, ?, ?) ON CONFLICT (scope, key) DO NOTHING"
_OWN_ANSWERS = (
    "SELECT task_id, answer FROM llm_answers "
    "WHERE state = 'succeeded' AND late = 0 AND answer IS NOT NULL AND task_id IN"
)
_CACHED = "SELECT key, result FROM llm_cache WHERE scope = ? AND key IN"
FORGET = "DELETE FROM llm_cache WHERE scope = ?"


def cache_scope(job_id: str, settings: JobSettings) -> str | None:
    """Return the scope of a job's cache: its own, or that of all jobs; None for none."""
    if settings.cache == "all":
        return ""
    # Without a handler, equal questions of a job are one item.
    return job_id if settings.cache == "job" and settings.on_answer is not None else None


def cache_key(settings: JobSettings, request: Request) -> str:
    """By what an answer is known again: who was asked, what, and what the answer has to fit."""
    content = identity(
        request.model, tuple(request.messages), request.max_output_tokens, request.parameters, request.schema,
        request.endpoint,
    )  # fmt: skip
    return digest(canonical([settings.provider, settings.base_url, settings.check, content]))


def cache_writes(ctx: Context, job: ClaimedJob, request: Request, result: Mapping[str, Any]) -> Writes:
    """Return the writes that keep a result in the cache. A large one lies in a blob, which is its own job's."""
    scope = cache_scope(job.job_id, job.settings)
    if scope is None or "blob" in result or result.get("cached"):
        return ()
    return ((_ADD, (scope, cache_key(job.settings, request), json.dumps(result), ctx.now)),)


async def known_results(
    ctx: Context, job: ClaimedJob, asked: Sequence[tuple[str, Request]]
) -> dict[str, dict[str, Any]]:
    """Return the results that are there already, by the id of the item.

    Args:
        asked: id of each item and its question.
    """
    found: dict[str, dict[str, Any]] = {}
    for start in range(0, len(asked), AT_ONCE):
        part = asked[start : start + AT_ONCE]
        if job.settings.on_answer is not None:
            found |= await _own(ctx, [task_id for task_id, _ in part])
        scope = cache_scope(job.job_id, job.settings)
        if scope is not None:
            found |= await _cached(ctx, job, scope, [one for one in part if one[0] not in found])
    return found


async def _own(ctx: Context, task_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    marks = ", ".join("?" * len(task_ids))
    rows = await ctx.read(f"{_OWN_ANSWERS} ({marks})", task_ids)
    told = {task_id: json.loads(answer).get("result") for task_id, answer in rows}
    return {task_id: result for task_id, result in told.items() if result is not None}


async def _cached(
    ctx: Context, job: ClaimedJob, scope: str, asked: Sequence[tuple[str, Request]]
) -> dict[str, dict[str, Any]]:
    if not asked:
        return {}
    keys = {task_id: cache_key(job.settings, request) for task_id, request in asked}
    marks = ", ".join("?" * len(keys))
    rows = await ctx.read(f"{_CACHED} ({marks})", [scope, *keys.values()])
    told = dict(rows)
    return {
        task_id: {**json.loads(told[key]), "cost": 0, "cached": True} for task_id, key in keys.items() if key in told
    }


async def writes_for(
    ctx: Context, job: ClaimedJob, task_id: str, request: Request, result: Mapping[str, Any]
) -> Writes:
    """All that is to commit with an item beside its result: what its handler writes, and its place in the cache.

    Raises:
        HandlerFailed: the handler did.
    """
    kept = cache_writes(ctx, job, request, result)
    if job.settings.on_answer is None:
        return kept
    whole = await ctx.read_blob(result["blob"]) if "blob" in result else result
    context = AnswerContext(job.job_id.removeprefix(PREFIX), task_id, ctx.now)
    return (*await writes_of(job.settings.on_answer, context, request.row or {}, whole), *kept)


def looks_up(job: ClaimedJob) -> bool:
    """Return whether answers may be there already."""
    return job.settings.on_answer is not None or cache_scope(job.job_id, job.settings) is not None


async def end_of(
    ctx: Context, job: ClaimedJob, told: BoundTask, request: Request, result: dict[str, Any]
) -> dict[str, Any]:
    """Return the options that settle a bound item that has its answer."""
    try:
        writes = await writes_for(ctx, job, told.task_id, request, result)
    except HandlerFailed as error:
        return {"state": "failed", "reason": f"on_answer: {error}"}
    return {"state": "success", "result": result, "writes": writes}


async def settle_known(ctx: Context, job: ClaimedJob, bound: Sequence[BoundTask]) -> int:
    """Settle those of the bound items whose answers are there already; how many there were."""
    if not looks_up(job):
        return 0
    asked: dict[str, Request] = {}
    for told in bound:
        payload = await whole_payload(ctx, ItemPayload.model_validate_json(told.payload))
        asked[told.task_id] = request_of(told.key, payload)
    known = await known_results(ctx, job, list(asked.items()))
    settled = []
    for told in bound:
        if told.task_id in known:
            end = await end_of(ctx, job, told, asked[told.task_id], known[told.task_id])
            settled.append(item_settlement(told.task_id, told.number, **end))
    await ctx.settle_items(settled)
    return len(known)
