"""A process of its own that settles reservations beside others: ``python -m tests.conformance.money.settling_process``.

It says ``ready`` when the database is open. For each line that comes in, the names of reservations as a JSON list, it
settles all of them with its own amount, in an order of its own, and prints what it was told: name and booked amount.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys

from ramet.model.money import ActualCost
from ramet.store import open_store

BATCH_MAX = 5


async def main(address: str, name: str, amount: int) -> None:
    store = open_store(address, create=False)
    rng = random.Random(name)
    print("ready", flush=True)  # noqa: T201 - this is how the test learns of it
    while line := await asyncio.to_thread(sys.stdin.readline):
        names = json.loads(line)
        rng.shuffle(names)
        told: dict[str, int | None] = {}
        while names:
            batch = [names.pop() for _ in range(min(len(names), rng.randint(1, BATCH_MAX)))]
            booked = await store.settle_reserved([ActualCost(each, amount) for each in batch])
            told |= {answer.id: answer.actual for answer in booked}
        print(json.dumps(told), flush=True)  # noqa: T201
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
