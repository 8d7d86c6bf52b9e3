"""A file is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from ramet.commands.output_files import OutputError, harmless_cell, replaced


def test_a_file_is_replaced_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before")
    with replaced(path) as file:
        file.write(b"after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_a_mistake_in_between_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before")

    def write_half() -> None:
        with replaced(path) as file:
            file.write(b"half")
            raise RuntimeError("a bug")

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_where_nothing_can_be_written_is_told_in_a_line(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match=r"cannot write .*none/out.csv: No such file"),
        replaced(tmp_path / "none" / "out.csv"),
    ):
        pass


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_nothing_is_a_formula(text: str) -> None:
    assert harmless_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["plain", "a=b", "", -1, 2.5, None])
def test_what_is_no_formula_stays_as_it_is(value: object) -> None:
    assert harmless_cell(value) == value
