"""A SQLite file of the pipeline: whole transactions, errors in one line, nothing made by who only reads."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ramet.wiki.errors import GraphError, SourceError
from ramet.wiki.sqlite_file import ROWS_AT_ONCE, SqliteFile, looks_like_sqlite


def opened(path: Path) -> SqliteFile:
    file = SqliteFile(path, failure=GraphError, pragmas={"journal_mode": "WAL"})
    file.rows("CREATE TABLE IF NOT EXISTS numbers (number INTEGER PRIMARY KEY)")
    return file


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    file = opened(tmp_path / "a b?#.sqlite")
    with pytest.raises(GraphError, match="UNIQUE"), file.transaction():
        file.run_many("INSERT INTO numbers VALUES (?)", [(1,), (2,), (1,)])
    assert file.rows("SELECT number FROM numbers") == []
    with file.transaction():
        file.rows("INSERT INTO numbers VALUES (4)")
    file.close()
    again = opened(tmp_path / "a b?#.sqlite")
    assert again.rows("SELECT number FROM numbers") == [(4,)]
    again.close()


def test_errors_are_the_callers_and_name_the_file_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "numbers.sqlite"
    path.write_text("no database, though it is long enough to be taken for one\n" * 20)
    with pytest.raises(SourceError, match=r"numbers\.sqlite: file is not a database") as refused:
        SqliteFile(path, failure=SourceError, pragmas={"journal_mode": "WAL"})
    assert "\n" not in str(refused.value)
    with pytest.raises(SourceError, match="unable to open"):
        SqliteFile(tmp_path / "none" / "x", failure=SourceError)


def test_who_only_reads_makes_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "numbers.sqlite"
    with pytest.raises(GraphError, match="unable to open"):
        SqliteFile(path, failure=GraphError, read_only=True)
    assert not path.exists()
    opened(path).close()
    for immutable in (False, True):
        reader = SqliteFile(path, failure=GraphError, read_only=True, immutable=immutable)
        with pytest.raises(GraphError, match="readonly"):
            reader.rows("INSERT INTO numbers VALUES (1)")
        reader.close()


def test_a_snapshot_is_of_its_opening_and_makes_nothing_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "numbers.sqlite"
    file = opened(path)
    file.rows("INSERT INTO numbers VALUES (1)")
    monkeypatch.setattr("ramet.wiki.sqlite_file.os.access", lambda *_: False)
    # The writer's log is there: what stands in it only is read as well.
    reader = SqliteFile.snapshot(path, failure=GraphError)
    assert reader.rows("SELECT number FROM numbers") == [(1,)]
    file.rows("INSERT INTO numbers VALUES (2)")
    assert reader.rows("SELECT number FROM numbers") == [(1,)]
    reader.close()
    file.close()
    assert [one.name for one in tmp_path.iterdir()] == ["numbers.sqlite"]
    reader = SqliteFile.snapshot(path, failure=GraphError)
    assert reader.rows("SELECT number FROM numbers") == [(1,), (2,)]
    assert [one.name for one in tmp_path.iterdir()] == ["numbers.sqlite"]
    reader.close()


def test_rows_can_be_streamed_while_others_are_asked_for(tmp_path: Path) -> None:
    file = opened(tmp_path / "numbers.sqlite")
    many = 2 * ROWS_AT_ONCE + 1
    file.run_many("INSERT INTO numbers VALUES (?)", ((number,) for number in range(many)))
    seen = [(number, file.rows("SELECT count(*) FROM numbers")) for (number,) in file.stream("SELECT * FROM numbers")]
    assert seen == [(number, [(many,)]) for number in range(many)]
    file.close()


def test_threads_take_turns(tmp_path: Path) -> None:
    file = opened(tmp_path / "numbers.sqlite")

    def write(first: int) -> None:
        for number in range(first, first + 50):
            with file.transaction():
                file.rows("INSERT INTO numbers VALUES (?)", (number,))

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.rows("SELECT count(*) FROM numbers") == [(200,)]
    file.close()


def test_a_sqlite_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "numbers.sqlite"
    assert not looks_like_sqlite(path)
    path.write_bytes(b"SQLite")
    assert not looks_like_sqlite(path)
    path.unlink()
    opened(path).close()
    assert looks_like_sqlite(path)


def test_a_full_disk_is_told_with_what_to_do(tmp_path: Path) -> None:
    file = opened(tmp_path / "numbers.sqlite")
    file.rows("PRAGMA max_page_count = 4")
    with pytest.raises(GraphError, match="disk is full: free some space and run again"), file.transaction():
        file.run_many("INSERT INTO numbers VALUES (?)", ((number,) for number in range(10_000)))
    assert file.rows("SELECT count(*) FROM numbers") == [(0,)]
    file.close()
