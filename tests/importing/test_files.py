"""Files as they come: three formats that mean the same, and everything that is wrong with them told in one line."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Limits
from ramet.engine.tools.import_files import ImportRefused, format_of, rows_of
from ramet.engine.tools.import_tasks import Importer, ImportSource
from ramet.store.errors import StoreError
from tests.importing.conftest import Move, row

ROWS = [
    row("a", status="success", retry_count=1, max_retries=3, pipeline_state={"n": [1]}, note='say "hi", ü'),
    row("b", "a", status="processing", ancestry_chain=["a"], queueHint=["A", "B"], note="two\nlines"),
]
COLUMNS = ["id", "type", "url", "status", "retry_count", "max_retries", "parent_item_id", "ancestry_chain",
           "pipeline_state", "queueHint", "note"]  # fmt: skip


def flat(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (dict, list)) else value


def as_jsonl(path: Path) -> Path:
    path = path / "q.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\n\n".join(json.dumps(one) for one in ROWS).encode())
    return path


def as_csv(path: Path) -> Path:
    path = path / "q.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows([{name: flat(value) for name, value in one.items()} for one in ROWS])
    return path


def as_sqlite(path: Path) -> Path:
    path = path / "q.db"
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE queue ({', '.join(COLUMNS)})")
        db.executemany(
            f"INSERT INTO queue VALUES ({', '.join('?' * len(COLUMNS))})",
            [[flat(one.get(name)) for name in COLUMNS] for one in ROWS],
        )
    db.close()
    return path


@pytest.mark.parametrize("write", [as_jsonl, as_csv, as_sqlite])
async def test_three_formats_say_the_same(move: Move, write: Callable[[Path], Path]) -> None:
    path = write(move.folder)
    source = ImportSource(path, format_of(path, None))
    await Importer(source, App().registry, Limits()).fill(move.store, "tester")
    a, b = await move.tasks("a", "b")
    assert (a.state, a.attempts, a.max_attempts) == ("success", 2, 4)
    assert (b.state, b.ancestry_chain, b.tracking_id) == ("pending", ("a",), a.tracking_id)
    assert (a.payload["note"], b.payload["note"]) == ('say "hi", ü', "two\nlines")
    found = await move.store.read("SELECT id, path FROM ramet_tasks ORDER BY id")
    assert found == [("a", None), ("b", '["A","B"]')]
    assert await move.store.read("SELECT pipeline_state FROM ramet_checkpoints") == [
        ('{"imported":{"stage":null,"pipeline_state":{"n":[1]}}}',)
    ]


GOOD = json.dumps(row("a")).encode() + b"\n"
HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty.jsonl": (b"", "has no rows"),
    "blank.jsonl": (b"\n \n\n", "has no rows"),
    "broken.jsonl": (GOOD + b'{"id": "b", "type"\n', "line 2 is not valid JSON"),
    "list.jsonl": (GOOD + b"[1]\n", "line 2 is not a JSON object"),
    "nan.jsonl": (GOOD + b'{"id": "b", "type": "t", "x": NaN}\n', "line 2 is not valid JSON (NaN is not valid JSON)"),
    "latin.jsonl": (GOOD + '{"id": "ü"}\n'.encode("latin-1"), "line 2 is not UTF-8 text"),
    "nul.jsonl": (GOOD + b'{"id": "b", "type": "t", "x": "a\\u0000b"}\n', "line 2 (id b): the payload has a NUL"),
    "half.jsonl": (GOOD + b'{"id": "b", "type": "t", "x": ["\\ud800"]}\n', "line 2 (id b): the payload has a NUL or"),
    "name.jsonl": (GOOD + b'{"id": "b", "type": "t", "\\udfff": 1}\n', "line 2 (id b): the payload has a NUL or"),
    "deep.jsonl": (GOOD + b'{"x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n", "line 2 is not valid JSON"),
    "nested.jsonl": (
        GOOD + b'{"id": "b", "type": "t", "pipeline_state": ' + b"[" * 900 + b"]" * 900 + b"}\n", "",
    ),
    "large.jsonl": (
        GOOD + b'{"id": "b", "type": "t", "x": "' + b"x" * 10_000_000 + b'"}\n',
        "line 2 (id b): the payload has 10000008 bytes, over 262144",
    ),
    "huge.jsonl": (GOOD + b'{"id": "' + b"x" * 17_000_000, "line 2 is over 16777216 bytes"),
    "twice.jsonl": (GOOD + GOOD, "its id is that of line 1 too"),
    "no_id.jsonl": (GOOD + b'{"type": "t"}\n', "line 2: id is missing"),
    "header.csv": (b"id,id,type\na,b,c\n", "line 1 must name every column, each once"),
    "short.csv": (b"id,type,url\na,b\n", "line 2 does not have 3 fields"),
    "long.csv": (b"id,type\na,b,c\n", "line 2 does not have 2 fields"),
    "quote.csv": (b'id,type\na,"b\nc', "is not valid CSV after line 1"),
    "wild.csv": (b'id,type\na,"b"c\n', "is not valid CSV"),
    "nul.csv": (b"id,type\na,b\nc,d\x00\n", "type has the character '\\x00'"),
    "latin.csv": (b"id,type\n\xfc,b\n", "is not UTF-8 text"),
    "big.csv": (b"id,type,x\na,b," + b"x" * 17_000_000 + b"\n", "is not valid CSV"),
    "none.db": (b"", "has no table None" ),
    "text.db": (b"this is no database, and it is long enough to be read as one" * 20, "cannot be read as a SQLite"),
}  # fmt: skip
HOSTILE["none.db"] = (b"", "has several tables: name one with --table (it has: none)")


@pytest.mark.parametrize("name", [name for name, (_, message) in HOSTILE.items() if message])
async def test_a_file_that_cannot_be_imported_is_told_in_one_line_and_nothing_is_written(move: Move, name: str) -> None:
    content, message = HOSTILE[name]
    path = move.folder / name
    path.write_bytes(content)
    with pytest.raises(StoreError) as refused:
        await Importer(ImportSource(path, format_of(path, None)), App().registry, Limits()).fill(move.store, "tester")
    assert message in str(refused.value)
    assert str(path) in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 600
    assert await move.store.lineages() == []
    assert await move.store.import_imports() == []


async def test_a_state_of_many_levels_is_kept(move: Move) -> None:
    path = move.folder / "nested.jsonl"
    path.write_bytes(HOSTILE["nested.jsonl"][0])
    await Importer(ImportSource(path, "jsonl"), App().registry, Limits()).fill(move.store, "tester")
    [(kept,)] = await move.store.read("SELECT pipeline_state FROM ramet_checkpoints")
    # No app takes it over, so it is kept beside the handler's own state.
    assert kept == '{"imported":{"stage":null,"pipeline_state":' + "[" * 900 + "]" * 900 + "}}"


def test_what_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.jsonl"):
        with pytest.raises(ImportRefused, match="no file"):
            list(rows_of(path, "jsonl"))
    with pytest.raises(ImportRefused, match=r"may be anything: say --format jsonl\|csv\|sqlite"):
        format_of(tmp_path / "queue", None)
    with pytest.raises(ImportRefused, match="--table goes with --format sqlite"):
        list(rows_of(as_csv(tmp_path), "csv", "queue"))


def test_a_table_has_to_be_named_where_there_are_several(tmp_path: Path) -> None:
    path = as_sqlite(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE other (id)")
    db.close()
    with pytest.raises(StoreError, match=r"has several tables: name one with --table \(it has: other, queue\)"):
        list(rows_of(path, "sqlite"))
    with pytest.raises(StoreError, match="has no table 'quack': it has other, queue"):
        list(rows_of(path, "sqlite", "quack"))
    with pytest.raises(StoreError, match="has no table"):
        list(rows_of(path, "sqlite", 'queue" WHERE 1; --'))
    assert [where for where, _ in rows_of(path, "sqlite", "queue")] == ["row 1 of table queue", "row 2 of table queue"]


def test_a_table_that_is_being_written_is_read_as_it_was_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ramet.store.imports.staging.BUSY_SECONDS", 0.05)
    path = as_sqlite(tmp_path)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="is being written to: stop the writer or import a copy"):
        list(rows_of(path, "sqlite"))
    writer.execute("ROLLBACK")
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM queue")
    assert len(list(rows_of(path, "sqlite"))) == 2
    writer.close()
