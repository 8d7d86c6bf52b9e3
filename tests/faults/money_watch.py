"""Watching sums of money while others change them: in the database at every change, and from outside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import NamedTuple

import psycopg

from ramet import Client

_SEEN = "CREATE TABLE money_seen (name TEXT PRIMARY KEY, most INTEGER NOT NULL, looks INTEGER NOT NULL)"
_NOTE = (
    "INSERT INTO money_seen (name, most, looks) VALUES ({name}, NEW.spent + NEW.reserved, 1) ON CONFLICT (name) "
    "DO UPDATE SET most = {greater}(money_seen.most, excluded.most), looks = money_seen.looks + 1"
)
_WATCHED = {"ramet_lineages": "NEW.tracking_id", "ramet_spend": "'day ' || NEW.day"}
"""Tables with sums, and how a row of theirs is named."""
RECOUNTED = """
SELECT g.tracking_id, g.spent, g.reserved, g.max_cost, g.soft_cost,
    COALESCE(SUM(CASE WHEN r.settled_at IS NOT NULL THEN r.actual WHEN r.closed_at IS NOT NULL THEN r.amount END), 0),
    COALESCE(SUM(CASE WHEN r.settled_at IS NULL AND r.closed_at IS NULL THEN r.amount END), 0)
FROM ramet_lineages g LEFT JOIN ramet_reservations r ON r.tracking_id = g.tracking_id GROUP BY g.tracking_id
"""


class Seen(NamedTuple):
    """What the triggers saw of one sum."""

    most: int
    """The largest that spent and reserved together ever were, within any transaction, nano-dollars."""
    looks: int
    """How many changes they saw."""


def watch(address: str) -> None:
    """From now on every change of a sum is noted in the transaction that makes it, by the database itself."""
    if "://" not in address:
        with closing(sqlite3.connect(address)) as connection:
            connection.execute(_SEEN)
            for table, name in _WATCHED.items():
                note = _NOTE.format(name=name, greater="max")
                connection.execute(
                    f"CREATE TRIGGER see_{table} AFTER UPDATE OF spent, reserved ON {table} BEGIN {note}; END"
                )
            connection.commit()
        return
    with psycopg.connect(address, autocommit=True) as server:
        server.execute(_SEEN)
        for table, name in _WATCHED.items():
            note = _NOTE.format(name=name, greater="greatest")
            server.execute(
                f"CREATE FUNCTION see_{table}() RETURNS trigger LANGUAGE plpgsql "
                f"AS $$ BEGIN {note}; RETURN NULL; END $$"
            )
            server.execute(
                f"CREATE TRIGGER see_{table} AFTER UPDATE OF spent, reserved ON {table} "
                f"FOR EACH ROW EXECUTE FUNCTION see_{table}()"
            )


def unwatch(address: str) -> None:
    """Take the triggers back: a database on a server is emptied and used again, with all that hangs on its tables."""
    if "://" not in address:
        return
    with psycopg.connect(address, autocommit=True) as server:
        for table in _WATCHED:
            server.execute(f"DROP FUNCTION IF EXISTS see_{table}() CASCADE")
        server.execute("DROP TABLE IF EXISTS money_seen")


async def seen(client: Client) -> dict[str, Seen]:
    """What the triggers saw, by ``tracking_id`` or ``day N``."""
    return {name: Seen(most, looks) for name, most, looks in await client.read("SELECT * FROM money_seen")}


async def wrong_now(client: Client, global_max: int) -> list[str]:
    """One line for everything that is wrong in the sums at this moment, in one snapshot."""
    found = []
    spent = reserved = 0
    for name, of_spent, of_reserved, most, soft, counted, open_ in await client.read(RECOUNTED):
        if (of_spent, of_reserved) != (counted, open_):
            found.append(f"{name} has {of_spent} spent and {of_reserved} reserved, not {counted} and {open_}")
        bounds = [bound for bound in (most, soft) if bound is not None]
        if bounds and counted + open_ > min(bounds):
            found.append(f"{name} spent {counted} and reserved {open_}, over {min(bounds)}")
        spent, reserved = spent + counted, reserved + open_
    if spent + reserved > global_max:
        found.append(f"all spent {spent} and reserved {reserved}, over {global_max}")
    return found
