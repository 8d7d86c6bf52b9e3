"""Versions of a schema: which one a database has, which programs may use it, and the way to the newest
(docs/decisions/0037).

A step of the schema expands: it adds what older programs need not know, so that they go on beside newer ones. It says
from which version on they may; what can only be done without the older ones raises that, and waits until they are gone.
"""

from __future__ import annotations

from typing import NamedTuple

from ramet.store.errors import StoreNewer
from ramet.store.schema.tables import COMPATIBLE_FROM, MIGRATIONS
from ramet.store.session import Session


class SchemaPlan(NamedTuple):
    """The versions that a program knows."""

    steps: tuple[tuple[str, ...], ...]
    """Statements that lead from version n to n + 1, at index n."""
    compatible_from: tuple[int, ...]
    """The oldest version whose programs may still write to version n + 1, at index n."""

    @property
    def version(self) -> int:
        """The newest."""
        return len(self.steps)


PLAN = SchemaPlan(MIGRATIONS, COMPATIBLE_FROM)


class Versions(NamedTuple):
    """Of a database."""

    schema: int
    """0 without our tables."""
    compatible_from: int


class MigrationResult(NamedTuple):
    """Result of a migration, or of a dry run."""

    database: str
    """Its address as it may be shown."""
    before: int
    """The version that it had; 0 without our tables."""
    after: int
    """The version that it has; with ``check``, the one that it would have."""
    checked: bool = False
    """Nothing was done."""

    @property
    def needed(self) -> bool:
        """Something was, or is, to be done."""
        return self.before < self.after


def versions(session: Session) -> Versions:
    """Of a database that has our tables."""
    found: dict[str, int] = dict(
        session.rows("SELECT name, value FROM ramet_counters WHERE name IN ('schema', 'compatible_from')")
    )
    return Versions(found["schema"], found.get("compatible_from", found["schema"]))


def check_newer(found: Versions, place: str, *, whole: bool = False) -> None:
    """Refuse a database whose writers must all be newer than this program: the one place that decides it.

    Args:
        found: of the database.
        place: its address as it may be shown.
        whole: what a later step added is needed as well, as for a copy that is made table by table.

    Raises:
        StoreNewer: what to do.
    """
    oldest = found.schema if whole else found.compatible_from
    if found.schema > PLAN.version and oldest > PLAN.version:
        raise StoreNewer(
            f"{place} has schema {found.schema}, this ramet knows {PLAN.version}: upgrade ramet to open it"
        )


def store_versions(session: Session, plan: SchemaPlan) -> None:
    """Write down that the database is of the plan's newest version."""
    rows = [("schema", plan.version), ("compatible_from", plan.compatible_from[-1])]
    session.insert("ramet_counters", ("name", "value"), rows, key=("name",), changes=("value",))
