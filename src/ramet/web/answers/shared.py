"""What several answers are made of: the base of their models, JSON that can be shown, what a cause says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, JsonValue

from ramet import Cause
from ramet.model.causes import Sentence

SHOWN_CHARACTERS_MAX = 20_000
"""Of one JSON value on a page."""


class Answer(BaseModel):
    """An answer, or a part of one. Moments are Unix seconds (``*_at``), money is whole nano-dollars."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    @classmethod
    def each(cls, values: Iterable[object]) -> list[Self]:
        """One answer for each of the engine's values, whose fields it has."""
        return [cls.model_validate(value) for value in values]


class Shown(NamedTuple):
    """A JSON value as text for people."""

    text: str
    cut: bool
    """There was more than may be shown."""
    characters: int
    """How many there were."""


def pretty(value: Any) -> Shown:
    """A JSON value, indented; cut where it is very long."""
    text = encodable(json.dumps(value, indent=2, ensure_ascii=False, default=str))
    return Shown(text[:SHOWN_CHARACTERS_MAX], len(text) > SHOWN_CHARACTERS_MAX, len(text))


def encodable(text: str) -> str:
    """The text with half characters (lone surrogates, which JSON can carry) written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def json_value(value: Any) -> Any:
    """A JSON value that can be sent: the same, with half characters in its texts written as escapes."""
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


class AboutAnswer(Answer):
    """What a cause leads to."""

    what: str
    """``task``, ``lineage``, ``queue``, ``kind``, ``resource`` or ``worker``."""
    name: str


class CauseAnswer(Answer):
    """One reason, as a code with facts for programs and in words for people."""

    code: str
    text: str
    """The words, moments in Unix seconds."""
    facts: dict[str, JsonValue]
    about: AboutAnswer | None
    remedy: str | None
    """What a person can do about it, as a command or a setting."""

    @classmethod
    def of(cls, cause: Cause) -> CauseAnswer:
        """The cause for machines."""
        facts: dict[str, JsonValue] = {
            name: [*fact] if isinstance(fact, tuple) else fact for name, fact in cause.facts.items()
        }
        about = None if cause.about is None else AboutAnswer(what=cause.about.what, name=cause.about.name)
        return cls(code=cause.code, text=cause.said(), facts=facts, about=about, remedy=cause.remedy)


class SaidCause(NamedTuple):
    """A cause as a page shows it."""

    words: Sentence
    about: AboutAnswer | None
    remedy: str | None
    code: str


def said(causes: Sequence[Cause]) -> list[SaidCause]:
    """The causes for people: moments in their words are still numbers, which a page writes as times."""
    return [SaidCause(cause.words, CauseAnswer.of(cause).about, cause.remedy, cause.code) for cause in causes]


class CountAnswer(Answer):
    """How many there are, as far as was looked."""

    number: int
    more: bool
    """The counting stopped at a bound: there are at least so many."""
