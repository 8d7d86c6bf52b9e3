"""Why a task is where it is, who has a kind and key, and which spawns of it were refused (promise I8)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from ramet import Client, Explanation, KeyExplanation, TaskState
from ramet.web.answers.shared import Answer, CauseAnswer, said
from ramet.web.answers.tasks import BlockAnswer, TaskLine
from ramet.web.page import Asked, Look, NotFound, OptionalText, Page, Text


class WantedAnswer(Answer):
    """A task that another one asked for, and that existed already."""

    id: str
    tracking_id: str
    kind: str
    key: str
    state: TaskState
    reasons: list[str]


class ExplanationAnswer(Answer):
    """Why a task is where it is."""

    headline: str
    task: TaskLine
    why: list[CauseAnswer]
    """What holds it now, the first is the headline; of an ended task how it ended, then why."""
    refused: list[CauseAnswer]
    """Why the first of its spawns were refused."""
    wanted: list[WantedAnswer]
    """Existing tasks that it asked for."""
    waits_behind: int
    """Tasks before it on its path, counted up to 1,000."""


class HolderAnswer(Answer):
    """Who holds a unique key over all lineages."""

    id: str
    tracking_id: str
    state: str | None
    held_until: float | None


class KeyAnswer(Answer):
    """Who has a kind and key, and who was refused it."""

    kind: str
    key: str
    """As it is stored."""
    tasks: list[TaskLine]
    """The newest first; at most one of a lineage."""
    blocks: list[BlockAnswer]
    why: list[CauseAnswer]
    """Of each of the blocks why."""
    holder: HolderAnswer | None
    holder_pruned: bool
    more: bool
    """There may be more than was looked at: name the lineage."""


async def explanation(client: Client, task_id: str) -> Explanation:
    """Why a task is where it is, from stored rows.

    Raises:
        NotFound: there is no such task.
    """
    found = await client.explain(task_id)
    if found is None:
        raise NotFound(f"no task {task_id}: it was never there, or its lineage was pruned")
    return found


def explanation_answer(found: Explanation) -> ExplanationAnswer:
    """The explanation for machines."""
    chain = found.path.chain
    return ExplanationAnswer(
        headline=found.headline,
        task=TaskLine.model_validate(found.history.task),
        why=[CauseAnswer.of(cause) for cause in found.why],
        refused=[CauseAnswer.of(cause) for cause in found.refused],
        wanted=WantedAnswer.each(found.wanted),
        waits_behind=0 if chain is None else chain.before,
    )


async def load_known(client: Client, kind: str, key: str, tracking_id: str | None = None) -> KeyExplanation:
    """Who has a kind and key, in any spelling of the key.

    Raises:
        NotFound: nothing is known of it.
    """
    found = await client.explain_key(kind, key, tracking_id)
    if found is None:
        where = f"lineage {tracking_id}" if tracking_id else "the newest lineages"
        tried = ", ".join(map(repr, client.spellings(kind, key)))
        raise NotFound(f"no task and no refused spawn of kind {kind!r}, key {key!r} in {where} (compared: {tried})")
    return found


def key_answer(found: KeyExplanation) -> KeyAnswer:
    """The same for machines."""
    return KeyAnswer(
        kind=found.kind,
        key=found.key,
        tasks=TaskLine.each(found.tasks),
        blocks=BlockAnswer.each(found.blocks),
        why=[CauseAnswer.of(cause) for cause in found.why],
        holder=None if found.holder is None else HolderAnswer.model_validate(found.holder),
        holder_pruned=found.holder_pruned,
        more=found.more,
    )


router = APIRouter(tags=["explain"])


@router.get("/explain")
async def explain_key(client: Asked, *, kind: Text, key: Text, tracking_id: OptionalText = None) -> KeyAnswer:
    """Who has a kind and key, in any spelling of the key; without a lineage the newest are looked at."""
    return key_answer(await load_known(client, kind, key, tracking_id))


async def ask(look: Look) -> dict[str, Any]:
    """The form, and what is known of what was asked for."""
    task_id, kind, key = look.text("task_id"), look.text("kind"), look.text("key")
    context: dict[str, Any] = {"asked_kind": kind, "asked_key": key, "asked_lineage": look.text("tracking_id")}
    context |= {"known": None, "why": (), "found": None, "nothing": None}
    try:
        if task_id is not None:
            found = await explanation(look.client, task_id)
            context |= {"found": found, "why": said(found.why)}
        elif kind is not None and key is not None:
            known = await load_known(look.client, kind, key, look.text("tracking_id"))
            context |= {"known": known, "why": said(known.why)}
    except NotFound as nothing:
        context["nothing"] = str(nothing)
    return context


PAGES = (Page("/explain", "explain", "explain.html", ask, live=False),)
