"""A process that submits one lineage and says so: ``python -m tests.crash.submitting DATABASE TRACKING_ID``."""

from __future__ import annotations

import asyncio
import sys

from tests.crash.crash_app import submit_lineage
from tests.crash.kill_app import app


async def main(database: str, tracking_id: str) -> None:
    async with app.client(database) as client:
        sys.stdout.write(await submit_lineage(client, tracking_id))
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
