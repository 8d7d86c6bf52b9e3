"""The three roles that the guide to security makes are enough for their work, and for nothing more."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ramet.testing.postgres_server.server import connect, quoted_name
from tests.cli.conftest import Cli
from tests.cli.database.test_postgres_unreachable import changed
from tests.docs.pages import DOCS, blocks_of, text_of

ROLES = ("ramet_owner", "ramet_worker", "ramet_looker")
GUIDE = DOCS / "guides" / "security.md"


class Made(NamedTuple):
    """Addresses of the database for each role, and what its role is called here."""

    owner: str
    worker: str
    looker: str
    names: dict[str, str]


def statements(block: str, names: dict[str, str]) -> Iterator[str]:
    """Those of the guide, with the roles' names of this test; the test has a database already."""
    for line in block.splitlines():
        text = re.sub("|".join(ROLES), lambda found: names[found[0]], line)
        yield re.sub(r"CREATE DATABASE \w+ OWNER (\w+)", r"GRANT CREATE ON SCHEMA public TO \1", text)


@pytest.fixture
def made(postgres_url: str) -> Iterator[Made]:
    names = {role: f"{role}_{secrets.token_hex(4)}" for role in ROLES}
    roles, _ = blocks_of(text_of(GUIDE), "sql")
    with connect(postgres_url) as connection:
        for statement in statements(roles, names):
            connection.execute(statement.encode())
    passwords = dict(zip(ROLES, ("one", "two", "three"), strict=True))
    owner, worker, looker = (changed(postgres_url, user=names[role], password=passwords[role]) for role in ROLES)
    yield Made(owner, worker, looker, names)
    with connect(postgres_url) as connection:
        for name in names.values():
            connection.execute(f"DROP OWNED BY {quoted_name(name)} CASCADE".encode())
            connection.execute(f"DROP ROLE {quoted_name(name)}".encode())


def refused(url: str, *forbidden: str) -> None:
    with connect(url) as connection:
        for statement in forbidden:
            with pytest.raises(Exception, match=r"permission denied|must be owner"):
                connection.execute(statement.encode())


def test_each_role_does_its_work_and_no_more(made: Made, tmp_path: Path) -> None:
    owner, worker, looker = (Cli(tmp_path / "none.db", url) for url in made[:3])
    owner.good("migrate", "--grant", made.names["ramet_worker"])
    _, grants = blocks_of(text_of(GUIDE), "sql")
    with connect(made.owner) as connection:
        for statement in statements(grants, made.names):
            connection.execute(statement.encode())

    task, lineage = worker.submit("node", {"name": "a", "depth": 1})
    refused(made.worker, "CREATE TABLE mine (a INTEGER)", "DROP TABLE ramet_live", "TRUNCATE ramet_tasks")

    with connect(made.looker) as connection:
        row = connection.execute(b"SELECT id, tracking_id FROM ramet_tasks").fetchone()
    assert row == (task, lineage)
    refused(
        made.looker, "CREATE TABLE mine (a INTEGER)", "DELETE FROM ramet_live", "UPDATE ramet_tasks SET kind = 'x'",
        "INSERT INTO ramet_counters VALUES ('copied', 1)",
    )  # fmt: skip
    assert "permission" in looker.bad("cancel", task)
