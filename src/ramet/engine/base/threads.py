"""Threads for plain handlers: as many as run at once, and one more for each that does not come back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class Threads:
    """Runs calls in threads that are used again. Nobody waits for a thread at the end of the process.

    Used from one event loop only. A call whose future was cancelled runs on in its thread; it occupies that thread
    and no other, however many there are.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._free = 0
        self._started = 0
        self._process = os.getpid()

    def run(self, call: Callable[[], Any], then: Callable[[], None] | None = None) -> asyncio.Future[Any]:
        """Start a call; ``then`` is called in the loop when it has really ended, whatever became of its future."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if self._free:
            self._free -= 1
        else:
            self._started += 1
            name = f"ramet handler {self._started}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

        def ended(result: Any, error: BaseException | None) -> None:
            self._free += 1
            if not future.done():
                if error is None:
                    future.set_result(result)
                else:
                    future.set_exception(error)
            if then is not None:
                then()

        def job() -> None:
            result, error = None, None
            try:
                result = call()
            except BaseException as raised:
                error = raised
            if os.getpid() != self._process:
                os._exit(0)  # A copy that the handler forked: what comes of the call is the original's to tell.
            # Without a loop nobody is left to be told.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(ended, result, error)

        self._jobs.put(job)
        return future

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # What a handler held must not live until the next one comes.

    def stop(self) -> None:
        """Let the threads that have nothing to do end."""
        for _ in range(self._free):
            self._jobs.put(None)
        self._free = 0
