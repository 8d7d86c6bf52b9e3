"""Titles compared with the wanted ones, by what they mean: a developer is an engineer, "back-end" is "backend".

Only the role counts: in "Software Engineer, Sales Mode" the sales are the team's, in "Sales Engineer" the role's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from ramet.jobs.matching.words import first_word, fold, has_word, places_of_word
from ramet.jobs.text import word_list
from ramet.jobs.text.technologies import is_technology

_SEGMENTS = re.compile(r"[,;:|/(){}\[\]@•·\u2013\u2014¶]|\s-\s")
_TITLE_MAX = 300
_ENGINEER = "engineer"


class Likeness(StrEnum):
    """Nearness of a title to the wanted ones."""

    WANTED = "wanted"
    """It has the words of one."""
    SAME_ROLE = "same role"
    """It has the role of one, and no words for another speciality: "Python Developer" where engineers are wanted."""
    RELATED = "related"
    """It has the role or the field of one, with words for another speciality."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """Comparison of a title with the wanted ones."""

    likeness: Likeness
    word: str
    """The wanted title, or the role, that it has; empty for none."""


@lru_cache(maxsize=4_096)
def title_match(title: str, wanted: tuple[str, ...]) -> TitleMatch:
    """Compare a title with wanted ones.

    Args:
        title: as it is written.
        wanted: words and phrases, as the profile has them.
    """
    plain = fold(title[:_TITLE_MAX])
    given = first_word(plain, wanted)
    if given is not None:
        return TitleMatch(Likeness.WANTED, given)
    unified = unify(plain)
    words = _words(unified)
    phrases = {phrase: unify(fold(phrase)) for phrase in wanted}
    for phrase, meant in phrases.items():
        parts = meant.split()
        if meant in _roles():
            # "developer" is wanted as it is written: with its synonyms it would be any engineer.
            continue
        if has_word(unified, meant) or (len(parts) > 1 and set(parts) <= set(words) and parts[-1] in _roles()):
            return TitleMatch(Likeness.WANTED, phrase)
    return _nearly(unified, words, tuple(phrases.values()))


def _nearly(unified: str, words: Sequence[str], phrases: tuple[str, ...]) -> TitleMatch:
    """Compare by the role or the field of a wanted title, where none of them is in the title whole."""
    roles = {part for phrase in phrases for part in phrase.split() if part in _roles()}
    is_software = any(has_word(phrase, word) for phrase in phrases for word in _list("software"))
    if is_software:
        roles.add(_ENGINEER)
    others = [branch for branch in _list("branches") if not any(has_word(phrase, branch) for phrase in phrases)]
    is_branch = any(has_word(unified, branch) for branch in others)
    akin = {other for name in roles for other in _akin().get(name, ())}
    role = next((word for word in words if word in roles), None) or next((word for word in words if word in akin), None)
    if role is not None and not is_branch:
        plain = {role, "software"} if is_software else {role}
        left = [word for word in words if word not in plain and word not in _levels()]
        is_plain = role in roles and all(map(is_technology, left))
        return TitleMatch(Likeness.SAME_ROLE if is_plain else Likeness.RELATED, role)
    fields = (" ".join(part for part in phrase.split() if part not in _roles()) for phrase in phrases)
    field = next((field for field in fields if field not in ("", "software") and has_word(unified, field)), None)
    if field is not None and not is_branch:
        return TitleMatch(Likeness.RELATED, field)
    return TitleMatch(Likeness.OTHER, "")


def excluded_kind(title: str, kinds: Iterable[str]) -> str | None:
    """Return the first of some kinds of work that the role of a title is; None for none.

    A word behind a role that makes something is the team's or the object's. Of other roles every word counts: "Account
    Executive, Sales" is sales.

    Args:
        title: folded.
        kinds: as the settings have them.
    """
    word = first_word(title, kinds)
    if word is None:
        return None
    end = _end_of_role(title)
    for kind in kinds:
        meant = fold(kind)
        if any(end is None or at < end for at in places_of_word(title, meant)):
            return kind
    return None


def _end_of_role(title: str) -> int | None:
    """Return the end of the first role, if it is one that makes something; None for none, or one of another kind."""
    found = [
        (at, at + len(word), name in _makers())
        for name in _roles()
        for word in (name, *_synonyms_of(name))
        for at in places_of_word(title, word)
    ]
    if not found:
        return None
    _, end, makes = min(found)
    return end if makes else None


def unify(folded: str) -> str:
    """Return a folded title with one word for all that mean the same."""
    return _synonym().sub(lambda found: _synonyms()[found[0]], folded)


def _words(unified: str) -> list[str]:
    return [word for segment in _SEGMENTS.split(unified) for word in segment.split()]


@cache
def _lists() -> dict[str, list[str]]:
    return word_list("titles")


def _list(name: str) -> list[str]:
    return _lists()[name]


@cache
def _roles() -> frozenset[str]:
    return frozenset(_list("roles"))


@cache
def _makers() -> frozenset[str]:
    return frozenset(_list("makers"))


@cache
def _akin() -> dict[str, list[str]]:
    """Return the roles that are near to each."""
    entries = (entry.partition(": ") for entry in _list("akin"))
    return {name: others.split("|") for name, _, others in entries}


@cache
def _levels() -> frozenset[str]:
    return frozenset(word for entry in _list("levels") for word in entry.split())


@cache
def _synonyms() -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in _list("synonyms"):
        name, _, others = entry.partition(": ")
        found |= dict.fromkeys(map(fold, others.split("|")), name)
    return found


@cache
def _synonyms_of(name: str) -> tuple[str, ...]:
    return tuple(word for word, meant in _synonyms().items() if meant.split()[-1] == name)


@cache
def _synonym() -> re.Pattern[str]:
    words = sorted(_synonyms(), key=len, reverse=True)
    return re.compile(rf"(?<![\w+#])(?:{'|'.join(map(re.escape, words))})(?![\w+#])")
