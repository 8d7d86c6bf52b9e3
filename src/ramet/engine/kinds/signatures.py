"""Handlers as people write them: what cannot work is refused at once, several parameters become one payload."""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Function = Callable[..., Any]

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_FIELDS = "__ramet_fields__"
"""Attribute of a handler made by :func:`one_payload`: the names of its parameters."""


class FirstArgument:
    """Types of a handler's first parameter: the context of a task, or a batch of them."""


class NoResult:
    """Values that a handler may return instead of a result."""

    __slots__ = ()


def is_async(handler: Function) -> bool:
    """Whether a call of the handler is to be awaited; objects with an ``async def __call__`` included."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)


def name_of(handler: Function) -> str:
    """Return the name of a handler in messages."""
    function = handler.func if isinstance(handler, functools.partial) else handler
    return str(getattr(function, "__name__", type(function).__name__))


def check_parentheses(decorator: str, given: object) -> None:
    """Refuse a decorator that was given the function itself.

    Raises:
        ValueError: it was; one sentence says what to write.
    """
    if callable(given):
        raise ValueError(f"{decorator} above {name_of(given)} has no parentheses: write {decorator}()")


def field_names(handler: Function) -> tuple[str, ...]:
    """Return the parameters of a handler that takes several, in order; none for one that takes a payload, or
    nothing.
    """
    names: tuple[str, ...] = getattr(handler, _FIELDS, ())
    return names


def one_payload(handler: Function, *, many: bool = False) -> Function:
    """Return the handler as the engine calls it, with a context and at most one payload.

    That is the handler itself. One with several annotated parameters after its context becomes a function whose payload
    has a field for each of them.

    Args:
        many: it takes a batch: a list of payloads.

    Raises:
        ValueError: it cannot be a handler; one sentence says what to write.
    """
    parameters = _checked(handler)
    _check_first(handler, parameters[0])
    rest = parameters[1:]
    if parameters[0].kind in _VARIABLE or not rest:
        return handler
    if len(rest) == 1 and rest[0].kind in (*_POSITIONAL, Parameter.VAR_POSITIONAL):
        return handler
    if many:
        raise ValueError(
            f"batch handler {name_of(handler)} takes {_listed(rest)}: give it (batch, payloads: list[...]), with one "
            "type for all that a payload holds"
        )
    return _spread(handler, rest)


def payload_type(handler: Function, *, many: bool = False) -> TypeAdapter[Any] | None:
    """Return the type of the handler's second parameter; JSON of any shape when it is not annotated, None when there is
    none.

    Args:
        handler: from :func:`one_payload`.
        many: it takes a batch: the type is that of the members of its list.
    """
    from pydantic import TypeAdapter

    parameters = list(inspect.signature(handler).parameters.values())
    if parameters[0].kind in _VARIABLE:
        return TypeAdapter(Any)
    if len(parameters) == 1:
        return None
    hint = _hints(handler).get(parameters[1].name, list[Any] if many else Any)
    if many:
        if typing.get_origin(hint) not in (list, collections.abc.Sequence):
            raise ValueError(f"batch handler {name_of(handler)} takes many payloads: annotate them as list[...]")
        [hint] = typing.get_args(hint)
    return TypeAdapter(hint)


def result_type(handler: Function, *, many: bool = False) -> TypeAdapter[Any] | None:
    """Return the type of what a handler returns, without the ends that are not results; None where it cannot be read
    from JSON.

    Args:
        many: it takes a batch: the type is that of the members of what it returns.
    """
    from pydantic import PydanticUserError, TypeAdapter

    hint = _hints(handler, strict=False).get("return", Any)
    if many:
        hint = (typing.get_args(hint) or (Any,))[0]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        results = [each for each in typing.get_args(hint) if not issubclass(_class_of(each), NoResult)]
        hint = typing.Union[tuple(results)] if results else Any  # noqa: UP007 - of a list that is made here
    if hint is Any or issubclass(_class_of(hint), NoResult):
        return None
    try:
        return TypeAdapter(hint)
    except PydanticUserError:
        return None  # A class that pydantic knows nothing of: its JSON is what there is.


def _class_of(hint: Any) -> type:
    return hint if inspect.isclass(hint) else object


def check_same_fields(what: str, first: Function, other: Function) -> None:
    """Check that a further function of a kind, called with the payload of its first one, can take it.

    Raises:
        ValueError: one of them takes several parameters, and the other takes others.
    """
    wanted, given = field_names(first), field_names(other)
    if wanted != given and len(inspect.signature(other).parameters) > 1:
        takes = f"(ctx, {', '.join(wanted)})" if wanted else "(ctx, payload)"
        raise ValueError(f"{what} {name_of(other)} gets what the kind's handler gets: give it {takes}, or (ctx)")


def _checked(handler: Function) -> list[Parameter]:
    """Its parameters, at least one."""
    if inspect.isclass(handler) or not callable(handler):
        raise ValueError(f"{handler!r} cannot be a handler: give a function")
    name = name_of(handler)
    called = _function(handler)
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        raise ValueError(f"handler {name} yields: let it return its result, and ask for children with ctx.spawn")
    parameters = list(inspect.signature(handler).parameters.values())
    if not parameters:
        raise ValueError(f"handler {name} takes no parameters: give it (ctx) or (ctx, payload)")
    return parameters


def _check_first(handler: Function, first: Parameter) -> None:
    """Check that the first parameter can be the context."""
    name = name_of(handler)
    if first.name in ("self", "cls") and first.annotation is Parameter.empty:
        raise ValueError(
            f"handler {name} is a method, and its {first.name} would get the context: register a function outside of "
            f"the class, or a method of one object, as in app.task({name!r})(service.{name})"
        )
    if first.annotation is Parameter.empty:
        likely = first.kind is Parameter.VAR_POSITIONAL or first.name.startswith("_")
        if likely or any(word in first.name.lower() for word in ("ctx", "context", "batch")):
            return
    elif _may_be_context(_hints(handler, strict=False).get(first.name, Any)):
        return
    raise ValueError(
        f"handler {name} has no context: its first parameter, {first.name}, would get it; write "
        f"(ctx: Context, {first.name}...), with SyncContext in a plain function"
    )


def _may_be_context(hint: Any) -> bool:
    if hint in (Any, object) or isinstance(hint, typing.TypeVar):
        return True
    origin = typing.get_origin(hint)
    if origin in (typing.Annotated, typing.Union, types.UnionType):
        return any(_may_be_context(argument) for argument in typing.get_args(hint))
    if inspect.isclass(origin):
        hint = origin
    if inspect.isclass(hint):
        return issubclass(hint, FirstArgument) or bool(getattr(hint, "_is_protocol", False))
    return True


def _spread(handler: Function, rest: Sequence[Parameter]) -> Function:
    fields = _fields(handler, rest)
    positional = [parameter.name for parameter in rest if parameter.kind in _POSITIONAL]
    named = [parameter.name for parameter in rest if parameter.kind not in _POSITIONAL]

    def call(ctx: Any, payload: Any) -> Any:
        given = [getattr(payload, name) for name in positional]
        return handler(ctx, *given, **{name: getattr(payload, name) for name in named})

    async def awaited(ctx: Any, payload: Any) -> Any:
        return await call(ctx, payload)

    made: Any = awaited if is_async(handler) else call
    made.__name__ = made.__qualname__ = name_of(handler)
    made.__module__, made.__doc__ = handler.__module__, handler.__doc__
    made.__annotations__ = {"payload": fields}
    setattr(made, _FIELDS, tuple(parameter.name for parameter in rest))
    return typing.cast(Function, made)


def _fields(handler: Function, rest: Sequence[Parameter]) -> type:
    """Return a dataclass with a field for each of the parameters; an unknown name is refused, as in a call."""
    name, hints = name_of(handler), _hints(handler)
    variable = [parameter.name for parameter in rest if parameter.kind in _VARIABLE]
    if variable:
        raise ValueError(f"handler {name} takes any number of {variable[0]}: name and annotate each parameter")
    bare = [parameter.name for parameter in rest if parameter.name not in hints]
    if bare:
        as_in = ", ".join(f"{parameter.name}: {_hinted(parameter)}" for parameter in rest)
        raise ValueError(
            f"handler {name} takes {_listed(rest)}, without a type for {bare[0]}: annotate each, as in (ctx, {as_in}), "
            "for a payload with these fields; or take one payload"
        )
    specs: list[tuple[str, Any, Any]] = [
        (parameter.name, hints[parameter.name], _field(parameter.default)) for parameter in rest
    ]
    title = f"{name}({', '.join(parameter.name for parameter in rest)})"
    namespace = {"__pydantic_config__": {"extra": "forbid"}}
    return dataclasses.make_dataclass(title, specs, kw_only=True, namespace=namespace)


def _field(default: Any) -> Any:
    if default is Parameter.empty:
        return dataclasses.field()
    return dataclasses.field(default_factory=functools.partial(copy.deepcopy, default))


def _hinted(parameter: Parameter) -> str:
    hint = parameter.annotation
    if hint is Parameter.empty:
        return "str"
    return hint.__name__ if inspect.isclass(hint) else str(hint)


def _listed(parameters: Sequence[Parameter]) -> str:
    names = [parameter.name for parameter in parameters]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _function(handler: Function) -> Any:
    """Return the object that has the annotations: the function below a partial, or the ``__call__`` of an object."""
    if isinstance(handler, functools.partial):
        return _function(handler.func)
    return handler if inspect.isroutine(handler) else type(handler).__call__


def _hints(handler: Function, *, strict: bool = True) -> dict[str, Any]:
    try:
        return typing.get_type_hints(_function(handler), include_extras=True)
    except NameError as error:
        if not strict:
            return {}
        raise ValueError(
            f"handler {name_of(handler)} is annotated with {error.name}, which is not there when it is registered: "
            "import it outside of `if TYPE_CHECKING`"
        ) from error
