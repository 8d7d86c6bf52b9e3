"""Another process on a PostgreSQL database: it joins, waits, and rings when told to.

Run as ``python -m tests.store.postgres.second_process URL NAME RUNTIME_FOLDER``: each runtime folder is a machine of
its own.
"""

from __future__ import annotations

import asyncio
import sys
import threading

import psycopg

from ramet.store.postgres.processes import PostgresProcesses, identity_of


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main(url: str, name: str, runtime: str) -> None:
    with psycopg.connect(url) as connection:
        identity = identity_of(connection)
    neighbours = PostgresProcesses(lambda: psycopg.connect(url), identity, environ={"XDG_RUNTIME_DIR": runtime})
    neighbours.join(name)

    def obey() -> None:
        for _ in sys.stdin:
            neighbours.ring()

    async def wait() -> None:
        while not neighbours.hears:
            await neighbours.wait(0.01)
        threading.Thread(target=obey, daemon=True).start()
        await neighbours.wait(0.001)  # The first is for what may have been rung before it listened.
        say("ready")
        while True:
            await neighbours.wait(3_600.0)
            say("rung")

    asyncio.run(wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
