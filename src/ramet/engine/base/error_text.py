"""Exceptions as text: redacted, named safely, with a bounded traceback (docs/guides/security.md).

A handler's error may repeat anything: a header, an address, a line of source. Known secrets are taken out: the values
of environment variables whose names say so, and passwords in addresses.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, cast

from ramet.model.values import storable

HIDDEN = "***"
VALUE_CHARACTERS_MIN = 8
"""Shorter values are words that occur everywhere."""
_SECRET_WORDS = frozenset(
    "APIKEY AUTHORIZATION CREDENTIAL CREDENTIALS DSN KEY KEYS PASS PASSPHRASE PASSWD PASSWORD PGPASSWORD SECRET "
    "SECRETS TOKEN TOKENS".split()
)
_SECRET_PREFIXES = ("RAMET_ALERT_",)
_USER = re.compile(r"(?<=://)([^\s/:@'\"]*):[^\s/'\"]*(?=@)")


def secrets(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Values of the environment that must not be shown, the longest first."""
    found = {
        value
        for name, value in environment.items()
        if len(value) >= VALUE_CHARACTERS_MIN
        and (name.upper().startswith(_SECRET_PREFIXES) or not _SECRET_WORDS.isdisjoint(name.upper().split("_")))
    }
    return iter(sorted(found, key=len, reverse=True))


def redacted(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the text with ``***`` for every secret that is known, and for passwords in addresses."""
    for secret in secrets(environment):
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return _USER.sub(rf"\1:{HIDDEN}", text) if "://" in text else text


RAISED_CHARACTERS_MAX = 16_000
"""Characters of an exception's text that are read; fewer are kept."""
_name_of = type.__dict__["__name__"].__get__


class ErrorText(NamedTuple):
    """A raised object in plain texts."""

    name: str
    """Name of its class."""
    text: str
    """Its message, at most ``RAISED_CHARACTERS_MAX`` characters of it. Where it cannot be had, the reason for that."""

    def __str__(self) -> str:
        return f"{self.name}: {self.text}" if self.text else self.name


def describe_error(error: BaseException) -> ErrorText:
    """Return the name and text of any raised object.

    Guarantee: returns plain ``str`` objects and raises nothing, whatever the object's own code does. The texts may hold
    what no database takes (NUL, lone surrogates): pass them through :func:`ramet.model.values.storable`.
    """
    name = class_name(error)
    try:
        text = str(error)
        # A plain copy: what is returned may be of a subclass of str, with methods of its own.
        return ErrorText(name, str.__getitem__(text, slice(0, RAISED_CHARACTERS_MAX)))
    except BaseException as failure:
        return ErrorText(name, f"it has no text: its __str__ raised {class_name(failure)}")


def class_name(error: BaseException) -> str:
    """Return the name of an exception's class; a metaclass has no say in it."""
    return str(_name_of(type(error)))


BYTES_MAX = 16_384
CHAIN_MAX = 10
"""Exceptions of one chain that are shown, the last raised and those before it."""
FRAMES_MAX = 60
"""Most frames of one exception: a third of them from its beginning, the rest from its end."""
GROUP_MAX = 10
"""Members of a group that are shown."""
NESTED_MAX = 3
"""Groups within groups."""
TEXT_CHARACTERS_MAX = 2_000
"""Most characters of the message of one exception."""
_ENGINE = str(Path(__file__).parents[1]) + os.sep
_FRAME = 'File "'
_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"

_cause = cast(Any, BaseException.__cause__).__get__
_context = cast(Any, BaseException.__context__).__get__
_suppressed = cast(Any, BaseException.__suppress_context__).__get__
_frames = cast(Any, BaseException.__traceback__).__get__
_members = cast(Any, BaseExceptionGroup.exceptions).__get__


def traceback_of(error: BaseException, handler: Callable[..., Any] | None = None) -> str | None:
    """Return the traceback of an exception as Python would print it, ready to be stored; None where nothing is known.

    Never raises. At most `BYTES_MAX` bytes of UTF-8 without NUL and lone surrogates; a longer one loses its middle.
    Paths below the app's folder are shown relative to it, known secrets not at all.

    Args:
        error: what was raised.
        handler: whose app's folder is meant; without one the working directory.
    """
    return _stored(lambda: "".join(_chain(error, 0)), handler)


def reported_traceback(text: str | None) -> str | None:
    """Return the traceback that another program reported, redacted and bounded for storage; None for none."""
    return bounded(storable(redacted(text))) if text else None


def stack_of(thread: int | None, handler: Callable[..., Any] | None = None) -> str | None:
    """Return the present stack of a thread in the same form; None when it is over. Never raises."""

    def message() -> str:
        frame = sys._current_frames().get(thread or 0)
        steps = [] if frame is None else [*traceback.walk_stack(frame)]
        return "".join(["Stack (most recent call last):\n", *_shown(steps[::-1])])

    return _stored(message, handler)


def _stored(make: Callable[[], str], handler: Callable[..., Any] | None) -> str | None:
    try:
        text = make()
        if _FRAME not in text:
            return None
        return bounded(storable(redacted(text.replace(f"{_FRAME}{folder_of(handler)}/", _FRAME))))
    except BaseException:
        return "the traceback cannot be shown"


def bounded(text: str, bytes_max: int = BYTES_MAX) -> str:
    """Return the text in at most this number of bytes of UTF-8: its first third and its end, with a note between."""
    data = text.encode()
    if len(data) <= bytes_max:
        return text
    note = f"\n... {len(data) - bytes_max:,} bytes and more left out ...\n"
    room = bytes_max - len(note)
    head, tail = data[: room // 3], data[len(data) - (room - room // 3) :]
    return head.decode(errors="ignore") + note + tail.decode(errors="ignore")


def folder_of(handler: Callable[..., Any] | None) -> str:
    """Return the folder that the handler's top package or module is in: where the app is."""
    name = getattr(handler, "__module__", None)
    of_an_app = isinstance(name, str) and not name.startswith(__name__.rpartition(".")[0])
    return _folder(name) if of_an_app else str(Path.cwd())


@lru_cache(maxsize=1_000)
def _folder(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str):
        return str(Path.cwd())
    path = Path(file).absolute()
    above = module.count(".") + (path.name == "__init__.py")
    return str(path.parents[min(above, len(path.parents) - 1)])


# --- parts of a traceback


def _chain(error: BaseException, depth: int) -> Iterator[str]:
    """Yield an exception after those that it follows from, oldest first."""
    links: list[tuple[BaseException, str]] = [(error, "")]
    seen = {id(error)}
    while len(links) < CHAIN_MAX:
        last = links[-1][0]
        cause, between = _cause(last), _CAUSE
        if cause is None and not _suppressed(last):
            cause, between = _context(last), _CONTEXT
        if cause is None or id(cause) in seen:
            break
        seen.add(id(cause))
        links.append((cause, between))
    for one, between in reversed(links):
        yield from _single(one, depth)
        yield between


def _single(error: BaseException, depth: int) -> Iterator[str]:
    frames = _formatted(_frames(error))
    if frames:
        yield "Traceback (most recent call last):\n"
        yield from frames
    name, text = describe_error(error)
    yield f"{name}: {_cut(text)}\n" if text else f"{name}\n"
    for note in _notes(error):
        yield f"{_cut(note)}\n"
    if issubclass(type(error), BaseExceptionGroup) and depth < NESTED_MAX:
        members = _members(error)
        for number, member in enumerate(members[:GROUP_MAX], 1):
            yield f"  +---------------- {number} ----------------\n"
            text = "".join(_chain(member, depth + 1))
            yield from (f"  | {line}\n" for line in text.splitlines())
        if len(members) > GROUP_MAX:
            yield f"  +---------------- and {len(members) - GROUP_MAX} more\n"


def _cut(text: str) -> str:
    """Return a message that is not too long. Secrets go first: half of one is one still."""
    return redacted(text)[:TEXT_CHARACTERS_MAX]


def _notes(error: BaseException) -> list[str]:
    """Return the notes of ``add_note``, read from the object itself: no attribute of its class comes between."""
    try:
        notes = object.__getattribute__(error, "__dict__").get("__notes__")
    except BaseException:
        notes = None
    return [note for note in notes[:GROUP_MAX] if type(note) is str] if type(notes) is list else []


def _formatted(trace: TracebackType | None) -> list[str]:
    """Frames as Python prints them."""
    steps: list[tuple[Any, int]] = []
    while trace is not None:
        steps.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return _shown(steps)


def _shown(steps: list[tuple[Any, int]]) -> list[str]:
    """Frames, the outermost first, without those of the engine (and its threads) that called the handler."""
    begin = 0
    while begin < len(steps) and _is_ours(steps[begin][0].f_code.co_filename):
        begin += 1
    steps = steps[begin:] or steps
    head = FRAMES_MAX // 3
    if len(steps) <= FRAMES_MAX:
        return _lines(steps)
    left_out = len(steps) - FRAMES_MAX
    return [*_lines(steps[:head]), f"  ... {left_out:,} frames left out ...\n", *_lines(steps[head + left_out :])]


def _lines(steps: list[tuple[Any, int]]) -> list[str]:
    return traceback.StackSummary.extract(iter(steps)).format()


def _is_ours(file: str) -> bool:
    return file == threading.__file__ or file.startswith(_ENGINE)
