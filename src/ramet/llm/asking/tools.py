"""Tools of a model: functions that run in the handler, and kinds of tasks that it may spawn.

Results are kept with the answers, so that a next attempt goes on with the conversation that was paid for. A function
may run again after a crash, like a handler.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model

from ramet import Context, Permanent, SpawnResult
from ramet.commands.errors import one_line

Kind = str | Callable[..., Any]
"""A kind of tasks, by its name or its handler."""
RESULT_CHARACTERS_MAX = 200_000
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_THERE = frozenset({"in_flight", "done"})
"""Refusals of spawns that say: the task is there already."""


class ToolError(Exception):
    """Raise in a tool to tell the model what went wrong. Any other error is the handler's."""


class SpawnNotAllowed(Permanent):
    """A tool of a model wants to spawn a kind that ``spawns`` does not name."""


class ToolContext:
    """The context of a tool: what a model decides can read, write rows, and spawn the kinds that were allowed."""

    def __init__(self, ctx: Context, spawns: Sequence[Kind]) -> None:
        self._ctx = ctx
        self._spawns = spawns
        self.id = ctx.id
        self.key = ctx.key
        self.tracking_id = ctx.tracking_id
        self.now = ctx.now
        """Seconds since 1970."""
        self.read = ctx.read
        self.write = ctx.write
        self.blob = ctx.blob
        self.read_blob = ctx.read_blob

    async def spawn(self, kind: Kind, payload: Any = None, **options: Any) -> SpawnResult:
        """Spawn a child of the task, and return the guard's answer; it commits at once.

        Args:
            kind: one of those in ``spawns``, written as there.
            payload: of the child.
            options: those of :meth:`ramet.Context.spawn`.

        Raises:
            SpawnNotAllowed: it is another kind.
        """
        if kind not in self._spawns:
            raise SpawnNotAllowed(f"a tool may not spawn {_kind_name(kind)!a}: name it in spawns=[...]")
        return await self._ctx.spawn_now(kind, payload, **options)


@dataclass(frozen=True, slots=True)
class Tool:
    """Description of a tool for the model."""

    name: str
    description: str
    schema: Mapping[str, Any]
    run: Callable[[ToolContext, str], Awaitable[Any]]
    """Takes the arguments as JSON text; raises ToolError or ValidationError where they do not fit."""

    @property
    def declaration(self) -> dict[str, Any]:
        """Declaration that is sent, as chat completions write it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.schema)}
        return {"type": "function", "function": function}


def tools_of(functions: Sequence[Callable[..., Any]], spawns: Sequence[Kind]) -> dict[str, Tool]:
    """Return the tools of a model, by name.

    Args:
        functions: with annotated parameters, ``async`` or not; the docstring tells the model what they do. A first
            parameter ``ctx`` is given the :class:`ToolContext`.
        spawns: kinds that the model may spawn, each by a tool ``spawn_KIND``.

    Raises:
        ValueError: a function has a parameter without a type, or two tools have one name.
    """
    found = [*map(_function_tool, functions), *map(_spawn_tool, spawns)]
    by_name = {tool.name: tool for tool in found}
    if len(by_name) < len(found):
        names = sorted(tool.name for tool in found)
        raise ValueError(f"two tools have one name ({', '.join(names)}): give the functions different names")
    return by_name


async def run_tool(tools: Mapping[str, Tool], call: Mapping[str, Any], ctx: ToolContext) -> str:
    """Run the tool that a model calls, and return the text that the model gets."""
    function = call.get("function")
    asked = function if isinstance(function, Mapping) else {}
    tool = tools.get(str(asked.get("name")))
    if tool is None:
        return f"error: there is no tool {str(asked.get('name'))[:60]!a}: there are {', '.join(sorted(tools))}"
    try:
        result = await tool.run(ctx, str(asked.get("arguments") or "{}"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"error: the arguments do not fit: {f'{place}: ' if place else ''}{first['msg']}"
    except ToolError as error:
        return f"error: {one_line(error)}"
    text = result if isinstance(result, str) else json.dumps(_plain(result), ensure_ascii=False)
    return text[:RESULT_CHARACTERS_MAX]


def _plain(result: Any) -> Any:
    return TypeAdapter(Any).dump_python(result, mode="json")


def _function_tool(function: Callable[..., Any]) -> Tool:
    name = _NAME.sub("_", getattr(function, "__name__", type(function).__name__))[:64]
    takes_context, arguments = _arguments(function, name)

    async def run(ctx: ToolContext, text: str) -> Any:
        given = arguments.model_validate_json(text)
        values = {field: getattr(given, field) for field in type(given).model_fields}
        result = function(ctx, **values) if takes_context else function(**values)
        return await result if inspect.isawaitable(result) else result

    return Tool(name, inspect.getdoc(function) or "", arguments.model_json_schema(), run)


def _arguments(function: Callable[..., Any], name: str) -> tuple[bool, type[BaseModel]]:
    """Return whether a function takes the context, and a model of its other parameters."""
    parameters = list(inspect.signature(function).parameters.values())
    takes_context = bool(parameters) and parameters[0].name == "ctx"
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ValueError(f"tool {name}: {error}: import the type where the function's module finds it") from error
    fields: dict[str, Any] = {}
    for parameter in parameters[takes_context:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name not in hints:
            raise ValueError(f"tool {name}: parameter {parameter.name!r} has no type: annotate it")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    return takes_context, create_model(name, __config__={"extra": "forbid"}, **fields)


def _kind_name(kind: Kind) -> str:
    return kind if isinstance(kind, str) else str(getattr(kind, "__name__", kind))


def _spawn_tool(kind: Kind) -> Tool:
    """Return a tool with which the model spawns a kind: its arguments are the payload."""
    name = _kind_name(kind)
    payload = _payload_type(kind)
    of_object = isinstance(payload, type) and issubclass(payload, BaseModel)
    wrapped = payload if of_object else create_model("payload", payload=(payload, ...))
    described = "" if isinstance(kind, str) else inspect.getdoc(kind) or ""

    async def run(ctx: ToolContext, text: str) -> str:
        given = wrapped.model_validate_json(text)
        answer = await ctx.spawn(kind, given if of_object else getattr(given, "payload"))  # noqa: B009 - made above
        if answer.reason is None or answer.reason.value in _THERE:
            return "accepted"
        return f"refused: {answer.reason.value}"

    return Tool(
        f"spawn_{_NAME.sub('_', name)}"[:64],
        f"Start a task {name}. {described}".strip(),
        wrapped.model_json_schema(),
        run,
    )


def _payload_type(kind: Kind) -> Any:
    """Return the type of a kind's payload, the type of its handler's second parameter; a model of several."""
    if isinstance(kind, str):
        return Any
    parameters = list(inspect.signature(kind).parameters.values())[1:]
    hints = get_type_hints(kind, include_extras=True)
    if len(parameters) == 1:
        return hints.get(parameters[0].name, Any)
    fields: dict[str, Any] = {
        parameter.name: (hints[parameter.name], ... if parameter.default is parameter.empty else parameter.default)
        for parameter in parameters
        if parameter.name in hints
    }
    return create_model(_kind_name(kind), **fields)
