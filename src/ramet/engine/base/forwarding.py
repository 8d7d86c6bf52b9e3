"""Methods that are made of other methods: a client's of the store's, and blocking ones of async ones.

A made method has the parameters, the answer and the types of the one that it is made of, so that the two cannot differ;
type checkers and ``help`` see its signature.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from ramet.store.store import Store

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


class HasStore(Protocol):
    """The part of a client that a verb of the store needs."""

    store: Store


_NAMES = {id(verb): name for name, verb in vars(Store).items()}
"""The name of each verb, by what it is: verbs are functions with the name of the function that does the work."""


def of_store(
    verb: Callable[Concatenate[Store, Parameters], Coroutine[Any, Any, Answer]], text: str
) -> Callable[Concatenate[HasStore, Parameters], Coroutine[Any, Any, Answer]]:
    """Return the method of a client that calls this verb of its store.

    Args:
        verb: ``Store.get``. It is looked up by its name at each call: a client may have a store that watches.
        text: the docstring for users; the verb's own is for those who write stores.
    """
    name = _NAMES[id(verb)]

    @wraps(verb)
    async def call(self: HasStore, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        answer: Answer = await getattr(self.store, name)(*args, **kwargs)
        return answer

    call.__name__, call.__doc__ = name, text
    return call


class WaitFor(Protocol):
    """Runs a coroutine in its loop and waits for its answer."""

    def __call__(self, coroutine: Coroutine[Any, Any, Answer], /) -> Answer: ...


def answer_from(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine in a loop of another thread, and wait for its answer.

    Raises:
        RuntimeError: this is the loop's own thread, which would wait for itself and for ever.
    """
    here = None
    with suppress(RuntimeError):
        here = asyncio.get_running_loop()
    if here is loop:
        coroutine.close()
        raise RuntimeError("a context of a plain handler waits in the handler's thread only, not in middleware")
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


class Blocking:
    """An object without ``await`` that has the methods of an async one."""

    _wait_for: WaitFor

    @property
    def _async(self) -> Any:
        """The object whose methods do the work."""
        return self

    def _run(
        self,
        method: Callable[Concatenate[Any, Parameters], Coroutine[Any, Any, Answer]],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Answer:
        return self._wait_for(method(self._async, *args, **kwargs))


def blocking(
    method: Callable[Concatenate[Any, Parameters], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[Blocking, Parameters], Answer]:
    """Return the method of a :class:`Blocking` object that waits for the answer of this async method."""

    @wraps(method)
    def call(self: Blocking, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        return self._run(method, *args, **kwargs)

    return call
