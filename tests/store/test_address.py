"""Addresses of databases: what they are, and that nothing secret in them is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ramet.store import open_store
from ramet.store.address import is_file, shown
from ramet.store.backup.copies import backup, restore
from ramet.store.errors import StoreError
from ramet.store.opening import migrate

SECRET = "s3cr3t"
OTHERS = (
    f"host=db.example user=u password={SECRET}",
    f"  password = '{SECRET} x' host=db",
    f"dbname=x user=u password={SECRET}/x",
    f"postgresql:/u:{SECRET}@h/db",
    f"postgresql:u:{SECRET}@h/db",
    f"postgres//u:{SECRET}@h/db",
    f"PostgreSQL:/u:{SECRET}@h/db",
)
"""What is meant for a server, and is no address of one."""
SHOWN = {
    f"postgresql://u:{SECRET}@h:5432/db": "postgresql://u@h:5432/db",
    f"postgresql://u:{SECRET}@h,i:1/db?sslmode=require": "postgresql://u@h,i:1/db?sslmode=require",
    f"postgresql://h/db?user=u&password={SECRET}": "postgresql://h/db?user=u",
    f"postgresql://h/db?user=u;password={SECRET}": "postgresql://h/db?user=u",
    f"postgresql://h/db?sslmode=require;pass%77ord={SECRET}": "postgresql://h/db?sslmode=require",
    f"postgresql://h/db?password=a@{SECRET}": "postgresql://...",
    f"postgresql://h/db?options=-c%20x={SECRET}": "postgresql://h/db",
    f"postgresql://u:{SECRET}/db": "postgresql://u/db",
    f"postgresql://[::1]:5432/db?password={SECRET}": "postgresql://[::1]:5432/db",
    f"mysql://u:{SECRET}@h/db": "mysql://u@h/db",
    f"postgresql:///db?host=/run&password={SECRET}": "postgresql:///db?host=/run",
    "tasks.db": "tasks.db",
    "sqlite:////var/lib/tasks.db": "sqlite:////var/lib/tasks.db",
}


@pytest.mark.parametrize("address", SHOWN)
def test_an_address_is_shown_without_its_secrets(address: str) -> None:
    assert shown(address) == SHOWN[address]


@pytest.mark.parametrize("address", OTHERS)
def test_what_is_meant_for_a_server_becomes_no_file(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (
        open_store, migrate, lambda place: backup(place, "copy.db"), lambda place: restore("copy.db", place),
    ):  # fmt: skip
        with pytest.raises(StoreError, match="cannot read the database address") as caught:
            use(address)
        assert SECRET not in str(caught.value)
    assert SECRET not in shown(address)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["tasks.db", "postgres/tasks.db", "a=b.db", "host.db", "./user=1.db", "/x/y@z:1.db"])
def test_names_of_files_are_files(path: str) -> None:
    assert is_file(path)
    assert shown(path) == path
