"""A worker process that serves one kind until a lineage has ended: ADDRESS KIND TRACKING_ID."""

from __future__ import annotations

import asyncio
import sys

from ramet import Worker
from tests.telemetry.traced_app import app

APP = "tests.telemetry.traced_app:app"


async def main(address: str, kind: str, tracking_id: str) -> None:
    """Work, with handlers in a process of their own."""
    async with app.client(address) as client:
        await Worker(app, client, target=APP, kinds=[kind], until_ended=tracking_id, poll_seconds=0.02).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
