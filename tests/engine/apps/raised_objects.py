"""Random objects that Python can raise, broken in random ways; the same for the same seed, in every process."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from ramet import Permanent, RetryAfter, Transient

BASES: tuple[type[BaseException], ...] = (
    Exception, BaseException, ValueError, OSError, KeyError, UnicodeError, RuntimeError, RecursionError, MemoryError,
    KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, StopAsyncIteration, asyncio.CancelledError,
    TimeoutError, ConnectionError, Transient, Permanent, AssertionError, ImportError, SyntaxError,
)  # fmt: skip
BREAKABLE = (
    "__str__", "__repr__", "__cause__", "__context__", "__traceback__", "__notes__", "__suppress_context__", "args",
    "response", "status_code", "errno", "code", "seconds", "resource", "__class__", "__eq__", "__hash__", "__len__",
    "__bool__", "__reduce__", "__format__", "__dict__", "with_traceback", "add_note", "__getattr__",
)  # fmt: skip
TEXTS = ("", "plain", "\ud800 half", "nul \0", "x" * 50_000, "1" * 5_000, "a1b2-" * 2_000, "two\nlines", "\x1b[31m")


def raising(seed: int) -> BaseException:
    """One to raise."""
    rng = random.Random(seed)
    error = _made(rng)
    if rng.random() < 0.3:
        vars(BaseException)["__cause__"].__set__(error, _made(rng))  # Its own may be broken.
    if rng.random() < 0.2:
        try:
            return BaseExceptionGroup("several", [error, _made(rng)])
        except BaseException:  # Python looks at the class of each.
            return error
    return error


def _made(rng: random.Random) -> BaseException:
    if rng.random() < 0.1:
        odd = RetryAfter(1)
        odd.seconds = rng.choice(  # type: ignore[assignment]
            ["120", None, float("nan"), float("inf"), [], 10**400]
        )
        return odd
    base = rng.choice(BASES)
    if rng.random() < 0.2:
        return base(*_arguments(rng, base))
    broken = {name: _broken(rng, name) for name in rng.sample(BREAKABLE, rng.randint(0, 4))}
    made: BaseException = type(rng.choice(["Odd", "Ünï", "Long" * 200]), (base,), broken)(*_arguments(rng, base))
    return made


def _arguments(rng: random.Random, base: type[BaseException]) -> list[Any]:
    return [rng.choice(TEXTS)] if not issubclass(base, UnicodeError) or base is UnicodeError else []


def _broken(rng: random.Random, name: str) -> Any:
    """A method or a property that raises, gives nothing, or gives something else."""
    error = rng.choice([AttributeError, RuntimeError, KeyboardInterrupt, SystemExit, RecursionError, GeneratorExit])

    def raises(*_: object) -> Any:
        raise error(name)

    ways: list[Callable[[], Any]] = [
        lambda: raises,
        lambda: property(raises),
        lambda: lambda *_: None,
        lambda: lambda *_: 5,
        lambda: property(lambda _: "text"),
    ]
    return rng.choice(ways)()
