"""The name and the text of an exception, safely: an exception is an object of somebody else's code.

Its ``__str__`` may raise, return no text, or return a text that misbehaves in turn; its class may lie about its name.
Whatever asks an exception for something goes through here, so that an error cannot become another one on its way.
"""

from __future__ import annotations

from typing import NamedTuple

RAISED_CHARACTERS_MAX = 16_000
"""How much of an exception's text is read; what is kept of it is less."""
_name_of = type.__dict__["__name__"].__get__


class Raised(NamedTuple):
    """A raised object in plain texts."""

    name: str
    """Of its class."""
    text: str
    """Its message, at most ``RAISED_CHARACTERS_MAX`` characters of it. Where it cannot be had, the reason for that."""

    def __str__(self) -> str:
        return f"{self.name}: {self.text}" if self.text else self.name


def raised(error: BaseException) -> Raised:
    """The name and text of any raised object.

    Guarantee: returns plain ``str`` objects and raises nothing, whatever the object's own code does. The texts may
    hold what no database takes (NUL, lone surrogates): pass them through :func:`ramet.model.text.storable`.
    """
    name = class_name(error)
    try:
        text = str(error)
        # A plain copy: what is returned may be of a subclass of str, with methods of its own.
        return Raised(name, str.__getitem__(text, slice(0, RAISED_CHARACTERS_MAX)))
    except BaseException as failure:
        return Raised(name, f"it has no text: its __str__ raised {class_name(failure)}")


def class_name(error: BaseException) -> str:
    """The name of an exception's class; a metaclass has no say in it."""
    return str(_name_of(type(error)))
