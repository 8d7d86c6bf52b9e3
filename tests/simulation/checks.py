"""What must hold of a finished run, read from its database file alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

ACCEPTED = ("success", "filtered", "skipped", "snooze", "continue")
"""Outcomes whose settlement committed what the handler had buffered. A declared failure did so too."""


def violations(path: Path) -> list[str]:
    """Every broken promise in the effects, as readable lines. The rows of the engine have a checker of their own."""
    connection = sqlite3.connect(path)
    try:
        return [*_effects(connection), *_everything_ended(connection)]
    finally:
        connection.close()


def _effects(connection: sqlite3.Connection) -> list[str]:
    """Exactly one end effect per accepted settlement, none for any other (promise I2)."""
    ids = dict(connection.execute("SELECT seq, id FROM ramet_tasks"))
    accepted = {
        f"{ids[seq]}:{fence}"
        for seq, fence, outcome, reason, error_class in connection.execute(
            "SELECT seq, fence, outcome, COALESCE(reason, ''), error_class FROM ramet_attempts"
        )
        # RetryAfter is raised: it ends as a snooze and drops what was buffered, like any exception.
        if (outcome in ACCEPTED or (outcome == "error" and error_class is None))
        and not reason.startswith("retry after")
    }
    found = [token for (token,) in connection.execute("SELECT token FROM effects WHERE name = 'end'")]
    told = [f"{len(found) - len(set(found))} end effects happened twice"] if len(found) != len(set(found)) else []
    told += [f"claim {token} was accepted and its effect is missing" for token in sorted(accepted - set(found))]
    told += [f"claim {token} left an effect and was not accepted" for token in sorted(set(found) - accepted)]
    doubled = connection.execute(
        "SELECT token, name FROM effects WHERE name <> 'end' GROUP BY token, name HAVING COUNT(*) > 1"
    ).fetchall()
    return told + [f"checkpoint effect {name} of claim {token} happened twice" for token, name in doubled]


def _everything_ended(connection: sqlite3.Connection) -> list[str]:
    live = connection.execute("SELECT seq, state, wait FROM ramet_live").fetchall()
    open_rows = connection.execute("SELECT tracking_id, state FROM ramet_lineages WHERE state = 'running'").fetchall()
    return [f"task {row} is still live" for row in live] + [f"lineage {row} is still open" for row in open_rows]
