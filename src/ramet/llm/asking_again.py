"""A question that is asked again since its answer did not fit: the model is given its answer and what is wrong with it.

Without that the same answer is likely, and paid for again. The question keeps its key: it is the same item.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ramet import BoundTask, Context
from ramet.llm.answers import InvalidAnswer
from ramet.llm.calls import INVALID, ClaimedJob, check_of, request_of
from ramet.llm.requests import Request
from ramet.llm.settings import ItemPayload

SHOWN_CHARACTERS_MAX = 20_000
"""Most characters of an answer that is shown to its model again."""
_LAST_WORDS = (
    "SELECT task_id, answer FROM llm_answers WHERE state = ? AND answer IS NOT NULL AND late = 0 AND task_id IN ({}) "
    "ORDER BY answered_at"
)
_JUDGED = re.compile(r'schema":\s*\{|"response_format"')
"""Found in the payload of an item whose answer is checked."""
LOOK_AT = 500
"""Items that one statement asks for."""


def with_fault(request: Request, answer: str, fault: str) -> Request:
    """Return the question, followed by an answer to it that does not fit, and by what is wrong with that."""
    shown = answer if len(answer) <= SHOWN_CHARACTERS_MAX else answer[:SHOWN_CHARACTERS_MAX] + " ..."
    again = f"That answer cannot be used: {fault}\nAnswer the same again, whole, and without that fault."
    messages = (
        *request.messages,
        {"role": "assistant", "content": shown or "(no words)"},
        {"role": "user", "content": again},
    )
    return request._replace(messages=messages, asked_bytes=None)


async def invalid_answers(ctx: Context, task_ids: Sequence[str]) -> Mapping[str, str]:
    """Return the last answer that did not fit, of those items that had one."""
    found: dict[str, str] = {}
    for start in range(0, len(task_ids), LOOK_AT):
        part = task_ids[start : start + LOOK_AT]
        rows = await ctx.read(_LAST_WORDS.format(", ".join("?" * len(part))), (INVALID, *part))
        found.update((task_id, json.loads(answer).get("text") or "") for task_id, answer in rows)
    return found


def asked_again(job: ClaimedJob, request: Request, answer: str | None) -> Request:
    """Return the question as it is to be asked now, its last answer that did not fit given."""
    check = check_of(job, request)
    if answer is None or check is None or not request.messages:
        return request
    try:
        check(answer)
    except InvalidAnswer as error:
        return with_fault(request, answer, str(error))
    return request


def may_be_judged(job: ClaimedJob, items: Sequence[BoundTask]) -> bool:
    """Return whether any answer to these can be one that does not fit."""
    return job.check is not None or any(_JUDGED.search(one.payload) for one in items)


def bound_again(job: ClaimedJob, item: BoundTask, answer: str | None) -> BoundTask:
    """Return a bound item whose payload asks what :func:`asked_again` says."""
    if answer is None:
        return item
    payload = ItemPayload.model_validate_json(item.payload)
    messages = asked_again(job, request_of(item.key, payload), answer).messages
    asked = payload.model_copy(update={"messages": tuple(dict(message) for message in messages)})
    return item._replace(payload=asked.model_dump_json(by_alias=True))
