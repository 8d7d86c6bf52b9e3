"""What a verb is asked with is looked at before it begins: text that no database holds is refused in the same words.

This is the way of people, and of whoever looks something up. What workers settle in batches was looked at where the
handler asked for it: one task must not spoil the settlements of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ramet.model.flow.resources import NAME_LENGTH_MAX
from ramet.model.values import BY_CHARACTERS_MAX, REASON_CHARACTERS_MAX, InvalidText, check_text
from ramet.store.errors import StoreError

_CHARACTERS_MAX = {"by": BY_CHARACTERS_MAX, "reason": REASON_CHARACTERS_MAX, "name": NAME_LENGTH_MAX}
"""Argument of a verb that writes -> the longest that it may be."""


class TextRefused(StoreError, InvalidText):
    """An argument cannot be stored, or is too long; nothing was written."""


def check_arguments(verb: Callable[..., Any], *, writes: bool) -> None:
    """Do nothing if a verb's arguments can be bound.

    Raises:
        TextRefused: one holds a NUL or a lone surrogate, or is longer than is kept.
    """
    if not isinstance(verb, partial):
        return
    try:
        for name, value in verb.keywords.items():
            _check(name, value)
            if writes and isinstance(value, str):
                check_text(name, value, characters_max=_CHARACTERS_MAX.get(name))
    except InvalidText as error:
        raise TextRefused(str(error)) from None


def _check(name: str, value: object) -> None:
    if isinstance(value, str):
        check_text(name, value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _check(name, key)
            _check(name, inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            _check(name, inner)
