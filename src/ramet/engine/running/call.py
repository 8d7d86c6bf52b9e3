"""What is around the call of a handler: a limit of memory, an observer, the thread of a plain one."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Sequence
from contextlib import nullcontext
from typing import Any

from ramet.engine.base.current_tasks import take
from ramet.engine.base.observe import Running
from ramet.engine.base.work import Work
from ramet.engine.kinds.execution import memory_limit
from ramet.engine.kinds.registry import Kind
from ramet.engine.running.slot import HandlerThread


async def limited(called: Awaitable[Any], more_bytes: int) -> Any:
    """The call, with so much more memory than there is now and no more."""
    with memory_limit(more_bytes):
        return await called


async def observed(called: Awaitable[Any], running: Running) -> Any:
    """The call; what it starts belongs below it."""
    with running.inside():
        return await called


def call_in_thread(
    kind: Kind,
    context: Any,
    arguments: tuple[Any, ...],
    works: Sequence[Work],
    thread: HandlerThread,
    *,
    more_bytes: int | None,
    running: Running | None,
) -> Any:
    """Call a plain handler, in the thread that is to run it."""
    assert kind.handler is not None
    thread.ident = threading.get_ident()
    take(works)
    try:
        with memory_limit(more_bytes), nullcontext() if running is None else running.inside():
            return kind.handler(context, *arguments)
    except StopIteration as error:
        # A future cannot carry this one: whoever awaits it would wait for ever.
        raise RuntimeError("the handler raised StopIteration") from error
