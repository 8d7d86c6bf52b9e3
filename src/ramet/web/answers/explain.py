"""Why a task is where it is, who has a kind and key, and which spawns of it were refused (promise I8)."""

from __future__ import annotations

from ramet import Client, Explanation, KeyExplanation, TaskState
from ramet.web.answers.shared import Answer, CauseAnswer
from ramet.web.answers.tasks import BlockAnswer, TaskLine
from ramet.web.page import NotFound


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


async def known(client: Client, kind: str, key: str, tracking_id: str | None = None) -> KeyExplanation:
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
