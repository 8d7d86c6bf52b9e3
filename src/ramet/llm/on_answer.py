"""A person's own handler of answers: what it writes commits with the item that the answer settles, or not at all."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ramet.commands.errors import one_line
from ramet.llm.answers import imported
from ramet.llm.errors import InputError

OnAnswer = Callable[["AnswerContext", Mapping[str, Any], "RowAnswer"], Any]
"""Called with a context, the row and its answer; async or plain."""
Writes = tuple[tuple[str, Sequence[Any]], ...]


class AnswerContext:
    """Context of a handler of answers, which writes into tables of its own."""

    def __init__(self, job: str, task_id: str, now: float) -> None:
        self.job = job
        """Name of the job."""
        self.task_id = task_id
        """Id of the item that the answer settles: the same in every attempt."""
        self.now = now
        """Unix seconds."""
        self.writes: list[tuple[str, Sequence[Any]]] = []

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Add a statement on a table of your own that commits with the item, exactly once. ``?`` marks parameters."""
        self.writes.append((sql, tuple(parameters)))


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """The answer to a row."""

    text: str | None
    value: Any = None
    """Value of the text, where there is a schema."""
    model: str | None = None
    cost: int = 0
    """Nano-dollars."""
    input_tokens: int = 0
    output_tokens: int = 0
    finish_reason: str | None = None
    reasoning: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    embedding: Any = None

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> RowAnswer:
        """Return the answer in what an item keeps."""
        given, _, answered = result["usage"]
        return cls(
            result["text"], result.get("value"), result.get("model"), result["cost"], given, answered,
            result.get("finish_reason"), result.get("reasoning"), result.get("tool_calls", ()),
            result.get("embedding"),
        )  # fmt: skip


class HandlerFailed(Exception):
    """A handler of answers raised an error; one line."""


async def writes_of(path: str, context: AnswerContext, row: Mapping[str, Any], result: Mapping[str, Any]) -> Writes:
    """Return the writes of a handler of answers for one of them.

    Raises:
        HandlerFailed: it raised an error, or cannot be imported.
    """
    try:
        told = open_handler(path)(context, row, RowAnswer.of(result))
        if inspect.isawaitable(told):
            await told
    except Exception as error:
        raise HandlerFailed(f"{path} raised {type(error).__name__}: {one_line(error)}") from error
    return tuple(context.writes)


@lru_cache(maxsize=64)
def open_handler(path: str) -> OnAnswer:
    """Return the function that a path names, ``package.module:function``. Modules of the working directory are found.

    Raises:
        InputError: there is none.
    """
    found = imported(path, f"on_answer {path!r}")
    if not callable(found):
        raise InputError(f"on_answer {path!r} is not a function")
    handler: OnAnswer = found
    return handler


def path_of(handler: OnAnswer | str) -> str:
    """Return the path by which workers import a handler.

    Raises:
        InputError: it is not a function of a module, and no worker could find it.
    """
    if isinstance(handler, str):
        open_handler(handler)
        return handler
    module, name = getattr(handler, "__module__", None), getattr(handler, "__qualname__", "")
    if module == "__main__":
        main = sys.modules["__main__"]
        spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
        # Workers are processes of their own: to them the program is a module like any other.
        module = spec.name if spec is not None else os.path.splitext(os.path.basename(file))[0] if file else None
    if not module or not all(part.isidentifier() for part in name.split(".")):
        raise InputError(
            "on_answer must be a function of a module, so that workers can import it: no lambda, no closure"
        )
    return f"{module}:{name}"
