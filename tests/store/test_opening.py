"""Opening a database: forward only, by one process, and one clear line for a place that cannot keep the promises."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import ramet.store.sqlite.store
from ramet.engine.tools.doctor import doctor
from ramet.store import open_store
from ramet.store.backup.copies import backup
from ramet.store.errors import StoreError, StoreMissing, StoreNewer, StoreUnsafe
from ramet.store.opening import migrate
from ramet.store.processes.registry import network_file_system
from ramet.store.requests import NewLineage
from ramet.store.schema import versions
from ramet.store.schema.tables import COMPATIBLE_FROM, MIGRATIONS, SCHEMA_VERSION
from ramet.store.schema.versions import SchemaPlan
from ramet.store.sqlite.session import connect
from ramet.store.sqlite.store import SqliteStore
from ramet.store.store import Store
from tests.support.world import SettableClock, World

NOBODY = 65_534


def integrity(path: Path) -> str:
    """SQLite's own check, also of a file that may only be read."""
    readable_only = not os.access(path, os.W_OK, effective_ids=True)
    connection = sqlite3.connect(f"file:{path}{'?immutable=1' if readable_only else ''}", uri=True)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


def schema(path: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").fetchall()
    finally:
        connection.close()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def refused(path: Path, error: type[StoreError], match: str) -> None:
    with pytest.raises(error, match=match) as caught:
        open_store(path)
    assert "\n" not in str(caught.value)


async def submit_one(store: Store, tracking_id: str = "line") -> None:
    world = World(store, SettableClock())
    await world.submit(world.task("a")._replace(id=f"{tracking_id}-a"), tracking_id=tracking_id)


async def test_a_fresh_database_has_the_schema_of_this_version(tmp_path: Path) -> None:
    path = tmp_path / "ramet.db"
    await open_store(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT value FROM ramet_counters WHERE name = 'schema'").fetchone() == (SCHEMA_VERSION,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert integrity(path) == "ok"


async def test_reopening_changes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ramet.db"
    store = open_store(path)
    await submit_one(store)
    await store.close()
    before = schema(path)
    again = open_store(f"sqlite:///{path}", create=False)
    assert (await again.get("line-a")) is not None
    await again.close()
    assert schema(path) == before
    assert integrity(path) == "ok"


async def test_many_that_open_a_new_file_at_once_make_one_schema(tmp_path: Path) -> None:
    path = tmp_path / "ramet.db"

    def work(number: int) -> None:
        async def main() -> None:
            store = open_store(path)
            await submit_one(store, f"line{number}")
            await store.close()

        asyncio.run(main())

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    store = open_store(path)
    assert len(await store.lineages()) == 8
    await store.close()
    assert integrity(path) == "ok"


def test_connections_that_turn_a_new_file_to_the_write_ahead_log_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """SQLite says busy there without waiting: about one connection in 250 failed when all began at the same moment."""
    started = Barrier(8)

    def open_one(path: Path) -> str:
        started.wait()
        connection = connect(path)
        try:
            return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        for number in range(150):
            assert list(threads.map(open_one, [tmp_path / f"{number}.db"] * 8)) == ["wal"] * 8


async def test_a_failing_migration_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ramet.db"
    store = open_store(path)
    await submit_one(store)
    await store.close()
    before = schema(path)
    broken = (*MIGRATIONS, ("CREATE TABLE half (a)", "CREATE TABLE ramet_tasks (twice)"))
    monkeypatch.setattr(versions, "PLAN", SchemaPlan(broken, (*COMPATIBLE_FROM, 1)))
    await refused(path, StoreError, "already exists")
    assert schema(path) == before
    assert integrity(path) == "ok"


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ramet.db"
    await open_store(path).close()
    connection = sqlite3.connect(path)
    sql = "UPDATE ramet_counters SET value = ? WHERE name IN ('schema', 'compatible_from')"
    connection.execute(sql, (SCHEMA_VERSION + 1,))
    connection.commit()
    connection.close()
    before = schema(path)
    await refused(
        path, StoreNewer, f"has schema {SCHEMA_VERSION + 1}, this ramet knows {SCHEMA_VERSION}: upgrade ramet"
    )
    assert schema(path) == before


async def test_another_file_is_not_taken_for_a_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Not a database, and not to be overwritten. " * 50)
    before = path.read_bytes()
    await refused(path, StoreError, "is not a readable SQLite database")
    assert path.read_bytes() == before


def test_what_cannot_be_opened_is_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = tmp_path / "notes.txt", sqlite3.connect
    opened: list[sqlite3.Connection] = []
    path.write_text("Not a database. " * 100)

    def remembered(*arguments: Any, **named: Any) -> sqlite3.Connection:
        opened.append(real(*arguments, **named))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remembered)
    with pytest.raises(StoreError):
        connect(path)
    [connection] = opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


async def test_a_cut_off_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ramet.db"
    await open_store(path).close()
    path.write_bytes(path.read_bytes()[:6_000])
    await refused(path, StoreError, "is not a readable SQLite database")


async def test_a_database_of_somebody_elses_gets_our_tables_beside_theirs(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.execute("INSERT INTO theirs VALUES (1)")
    connection.commit()
    connection.close()
    store = open_store(path)
    assert await store.read("SELECT a FROM theirs") == [(1,)]
    await store.close()


async def test_a_folder_is_refused(tmp_path: Path) -> None:
    await refused(tmp_path, StoreError, "is a folder: give the path of a database file in it")
    assert files(tmp_path) == []


async def test_a_missing_folder_is_refused_and_not_made(tmp_path: Path) -> None:
    await refused(tmp_path / "no" / "ramet.db", StoreError, "the folder .*no does not exist: create it")
    assert files(tmp_path) == []


async def test_a_missing_database_is_not_made_where_one_was_expected(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match=r"no database at .*ramet\.db: submit something first"):
        open_store(tmp_path / "ramet.db", create=False)
    assert files(tmp_path) == []


@pytest.mark.parametrize("address", [":memory:", "sqlite:///:memory:", "mysql://db/x"])
async def test_an_address_that_is_no_file_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="give a file path"):
        open_store(address)


@pytest.mark.parametrize("use", [open_store, migrate, lambda address: backup(address, "copy.db")])
def test_without_the_driver_it_is_said_how_to_install_it(
    use: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"needs the driver psycopg .*: install it with pip install 'ramet"):
        use("postgresql://nobody@127.0.0.1:1/nothing")


@pytest.fixture
def everybodys_folder() -> Iterator[Path]:
    """A folder that an ordinary user may enter; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """Permissions do not bind root: as root, this test goes on as nobody."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(was)


@contextmanager
def as_owner() -> Iterator[None]:
    """Whoever the test began as, for a moment."""
    now = os.geteuid()
    os.seteuid(os.getuid())
    yield
    os.seteuid(now)


@pytest.fixture
def closed_database(everybodys_folder: Path) -> Path:
    """A database that its user may read and not write."""
    path = everybodys_folder / "ramet.db"

    async def fill() -> None:
        store = open_store(path)
        await submit_one(store)
        await store.close()

    asyncio.run(fill())
    path.chmod(0o444)
    everybodys_folder.chmod(0o555)
    return path


async def test_a_read_only_file_is_refused(closed_database: Path, ordinary_user: None) -> None:
    await refused(closed_database, StoreUnsafe, "is read-only: make the file and its folder writable")
    assert integrity(closed_database) == "ok"


def test_the_doctor_looks_at_a_file_beside_which_it_may_not_make_a_log(
    closed_database: Path, ordinary_user: None
) -> None:
    assert {item.check for item in doctor(closed_database)} <= {"permissions", "workers"}


def test_the_doctor_is_told_of_a_file_that_it_may_not_read(closed_database: Path, ordinary_user: None) -> None:
    with as_owner():
        closed_database.chmod(0)
    with pytest.raises(StoreError, match=r"cannot open .*ramet\.db"):
        doctor(closed_database)


async def test_a_new_file_in_a_read_only_folder_is_refused(closed_database: Path, ordinary_user: None) -> None:
    await refused(closed_database.parent / "new.db", StoreError, "cannot open .*new.db: check that its folder exists")


MOUNTS = """\
/dev/vda / ext4 rw 0 0
cut off
tmpfs /tmp tmpfs rw 0 0
server:/export /srv/nfs\\040share nfs4 rw 0 0
/dev/vdb /srv/nfs\\040share/local xfs rw 0 0
//server/share /mnt/cifs cifs rw 0 0
user@host: /mnt/sshfs fuse.sshfs rw 0 0
"""
PLACES = [
    ("/srv/nfs share/x", "nfs4"),
    ("/srv/nfs share", "nfs4"),
    ("/srv/nfs share/local/x", None),
    ("/srv/nfs shared", None),
    ("/mnt/cifs/a/b", "cifs"),
    ("/mnt/sshfs", "fuse.sshfs"),
    ("/tmp/x", None),
    ("/elsewhere", None),
]


@pytest.mark.parametrize(("place", "kind"), PLACES)
def test_the_deepest_mount_decides_about_a_network_file_system(place: str, kind: str | None, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert network_file_system(Path(place), mounts) == kind
    assert network_file_system(Path(place), tmp_path / "missing") is None


async def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/export {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(ramet.store.sqlite.store, "network_file_system", lambda path: network_file_system(path, mounts))
    await refused(tmp_path / "ramet.db", StoreUnsafe, r"is on a network file system \(nfs4\).*use a local disk")
    assert files(tmp_path) == ["mounts"]


async def test_a_failing_statement_is_one_line_and_undone(tmp_path: Path) -> None:
    for inline in (True, False):
        store = SqliteStore(tmp_path / "ramet.db", inline=inline)
        with pytest.raises(StoreError, match="syntax error"):
            await store.ensure_tables(["CREATE TABLE half (a)", "CREATE TABEL b (a)"])
        with pytest.raises(StoreError, match="no such table: half"):
            await store.read("SELECT * FROM half")
        await store.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    for inline in (True, False):
        store = SqliteStore(tmp_path / "ramet.db", inline=inline)
        await store.close()
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await store.submit([NewLineage("line", [])])
        with pytest.raises(StoreError, match="closed"):
            await store.get("anything")
