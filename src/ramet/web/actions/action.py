"""Actions of the dashboard, as values: the question of an action, its call, and its message afterwards.

Only this module, and :mod:`ramet.web.actions` which lists the actions, changes anything. The engine records every
action with who did it and why.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from ramet import Client, StoreError, StoreUncertain, StoreUnreachable
from ramet.web.page import BadInput, NothingDone

Answer = TypeVar("Answer")

REASON_CHARACTERS_MAX = 500
NAME_CHARACTERS_MAX = 500
VALUE_CHARACTERS_MAX = 10_000


def without_nul(text: str) -> str:
    """Return text that both databases can hold.

    Raises:
        ValueError: it cannot be stored.
    """
    if "\x00" in text:
        raise ValueError("it holds a NUL: leave that out")
    return text


Name = Annotated[
    str, StringConstraints(min_length=1, max_length=NAME_CHARACTERS_MAX), AfterValidator(without_nul)
]  # fmt: skip
"""An id, a name or a key."""
Value = Annotated[str, StringConstraints(max_length=VALUE_CHARACTERS_MAX), AfterValidator(without_nul)]
"""Text that a user typed."""


class Fields(BaseModel):
    """Fields of an action. Text is bounded; an empty field counts as not given."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Person(NamedTuple):
    """The operator, and the reason."""

    by: str
    reason: str | None = None


class Done(NamedTuple):
    """Result of an action."""

    message: str
    """One line for people."""
    result: Mapping[str, Any] = MappingProxyType({})
    """The same for machines."""


Ask = Callable[[Client, Any], Awaitable[str]]
Call = Callable[[Client, Any, Person], Awaitable[Done]]


class Action(NamedTuple):
    """One thing that an operator can do."""

    name: str
    """Stable word; part of addresses."""
    title: str
    """Text of its button."""
    about: str
    """One sentence: what it does."""
    fields: type[Fields]
    ask: Ask
    """Describe the effect in words with numbers; refuse what is impossible."""
    call: Call
    dangerous: bool = False
    """Whether it ends work or deletes something."""
    open: frozenset[str] = frozenset()
    """Fields that are asked for although an address gives them a value to begin with. A page
    of its own shows the effect of what was typed before the action is confirmed."""


async def question(client: Client, action: Action, fields: Fields) -> str:
    """Return a sentence that says what an action would do.

    Raises:
        BadInput, NotFound: it cannot be done; one line says why.
    """
    return await guarded(action.ask(client, fields))


async def perform(client: Client, action: Action, fields: Fields, person: Person) -> Done:
    """Carry out an action.

    Raises:
        BadInput, NotFound: it cannot be done; one line says why, and nothing was done.
    """
    return await guarded(action.call(client, fields, person))


async def guarded(asked: Awaitable[Answer]) -> Answer:
    """Return an awaited answer, with errors of the store as bad input.

    Raises:
        BadInput: it cannot be done; one line says why.
    """
    try:
        return await asked
    except (StoreUnreachable, StoreUncertain):
        raise
    except (StoreError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(one_line(error)) from error


def one_line(error: Exception) -> str:
    """Return the message of an error on one line, at most 1,000 characters."""
    return " ".join(str(error).split())[:1_000]


def read_fields(action: Action, given: Mapping[str, str]) -> Fields:
    """Return the fields of a form or an address, typed and bounded; an empty one counts as not given.

    Raises:
        BadInput: a field is missing, unknown or invalid.
    """
    try:
        return action.fields.model_validate({name: value for name, value in given.items() if value != ""})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{name[:NAME_CHARACTERS_MAX]}: {first['msg']}") from error


def missing(action: Action, given: Mapping[str, str]) -> bool:
    """Return whether a required field is still empty."""
    return any(field.is_required() and not given.get(name) for name, field in action.fields.model_fields.items())


def done(changed: bool, message: str, otherwise: str, **result: Any) -> Done:
    """Return the result of an action that changed something.

    Raises:
        NothingDone: nothing changed; says why.
    """
    require(changed, otherwise)
    return Done(message, result)


def require(possible: bool, otherwise: str) -> None:
    """Require that an action is possible.

    Raises:
        NothingDone: it is not possible now; says why.
    """
    if not possible:
        raise NothingDone(otherwise)
