"""The first call to a model: it goes alone, and the others of the process wait for what becomes of it.

A wrong key, a model that does not exist or an account without money is then found by one call, and not by as many as
may be in flight. So is a server that ignores the limit of an answer, where judging the first answer raises.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from ramet.llm.errors import NotAllowed


class FirstCall:
    """Of one job and model, in one event loop."""

    def __init__(self) -> None:
        self.answered = False
        """Whether the provider has taken a call on, or refused one for what was in it: then all may go."""
        self._out: asyncio.Future[bool] | None = None

    async def enter(self, seconds: float) -> bool:
        """Wait for the call that is out, for at most so many seconds; False where it is not for this one to go now."""
        while not self.answered:
            if self._out is None:
                self._out = asyncio.get_running_loop().create_future()
                return True
            try:
                refused = await asyncio.wait_for(asyncio.shield(self._out), seconds)
            except TimeoutError:
                return False
            if refused:
                return False
        return True

    def leave(self, *, refused: bool) -> None:
        """The call is over. ``refused``: the account is not allowed to make it, so none that waits is to try."""
        out, self._out = self._out, None
        if out is not None and not out.done():
            out.set_result(refused)


class FirstCalls:
    """Of all jobs of a process."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], FirstCall]] = (
            WeakKeyDictionary()
        )

    @asynccontextmanager
    async def turn(self, job_id: str, model: str, seconds: float) -> AsyncIterator[FirstCall | None]:
        """The call's turn; None where it is to come back later. Set `FirstCall.answered` once there is an answer."""
        first = self._known.setdefault(asyncio.get_running_loop(), {}).setdefault((job_id, model), FirstCall())
        if not await first.enter(seconds):
            yield None
            return
        refused = False
        try:
            yield first
        except NotAllowed:
            refused = True
            raise
        finally:
            first.leave(refused=refused)
