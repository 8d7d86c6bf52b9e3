"""A process of its own beside the test's: ``python -m tests.store.processes.second_process DATABASE NAME [claim]``.

It joins under the name, says ``ready``, and with ``claim`` takes one task first and says its id. It prints ``rung``
when it was woken, and rings the others when a line comes in.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

from ramet.store import open_store
from ramet.store.requests import ClaimRequest


def say(word: str) -> None:
    print(word, flush=True)  # noqa: T201 - this is how the test learns of it


async def main(address: str, name: str, *what: str) -> None:
    store: Any = open_store(address, create=False)
    store.join(name)
    if "claim" in what:
        [claimed] = await store.claim(ClaimRequest(name, ("default",), ("page",), 1, 3_600.0))
        say(claimed.id)

    def listen() -> None:
        for _ in sys.stdin:
            store._neighbours.ring()

    await store.wait_for_work(0.001)
    threading.Thread(target=listen, daemon=True).start()
    say("ready")
    while True:
        await store.wait_for_work(3_600.0)
        say("rung")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
