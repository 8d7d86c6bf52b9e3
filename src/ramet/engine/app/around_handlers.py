"""The part of the app that is around its handlers: shared resources, middleware, and listeners for events."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from ramet.engine.base.error_text import describe_error, redacted
from ramet.engine.base.events import EVENT_NAMES, EventName, TaskEvent
from ramet.engine.kinds.registry import Middleware, Registry
from ramet.engine.kinds.signatures import check_parentheses, is_async, name_of

ContextFunction = TypeVar("ContextFunction", bound=Callable[..., Any])
EndFunction = TypeVar("EndFunction", bound=Callable[[], object])
EventFunction = TypeVar("EventFunction", bound=Callable[[TaskEvent], object])


class AroundHandlers:
    """See :class:`ramet.engine.app.app.App`."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._lifespan: Middleware | None = None
        self._at_end: list[Callable[[], object]] = []
        self._opened: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
        """Number of workers that run handlers, by event loop; ``ramet.testing`` counts as one."""

    def lifespan(self, function: ContextFunction) -> ContextFunction:
        """Register what opens the resources of handlers and closes them: a function of the app with one ``yield``.

        It is entered once in each process that runs handlers, before the first one, and left when that process ends in
        good order, also when it drains: in the worker's handler process, each process of a kind with ``process=True``,
        the worker's own with ``--in-process`` and :meth:`run`, and in ``ramet.testing``'s ``drain`` and ``run_task``.
        After a crash nothing is closed. Its value is ``ctx.lifespan``. ``async def`` or plain; a function made by
        ``contextlib`` works too. Opening may take 60 s together with the import of the app, closing 5 s.

        Where it raises at its start the worker does not begin, and says why in one line; claims go back.

        Raises:
            ValueError: there is one already, or the function cannot be one; one sentence says what to write.
        """
        if self._lifespan is not None:
            raise ValueError(f"@app.lifespan above {name_of(function)} is the second: open everything in one")
        self._lifespan = _managed("@app.lifespan", function, "app")
        return function

    def middleware(self, function: ContextFunction) -> ContextFunction:
        """Run each call of a handler within this: a function of its context with one ``yield``, where it runs.

        The first one registered is outermost. After the ``yield``, ``ctx.returned`` is what the handler returned; what
        it raised is raised there. An error of middleware, before or after, is the error of the attempt, like a
        handler's; it cannot hide one: an exception that it suppresses fails the attempt all the same.

        It runs in the loop of the handlers' process, also around plain functions, which see its context variables; of
        their contexts it reads attributes only. A batch handler has one call, and a batch for its context. Its time is
        part of the invocation limit. ``async def`` or plain; a function made by ``contextlib`` works too.

        Raises:
            ValueError: the function cannot be one; one sentence says what to write.
        """
        self.registry.middleware.append(_managed("@app.middleware", function, "ctx"))
        return function

    def on(self, event: EventName) -> Callable[[EventFunction], EventFunction]:
        """Call a plain function with a :class:`ramet.TaskEvent` at every such event, once it is durable.

        - ``start``: a handler is about to be called.
        - ``success``, ``failure``: a task ended in this state; a failure also where a deadline or a lost lease too many
          ended it. Other ends have no event.
        - ``retry``: an attempt failed, or its process died, and the task runs again.
        - ``block``: the guard refused a spawn, duplicates included.

        It is called in the worker's own process, not where handlers run, and must return at once: leases are kept
        there. Events of tasks that a handler takes with ``ctx.invoke`` come where that handler runs, and those of tasks
        that a program takes with the pull API in that program, without ``start``. An error of it is logged and changes
        nothing. It is a convenience, not a record: a worker that dies between a settlement and its event sends none.

        Raises:
            ValueError: there is no such event, or the function is ``async def``: hand over what takes time.
        """
        check_parentheses("@app.on", event)
        if event not in EVENT_NAMES:
            raise ValueError(f"there is no event {event!r}: give one of {', '.join(EVENT_NAMES)}")

        def register(function: EventFunction) -> EventFunction:
            if is_async(function):
                raise ValueError(
                    f"{name_of(function)} for the event {event!r} is async: give a plain function that returns at once"
                )
            self.registry.listeners.add(event, function)
            return function

        return register

    def at_end(self, function: EndFunction) -> EndFunction:
        """Register a function that closes what handlers opened; called where they ran, when that ends in good order.

        ``async def``, which is awaited, or plain. Of several workers in one event loop the last one calls it.

        The last registered comes first; what :meth:`lifespan` has after its ``yield`` follows all of them.
        After a crash nothing is called: what handlers write outside must bear that.
        """
        self._at_end.append(function)
        return function

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Any]:
        """For the engine: while handlers run in this process, what they have as ``ctx.lifespan``.

        All of what is to be closed is closed, even when a part of it raises.

        Raises:
            RuntimeError: the lifespan raised at its start; one line, without known secrets.
        """
        async with AsyncExitStack() as stack:
            value = None
            if self._lifespan is not None:
                try:
                    value = await stack.enter_async_context(self._lifespan(self))
                except Exception as error:
                    why = " ".join(redacted(str(describe_error(error))).split())
                    raise RuntimeError(f"the app's lifespan could not open: {why}") from error
            loop = asyncio.get_running_loop()
            self._opened[loop] = self._opened.get(loop, 0) + 1
            stack.push_async_callback(self._close, loop)
            yield value

    async def _close(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what handlers opened in this loop, where no other handlers run in it."""
        self._opened[loop] -= 1
        if self._opened[loop]:
            return
        async with AsyncExitStack() as stack:
            for function in self._at_end:
                if is_async(function):
                    stack.push_async_callback(cast(Callable[[], Awaitable[object]], function))
                else:
                    stack.callback(function)


def _managed(decorator: str, function: Callable[..., Any], argument: str) -> Middleware:
    """Return the function as one that makes async context managers.

    Raises:
        ValueError: it cannot be one.
    """
    words = f"write async def {name_of(function)}({argument}), with one yield"
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise ValueError(f"{decorator} above {name_of(function)} needs a function of one argument: {words}") from None
    if inspect.isasyncgenfunction(function):
        return asynccontextmanager(function)
    if is_async(function) or not callable(function):
        raise ValueError(f"{decorator} above {name_of(function)} needs a function that yields: {words}")
    if inspect.isgeneratorfunction(function):
        return _entered(contextmanager(function))
    return _entered(function)


def _entered(function: Callable[..., Any]) -> Middleware:
    """Return a function that makes context managers of either sort, as one that makes async ones."""

    @asynccontextmanager
    async def within(argument: Any) -> AsyncIterator[Any]:
        made = function(argument)
        if hasattr(made, "__aenter__"):
            async with made as value:
                yield value
        else:
            with made as value:
                yield value

    return within
