"""Serve values of the model as JSON objects: the answer of a route is the value itself, or an :class:`Answer`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, NamedTuple, Self, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    JsonValue,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema

from ramet import BoundedCount, Cause, Client, InvalidPath, Lineage
from ramet.model.causes import CauseSubject, Sentence
from ramet.model.paths import path_of
from ramet.web.page import BadInput, existing

SHOWN_CHARACTERS_MAX = 20_000
"""Most characters of one JSON value on a page."""


class Answer(BaseModel):
    """An answer, or a part of one. Moments are Unix seconds (``*_at``), money is whole nano-dollars."""

    model_config = ConfigDict(from_attributes=True, frozen=True, use_attribute_docstrings=True)


_MODELS: dict[str, type[Answer]] = {}
"""Name of a schema -> its model: one that several routes answer with has one name in the OpenAPI document."""


@dataclass(frozen=True, eq=False)
class AsObject:
    """Serve a dataclass or named tuple as a JSON object of its fields (an annotation), and the values in it likewise.

    pydantic alone would write a named tuple as an array. JSON that a task brought (``Any``) is made encodable.
    """

    name: str | None = None
    """Name of the schema; by default that of the type, and ``Answer``."""
    without: Collection[str] = ()
    """Fields that are left out."""
    types: Mapping[str, Any] = field(default_factory=dict)
    """Types of properties that are served too, or of fields that have a narrower one."""
    inner: Mapping[Any, Any] = field(default_factory=dict)
    """Types inside, and what they are served as."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of a model with these fields."""
        return handler.generate_schema(self.model(source))

    def model(self, value: type) -> type[Answer]:
        """Return the model that a type is served by."""
        name = self.name or f"{value.__name__}Answer"
        types = {key: hint for key, hint in {**get_type_hints(value), **self.types}.items() if key not in self.without}
        if name not in _MODELS:
            fields: Any = {key: (self._served(hint), ...) for key, hint in types.items()}
            _MODELS[name] = create_model(name, __base__=Answer, __doc__=value.__doc__, **fields)
        assert _MODELS[name].model_fields.keys() == types.keys(), f"two answers are called {name}"
        return _MODELS[name]

    def _served(self, hint: Any) -> Any:
        """Return a type with the values of the model inside it replaced by their models."""
        if hint in self.inner:
            return self.inner[hint]
        if hint is Any:
            return Annotated[JsonValue, BeforeValidator(json_value)]
        if get_origin(hint) is not None:
            parts = tuple(self._served(part) for part in get_args(hint))
            origin = get_origin(hint)
            return reduce(or_, parts) if isinstance(hint, UnionType) else origin[parts]
        is_value = hasattr(hint, "_fields") or is_dataclass(hint)
        return AsObject(inner=self.inner).model(hint) if is_value else hint


class JsonText(NamedTuple):
    """A JSON value as text for people."""

    text: str
    cut: bool
    """There was more than may be shown."""
    characters: int
    """Characters before the cut."""


def pretty(value: Any) -> JsonText:
    """Return a JSON value, indented; cut where it is very long."""
    text = encodable(json.dumps(value, indent=2, ensure_ascii=False, default=str))
    return JsonText(text[:SHOWN_CHARACTERS_MAX], len(text) > SHOWN_CHARACTERS_MAX, len(text))


def encodable(text: str) -> str:
    """Return the text with half characters (lone surrogates, which JSON can carry) written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def json_value(value: Any) -> Any:
    """Return a JSON value that can be sent: half characters in its texts are written as escapes."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return _encodable(value)
    return value


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    if isinstance(value, dict):
        return {encodable(key): _encodable(one) for key, one in value.items()}
    return value


CauseSubjectAnswer = Annotated[CauseSubject, AsObject()]
BoundedCountAnswer = Annotated[BoundedCount, AsObject()]


class CauseAnswer(Answer):
    """One reason, as a code with facts for programs and in words for people."""

    code: str
    text: str
    """The words, moments in Unix seconds."""
    facts: dict[str, JsonValue]
    about: CauseSubjectAnswer | None
    remedy: str | None
    """Remedy as a command or a setting; null where there is none."""

    @model_validator(mode="before")
    @classmethod
    def _of_cause(cls, cause: Any) -> Any:
        if not isinstance(cause, Cause):
            return cause
        facts = {name: [*fact] if isinstance(fact, tuple) else fact for name, fact in cause.facts.items()}
        return {**cause._asdict(), "text": cause.said(), "facts": facts}

    @classmethod
    def each(cls, causes: Sequence[Cause]) -> list[Self]:
        """Return the causes for programs."""
        return [cls.model_validate(cause) for cause in causes]


async def stored_lineage(client: Client, tracking_id: str) -> Lineage:
    """Return a lineage.

    Raises:
        NotFound: there is none with this tracking id.
    """
    line = f"no lineage {tracking_id}: it was never there, or it was pruned"
    return existing(await client.lineage(tracking_id), line)


def path_from_text(text: str | None) -> tuple[str, ...]:
    """Return the path of a typed text: a JSON list of texts, or elements with ``/`` between them; empty for none.

    Raises:
        BadInput: it is not a valid path.
    """
    if text is None:
        return ()
    try:
        elements = json.loads(text) if text.startswith("[") else [part for part in text.split("/") if part]
        return path_of(elements)
    except (InvalidPath, ValueError, RecursionError) as error:
        raise BadInput(f"not a valid path ({error}): give elements as in doc1/review, or a JSON list") from error


class CauseLine(NamedTuple):
    """A cause as a page shows it."""

    words: Sentence
    about: CauseSubject | None
    remedy: str | None
    code: str


def cause_lines(causes: Sequence[Cause]) -> list[CauseLine]:
    """Return the causes for people: moments in their words are still numbers, which a page writes as times."""
    return [CauseLine(cause.words, cause.about, cause.remedy, cause.code) for cause in causes]
