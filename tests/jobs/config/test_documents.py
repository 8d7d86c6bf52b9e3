"""What a settings file may be, and the one line that says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ramet.jobs.config.config_file import BYTES_MAX, ConfigError, read_document


def written(folder: Path, content: str | bytes, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_values_know_their_lines(tmp_path: Path) -> None:
    document = read_document(written(tmp_path, "a: 1\nb:\n  - x\n  - y: 2\n"))
    assert document.value == {"a": 1, "b": ["x", {"y": 2}]}
    assert document.lines[("b",)] == 2
    assert document.lines["b", "1", "y"] == 4
    assert str(document.error(("b", "1", "z"), "wrong")) == f"{document.name}, line 4: wrong"


def test_yaml_with_a_byte_order_mark_and_json_are_read(tmp_path: Path) -> None:
    assert read_document(written(tmp_path, b"\xef\xbb\xbfa: 1")).value == {"a": 1}
    assert read_document(written(tmp_path, '{"a": [1.5, null]}', "mine.json")).value == {"a": [1.5, None]}
    assert read_document(written(tmp_path, '\t{"a": 1}', "mine")).value == {"a": 1}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is empty"),
        ("- 1", "is [1]: give sections"),
        ("a: &x 1\nb: *x", "line 2: aliases are not taken"),
        ("a: &x [1]\nb: [*x, *x, *x]", "line 2: aliases are not taken"),
        ("a: {<<: {b: 1}}", "line 1: this cannot be a name here"),
        ("a: 1\na: 2", 'line 2: "a" is given twice'),
        ("no: 1", "line 1: this cannot be a name here: put it in quotes"),
        ("? [1]\n: 2", "line 1: this cannot be a name here"),
        ("a: !!python/object/apply:os.getcwd []", "line 1: tags are not taken"),
        ("a: !!python/name:os.getcwd ''", "line 1: is not valid YAML"),
        ("a: [1,\nb", "line 2: is not valid YAML"),
        ("a: 2024-99-99", "line 1: is not a possible number or date"),
        ("a: " + "9" * 5_000, "line 1: is not a possible number or date"),
        ("a: 1\n---\nb: 2", "line 2: is not valid YAML"),
        ("a: \x01", "is not valid YAML"),
        ("a: " + "[" * 50_000, "line 1: is nested deeper than 20 levels"),
        (b"\xff\xfea", "is not valid UTF-8 at byte 0"),
        (b"#" * (BYTES_MAX + 1), "is larger than 262,144 bytes"),
    ],
)
def test_what_yaml_is_refused(tmp_path: Path, content: str | bytes, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_document(written(tmp_path, content))
    line = str(caught.value)
    assert told in line
    assert line.startswith(str(tmp_path / "mine.yaml"))
    assert "\n" not in line
    assert len(line) < len(str(tmp_path)) + 250


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"a": 1,\n "a": 2}', '"a" is given twice'),
        ('{"a": NaN}', "has NaN: give a number"),
        ('{"a":\n x}', "line 2: is not valid JSON"),
        ('{"a": ' + "[" * 100_000, "is nested too deep"),
        ('{"a": ' + "[" * 30 + "]" * 30 + "}", "is nested deeper than 20 levels"),
        ('{"a": ' + "9" * 5_000 + "}", "a number too long"),
    ],
)
def test_what_json_is_refused(tmp_path: Path, content: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_document(written(tmp_path, content, "mine.json"))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_absent_or_a_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        read_document(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_document(tmp_path)
