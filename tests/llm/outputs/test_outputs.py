"""Rows as they are written: every field in every row, nothing lost, a file replaced at once or not at all."""

from __future__ import annotations

import csv
import json
import sys
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from ramet.commands.extras import ExtraMissing
from ramet.commands.output_files import OutputError
from ramet.llm.output_files import COLUMNS, OutputRow, format_of, open_output, write_rows
from ramet.llm.providers.base import TokenUsage

GOOD = OutputRow(
    0,
    "a",
    "succeeded",
    text='- "é"\n\u2028',
    value={"n": [1, None]},
    model="m-1",
    usage=TokenUsage(10, 4, 3),
    cost=2**60,
    input_price=5,
    cached_price=1,
    output_price=9,
)
BAD = OutputRow(1, "=b", "failed", code="timed_out", error="no answer in 2 h", late="too late")
SAME = OutputRow(2, "c", "succeeded", text="x", value=False, shared=True)
ROWS = [GOOD, BAD, SAME]


def as_dict(**said: Any) -> dict[str, Any]:
    return {**dict.fromkeys(COLUMNS), "cost_nanodollars": 0, "shared": False, **said}


WRITTEN = [
    as_dict(
        position=0, id="a", state="succeeded", text='- "é"\n\u2028', value={"n": [1, None]}, model="m-1",
        input_tokens=10, cached_tokens=4, output_tokens=3, cost_nanodollars=2**60, input_price=5, cached_price=1,
        output_price=9,
    ),
    as_dict(position=1, id="=b", state="failed", code="timed_out", error="no answer in 2 h", late="too late"),
    as_dict(position=2, id="c", state="succeeded", text="x", value=False, shared=True),
]  # fmt: skip


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


async def streamed(rows: list[OutputRow]) -> AsyncIterator[OutputRow]:
    for row in rows:
        yield row


async def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    assert await write_rows(streamed(ROWS), path) == 3
    assert json_lines(path) == WRITTEN
    assert [list(row) for row in json_lines(path)] == [list(COLUMNS)] * 3
    assert await write_rows(ROWS[:1], path) == 1
    assert json_lines(path) == WRITTEN[:1]
    assert [file.name for file in tmp_path.iterdir()] == ["out.jsonl"]  # noqa: ASYNC240 - a folder of this test


async def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    assert await write_rows(ROWS, path) == 3
    first, second, third = cells(path)
    assert first["text"] == "'" + WRITTEN[0]["text"]
    assert json.loads(first["value"]) == {"n": [1, None]}
    assert (first["cost_nanodollars"], first["shared"], first["late"]) == (str(2**60), "false", "")
    assert (second["id"], second["value"], second["late"]) == ("'=b", "", "too late")
    assert (third["value"], third["shared"]) == ("false", "true")


async def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    assert await write_rows(streamed(ROWS), path) == 3
    read = pyarrow.parquet.read_table(path).to_pylist()
    for row in read:
        row["value"] = None if row["value"] is None else json.loads(row["value"])
    assert read == WRITTEN
    assert await write_rows([], path) == 0
    assert pyarrow.parquet.read_table(path).column_names == list(COLUMNS)


async def test_parquet_is_written_in_groups(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    rows = (OutputRow(number, str(number), "queued", text="x" * 20_000 * (number < 900)) for number in range(2_500))
    assert await write_rows(rows, path) == 2_500
    file = pyarrow.parquet.ParquetFile(path)
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    assert sum(sizes) == 2_500
    assert max(sizes) == 1_000
    assert sizes[0] < 500
    assert pyarrow.parquet.read_table(path)["position"].to_pylist() == list(range(2_500))


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
async def test_half_a_surrogate_pair_is_no_reason_to_lose_rows(tmp_path: Path, name: str) -> None:
    assert (
        await write_rows([OutputRow(0, "a", "succeeded", text="x\ud83d", value="\ud83d"), *ROWS], tmp_path / name) == 4
    )
    if name == "out.jsonl":
        assert json_lines(tmp_path / name)[0]["text"] == "x\ud83d"


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, name: str) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        with open_output(tmp_path / name) as write:
            for number in range(count):
                write(OutputRow(number, str(number), "succeeded", text="x" * 500))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(20_000) < peak(2_000) + 1_000_000


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
async def test_what_fails_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("before")

    def breaking() -> Iterator[OutputRow]:
        yield from ROWS
        raise ConnectionError("the database is gone")

    with pytest.raises(ConnectionError, match="the database is gone"):
        await write_rows(breaking(), path)
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == [name]  # noqa: ASYNC240 - a folder of this test


async def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot write .*none/out.jsonl: No such file"):
        await write_rows(ROWS, tmp_path / "none" / "out.jsonl")
    (tmp_path / "dir.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*dir.jsonl: Is a directory"):
        await write_rows(ROWS, tmp_path / "dir.jsonl")
    with pytest.raises(OutputError, match=r"cannot tell how to write .*out.txt; say jsonl, csv or parquet"):
        await write_rows(ROWS, tmp_path / "out.txt")
    with pytest.raises(OutputError, match=r"cannot tell how to write"):
        format_of(tmp_path / "out.jsonl", "xml")
    with pytest.raises(OutputError, match=r"Parquet cannot be written to standard output"):
        await write_rows(ROWS, "-", "parquet")
    assert await write_rows(ROWS, tmp_path / "out.txt", "csv") == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
async def test_a_full_disk_is_one_line(tmp_path: Path, form: str) -> None:
    link = tmp_path / "out"
    link.symlink_to("/dev/full")
    with pytest.raises(OutputError, match=r"cannot write .*: No space left on device"):
        await write_rows(ROWS, link, form)
    large = (OutputRow(number, str(number), "succeeded", text="x" * 10_000) for number in range(1_500))
    with pytest.raises(OutputError, match=r"cannot write .*: No space left on device"):
        await write_rows(large, link, form)


async def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "out.jsonl")
    await write_rows(ROWS, tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert json_lines(tmp_path / "out.jsonl") == WRITTEN


async def test_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert await write_rows(streamed(ROWS), "-") == 3
    assert [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()] == WRITTEN
    assert await write_rows(ROWS, "-", "csv") == 3
    assert capsysbinary.readouterr().out.startswith(b"position,id,state,")


async def test_parquet_needs_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExtraMissing, match=r"needs the package 'pyarrow': install it with .*ramet\[parquet\]"):
        await write_rows(ROWS, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240 - a folder of this test
