"""Tables: a header, cells that span lines, separators of other countries, columns under a template."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from ramet.llm.errors import InputError
from ramet.llm.inputs.prompt_file import read_rows
from ramet.llm.inputs.questions import Defaults
from tests.llm.inputs.input_files import DEFAULTS, read


def table(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_columns_are_those_of_a_row(tmp_path: Path) -> None:
    path = table(
        tmp_path / "in.csv",
        "\ufeffid, prompt,model,max_tokens,temperature,seed\r\n"
        'a,"One\ntwo, ""three""",m-2,5,0.5,7\r\n'
        "\r\n"
        ",Four,,,,\r\n",
    )
    first, second = read(path)
    assert (first.line, first.id, first.request.model, first.request.max_output_tokens) == (2, "a", "m-2", 5)
    assert first.request.messages[0]["content"] == 'One\ntwo, "three"'
    assert first.request.parameters == {"temperature": 0.5, "seed": 7}
    assert (second.position, second.line, second.id, second.request.model) == (1, 5, "2", "m-1")
    assert second.request.parameters == {}


@pytest.mark.parametrize(("separator", "name"), [(";", "in.csv"), ("\t", "in.tsv"), ("\t", "in.csv")])
def test_separators(tmp_path: Path, separator: str, name: str) -> None:
    path = table(tmp_path / name, f"id{separator}prompt\na{separator}b, c\n")
    assert [(row.id, row.request.messages[0]["content"]) for row in read(path)] == [("a", "b, c")]


def test_a_template_takes_any_columns(tmp_path: Path) -> None:
    path = table(tmp_path / "in.csv", "name,model,prompt\nTarn,T-34,x\n")
    (row,) = read(path, Defaults("m-1", None, 10, template="{name}: {model}"))
    assert row.request.messages[0]["content"] == "Tarn: T-34"
    assert row.request.model == "m-1"


def test_a_cell_may_be_long(tmp_path: Path) -> None:
    path = table(tmp_path / "in.csv", f"prompt\n{'x' * 200_000}\n")
    assert len(read(path)[0].request.messages[0]["content"]) == 200_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: has no header"),
        ("\nprompt\n", "line 1: has no header"),
        ("prompt\n", "holds no prompt"),
        ("id,promt\na,b\n", "line 1: unknown column 'promt'; did you mean 'prompt'.; rename it"),
        ("id,model\na,b\n", "line 1: the header has no column 'prompt'"),
        ("prompt,prompt\na,b\n", "line 1: the header has the column 'prompt' twice"),
        ("id,prompt\na,b\nc\n", "line 3: has 1 cells, where the header has 2"),
        ("id,prompt\na,b,c\n", "line 2: has 3 cells, where the header has 2"),
        ('id,prompt\na,"b\nc\nd', "line 2: not CSV"),
        ('id,prompt\na,"b"c\n', "line 2: not CSV"),
        ("id,prompt\na,b\nb, \n", "line 3: asks nothing"),
        ("id,prompt\na,b\n\na,c\n", "line 4: the id 'a' is that of line 2 too"),
        ("prompt,max_tokens\na,1.5\n", "line 2: 'max_tokens' must be a whole number"),
        ("prompt,max_tokens\na,1_0\n", "line 2: 'max_tokens' must be a whole number, not '1_0'"),
        ("prompt,max_tokens\na,٣\n", "line 2: 'max_tokens' must be a whole number"),
        ("prompt,max_tokens\na,0\n", "line 2: 'max_tokens' must be 1 or more"),
        ("prompt,temperature\na,nan\n", "line 2: 'temperature' is not a number in JSON"),
        ("prompt,temperature\na,hot\n", "line 2: 'temperature' must be a number"),
        ("prompt\n\0\n", "line 2: 'prompt' holds a NUL"),
    ],
    ids=repr,
)
def test_what_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = table(tmp_path / "in.csv", text)
    with pytest.raises(InputError, match=said) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unfinished_quote_does_not_swallow_the_file_into_memory(tmp_path: Path) -> None:
    path = table(tmp_path / "in.csv", 'prompt\n"' + "x\n" * 100_000)
    with pytest.raises(InputError, match="line 2: not CSV"):
        read(path, DEFAULTS, bytes_max=10_000)


def test_a_template_that_wants_another_column(tmp_path: Path) -> None:
    path = table(tmp_path / "in.csv", "name,town\na,\n")
    with pytest.raises(InputError, match="line 1: the template wants unknown column 'nane'; did you mean 'name'"):
        read(path, Defaults("m-1", None, 10, template="{nane}"))
    with pytest.raises(InputError, match="line 2: the template wants 'town', which is empty"):
        read(path, Defaults("m-1", None, 10, template="{town}"))


def test_reading_holds_one_row_at_a_time(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        path = table(tmp_path / "in.csv", "prompt\n" + f"{'x' * 10_000}\n" * count)
        tracemalloc.start()
        assert sum(1 for _ in read_rows(path, DEFAULTS)) == count
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    # 20 MB more of prompts, and 2,000 more ids.
    assert peak(2_200) < peak(200) + 1_000_000
