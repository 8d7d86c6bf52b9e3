"""Where rows come from: packed files, Parquet, data sets on disk; and rows that are left out when that is asked for."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet
import pytest

from ramet.llm.errors import InputError
from ramet.llm.inputs.fingerprints import Fingerprints
from ramet.llm.inputs.prompt_file import read_rows
from tests.llm.inputs.input_files import DEFAULTS, lines, read

ROWS: list[dict[str, Any]] = [{"id": "a", "prompt": "Why?"}, {"id": "b", "prompt": "How?", "size": 2}]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def asked(path: Path, **options: Any) -> list[tuple[str, Any, dict[str, Any]]]:
    return [(row.id, row.request.messages[0]["content"], dict(row.columns)) for row in read(path, **options)]


FOUND = [("a", "Why?", {}), ("b", "How?", {"size": 2})]


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(LINES))
    with arrow.CompressedOutputStream(str(tmp_path / "in.jsonl.zst"), "zstd") as file:
        file.write(LINES)
    assert asked(tmp_path / "in.jsonl.gz") == FOUND
    assert asked(tmp_path / "in.jsonl.zst") == FOUND
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(b"id,prompt,size\na,Why?,\nb,How?,2\n"))
    assert asked(tmp_path / "in.csv.gz") == [("a", "Why?", {"size": ""}), ("b", "How?", {"size": "2"})]


def test_rows_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (LINES, gzip.compress(LINES)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        assert asked(Path("-")) == FOUND
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"nonsense"))))
    with pytest.raises(InputError, match=r"^standard input, line 1: not JSON"):
        read(Path("-"))


def test_parquet_and_data_sets_on_disk(tmp_path: Path) -> None:
    table = arrow.Table.from_pylist(ROWS, schema=arrow.schema([("id", arrow.string()), ("prompt", arrow.string()),
                                                                ("size", arrow.int64())]))  # fmt: skip
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    assert asked(tmp_path / "in.parquet") == FOUND
    saved = tmp_path / "saved"
    saved.mkdir()
    for number in range(2):
        with arrow.ipc.new_stream(str(saved / f"data-{number}.arrow"), table.schema) as stream:
            stream.write_table(table.slice(number, 1))
    (saved / "state.json").write_text(json.dumps({"_data_files": [{"filename": f"data-{n}.arrow"} for n in range(2)]}))
    assert asked(saved) == FOUND
    (saved / "state.json").write_text(json.dumps({"_data_files": [], "_indices_data_files": [{"filename": "i"}]}))
    with pytest.raises(InputError, match=r"save it again after flatten_indices\(\)"):
        read(saved)
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["saved"]}')
    with pytest.raises(InputError, match=r"holds several data sets: give one of .*saved"):
        read(tmp_path, format="arrow")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 is not all of it")
    with pytest.raises(InputError, match=r"cannot read .*bad.parquet"):
        read(tmp_path / "bad.parquet")


def test_a_bad_row_of_a_table_is_named_by_its_place(tmp_path: Path) -> None:
    table = arrow.Table.from_pylist([{"prompt": "a"}, {"prompt": " "}])
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(InputError, match=r"in.parquet, row 2: 'prompt' is empty"):
        read(tmp_path / "in.parquet")


def test_bad_rows_are_left_out_and_listed_by_their_lines(tmp_path: Path) -> None:
    path = lines(tmp_path / "in.jsonl", {"prompt": "a"}, "{", {"prompt": ""}, b"\xff", {"id": "1", "prompt": "b"},
                 {"prompt": "c"})  # fmt: skip
    skipped: list[tuple[int, str]] = []
    rows = list(read_rows(path, DEFAULTS, skip=lambda line, why: skipped.append((line, why))))
    assert [(row.position, row.line, row.id) for row in rows] == [(0, 1, "1"), (1, 6, "2")]
    assert [line for line, _ in skipped] == [2, 3, 4, 5]
    assert [why.split(";")[0] for _, why in skipped][1] == "'prompt' is empty"
    assert skipped[3][1].startswith("the id '1' is that of line 1 too")
    with pytest.raises(InputError, match="line 2: not JSON"):
        read(path)


def test_fingerprints_know_what_they_were_told() -> None:
    known = Fingerprints()
    numbers = {f"row {number}": number for number in range(20_000)}
    assert [known.setdefault(text, number) for text, number in numbers.items()] == list(numbers.values())
    assert [known.setdefault(text, 0) for text in numbers] == list(numbers.values())
    assert (len(known), known.get("row 17"), known.get("another")) == (20_000, 17, None)
