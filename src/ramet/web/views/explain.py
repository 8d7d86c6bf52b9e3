"""Why a task is where it is, who has a kind and key, and which spawns of it were refused (promise I8)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter

from ramet import Client, Explanation, KeyExplanation, Task
from ramet.engine.explain.explain import Wanted
from ramet.model.lineage.guard import Elsewhere
from ramet.web.answers.shared import Answer, AsObject, CauseAnswer, said
from ramet.web.answers.tasks import TaskLine
from ramet.web.page import Asked, Look, NotFound, OptionalText, Page, Text

WantedAnswer = Annotated[Wanted, AsObject()]


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


KeyAnswer = Annotated[
    KeyExplanation,
    AsObject(
        "KeyAnswer",
        types={"why": list[CauseAnswer]},
        inner={Task: TaskLine, Elsewhere: Annotated[Elsewhere, AsObject("HolderAnswer")]},
    ),
]


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
        task=found.history.task,
        why=CauseAnswer.each(found.why),
        refused=CauseAnswer.each(found.refused),
        wanted=[*found.wanted],
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


router = APIRouter(tags=["explain"])


@router.get("/explain")
async def explain_key(client: Asked, *, kind: Text, key: Text, tracking_id: OptionalText = None) -> KeyAnswer:
    """Who has a kind and key, in any spelling of the key; without a lineage the newest are looked at."""
    return await load_known(client, kind, key, tracking_id)


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
