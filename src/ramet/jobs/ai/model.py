"""One way to ask a model here: by `ramet.llm.ask`, and with the rules' answer where there is none.

Calls are reserved, paid, repaired and kept there; a question that several tasks ask is paid for once. Every error is
:class:`NoAnswer`, for which the callers take the rules' results: it never fails, pauses or puts off a task.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, TypeVar

from pydantic import ValidationError

from ramet import Context, CostRefused, Permanent, RetryAfter, Transient, llm, own_logger
from ramet.commands.errors import UserError, one_line
from ramet.jobs.ai.prompts import Reply, Step
from ramet.jobs.settings import ModelSettings

log = own_logger("ramet.jobs.model")

WAIT_SECONDS_MAX = 15.0
"""A longer wait for a provider is not worth holding a task up: the rules' answer is there."""
BACKOFF_SECONDS = 1.0
REPAIRS = 1
REASONS_MAX = 10_000
_FENCED = re.compile(r"\s*```[a-z]*\n(.*?)\n?```\s*", re.DOTALL)

Shape = TypeVar("Shape", bound=Reply)


class NoAnswer(Exception):
    """The model said nothing that can be used. The message is short and says why."""


_reported: set[tuple[str, str]] = set()
"""Lineages and reasons that are in the log of this process already."""


async def ask(ctx: Context, step: Step, shape: type[Shape], *, model: str, data: str, settings: ModelSettings) -> Shape:
    """Return the model's answer about a text.

    Raises:
        NoAnswer: there is none, for whatever reason; the log has it once for each lineage.
    """
    try:
        return await _answered(ctx, shape, model_of(model, settings), step.messages(data, settings), settings)
    except NoAnswer as why:
        _report(ctx.tracking_id, step.name, str(why))
        raise


def model_of(name: str, settings: ModelSettings) -> llm.Model:
    """Return a model as the settings say: where it is asked, its key and its price."""
    return llm.Model(
        name, settings.provider, base_url=settings.base_url or None, price=settings.price or None,
        key_variable=settings.key_variable,
    )  # fmt: skip


async def _answered(
    ctx: Context, shape: type[Shape], model: llm.Model, messages: list[dict[str, Any]], settings: ModelSettings
) -> Shape:
    try:
        found = (await _asked(ctx, model, messages, settings, shape)).value
        assert isinstance(found, shape), "an answer without this value is an error"
        return found
    except llm.RequestRefused as refused:
        why = one_line(refused)
    # Once more, for a server that knows no schemas.
    try:
        text = (await _asked(ctx, model, messages, settings)).text
        fenced = _FENCED.fullmatch(text)
        return shape.model_validate_json(fenced[1] if fenced else text)
    except llm.RequestRefused:
        raise NoAnswer(why) from None
    except ValidationError as error:
        raise NoAnswer(f"the answer does not fit: {one_line(error.errors()[0]['msg'])[:300]}") from None


async def _asked(
    ctx: Context,
    model: llm.Model,
    messages: list[dict[str, Any]],
    settings: ModelSettings,
    shape: type[Reply] | None = None,
) -> llm.Answer[Any]:
    """Ask; a call that did not arrive is made again a few times, after waits that are short.

    Raises:
        RequestRefused: the provider refuses the request, perhaps for its schema.
        NoAnswer: anything else.
    """
    tries = 0
    while True:
        seconds = BACKOFF_SECONDS * 2**tries
        try:
            return await llm.ask(
                ctx, model, messages, schema=shape, max_output_tokens=settings.output_tokens,
                parameters={"temperature": 0}, cache="all", repairs=REPAIRS, pause=False,
            )  # fmt: skip
        except CostRefused as refused:
            raise NoAnswer("over budget") from refused
        except (llm.AccountFault, llm.AnswerLost) as error:
            raise NoAnswer(one_line(error)) from None
        except RetryAfter as busy:
            seconds, why = busy.seconds, one_line(busy)
        except Transient as error:
            why = one_line(error)
        except llm.RequestRefused:
            raise
        except llm.AnswerCutOff as error:
            raise NoAnswer(
                f"its answer was cut off: {(error.answer and error.answer.finish_reason) or 'length'}"
            ) from None
        except llm.AnswerError as error:
            raise NoAnswer(one_line(error)[:300]) from None
        except Permanent as error:
            raise NoAnswer(f"no price, so no ceiling could hold: {one_line(error)} (jobs.model.price)") from None
        except UserError as error:  # The package that opens the provider is not installed.
            raise NoAnswer(one_line(error)) from error
        tries += 1
        if tries > settings.retries or seconds > min(WAIT_SECONDS_MAX, ctx.remaining_seconds / 10):
            raise NoAnswer(why)
        await asyncio.sleep(seconds)


def _report(tracking_id: str, step: str, why: str) -> None:
    """Say once for each lineage and reason that the rules had to do."""
    if len(_reported) >= REASONS_MAX:
        _reported.clear()
    if (tracking_id, why) not in _reported:
        _reported.add((tracking_id, why))
        log.warning("lineage %s, %s: no answer from a model (%s): the rules' is taken", tracking_id, step, why)
