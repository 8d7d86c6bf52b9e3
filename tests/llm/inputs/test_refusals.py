"""What cannot be taken is refused by the number of its line, with what to do, and nothing else ever comes of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramet.llm.errors import InputError
from ramet.llm.inputs.prompt_file import Row, read_rows
from ramet.llm.inputs.questions import Defaults
from tests.llm.inputs.input_files import DEFAULTS, lines, read

USER = {"role": "user", "content": "Why?"}
BATCH = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions"}

BAD: list[tuple[object, str]] = [
    ('{"prompt": "a"', "not JSON"),
    ("prompt", "not JSON"),
    ('{"prompt": "a"} {"prompt": "b"}', "not JSON"),
    ("[" * 100_000, "not JSON"),
    ('{"prompt": "a", "seed": ' + "9" * 5_000 + "}", "not JSON"),
    ('{"prompt": "a", "prompt": "b"}', "has the key 'prompt' twice"),
    ('{"prompt": "a", "seed": NaN}', "NaN is not JSON"),
    ('{"prompt": "a", "temperature": 1e999}', "'temperature' is not a number in JSON"),
    ('{"prompt": "a\\u0000"}', "'prompt' holds a NUL"),
    ('{"prompt": "\\ud83d"}', "'prompt' holds a NUL or half of a surrogate pair; remove it"),
    ('{"prompt": "a", "\\ud83d": 1}', "a key in the row holds"),
    (b'{"prompt": "\xe9"}', "byte 13 is not UTF-8"),
    (["prompt"], "must be an object"),
    ("null", "must be an object"),
    ({}, "asks nothing; add 'prompt' or 'messages'"),
    ({"prompt": None}, "asks nothing"),
    ({"prompt": " \n"}, "'prompt' is empty"),
    ({"prompt": 3}, "'prompt' must be a text, not 3"),
    ({"prompt": ["a"]}, "'prompt' must be a text"),
    ({"prompt": "a", "messages": [USER]}, "has both 'prompt' and 'messages'"),
    ({"promt": "a"}, "unknown key 'promt'; did you mean 'prompt'"),
    ({"prompt": "a", "temprature": 1}, "unknown key 'temprature'; did you mean 'temperature'"),
    ({"prompt": "a", "top_pp": 1}, "did you mean 'top_p'.; what only your server knows goes into 'parameters'"),
    ({"messages": []}, "'messages' must be a list of at least one message"),
    ({"messages": {"role": "user"}}, "'messages' must be a list"),
    ({"messages": ["a"]}, r"'messages\[0\]' must be an object"),
    ({"messages": [USER, {"role": "robot", "content": "a"}]}, r"'messages\[1\].role' must be"),
    ({"messages": [{"role": [], "content": "a"}]}, r"'messages\[0\].role' must be"),
    ({"messages": [{"role": "user"}]}, r"'messages\[0\].content' must be a text, not None"),
    ({"messages": [{"role": "user", "content": []}]}, r"'messages\[0\].content' is empty"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, r"content\[0\].text' must be a text"),
    ({"messages": [{"role": "user", "content": [3]}]}, r"content\[0\]' must be an object"),
    ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "the price of which nothing bounds"),
    ({"messages": [{**USER, "contents": 1}]}, r"'messages\[0\]': unknown key 'contents'; did you mean 'content'"),
    ({"messages": [{"role": "system", "content": "a"}]}, "'messages' asks nothing"),
    ({"messages": [{"role": "system", "content": "a"}, USER], "system": "b"}, "another system message"),
    ({"prompt": "a", "system": "b", "instructions": "c"}, "another system message"),
    ({"prompt": "a", "model": ""}, "'model' is empty"),
    ({"prompt": "a", "model": 5}, "'model' must be a text"),
    ({"prompt": "a", "max_output_tokens": 0}, "'max_output_tokens' must be 1 or more, not 0"),
    ({"prompt": "a", "max_tokens": -1}, "'max_tokens' must be 1 or more"),
    ({"prompt": "a", "max_tokens": True}, "'max_tokens' must be a whole number, not True"),
    ({"prompt": "a", "max_tokens": "5"}, "'max_tokens' must be a whole number, not '5'"),
    ({"prompt": "a", "max_tokens": 1.5}, "'max_tokens' must be a whole number"),
    ({"prompt": "a", "max_tokens": 1, "max_output_tokens": 1}, "which are the same"),
    ({"prompt": "a", "temperature": "0"}, "'temperature' must be a number"),
    ({"prompt": "a", "temperature": 3}, "'temperature' must be from 0 to 2"),
    ({"prompt": "a", "stop": [1]}, "'stop' must be a text or a list of texts"),
    ({"prompt": "a", "stream": True}, "'stream' cannot be set in a row: answers are collected"),
    ({"prompt": "a", "background": True}, "'background' cannot be set in a row"),
    ({"prompt": "a", "n": 0}, "'n' must be 1 or more"),
    ({"prompt": "a", "service_tier": "fast"}, "'service_tier' is 'fast', which is not a service tier"),
    ({"messages": [USER, {"role": "tool", "content": "a"}]}, "needs 'tool_call_id'"),
    ({"messages": [{**USER, "tool_call_id": "a"}]}, "needs 'tool_call_id' with the role 'tool', and with no other"),
    ({"messages": [{**USER, "tool_calls": []}]}, "goes with the role 'assistant' only"),
    ({"messages": [USER, {"role": "assistant", "tool_calls": []}]}, "a list of at least one call"),
    ({"messages": [USER, {"role": "assistant", "tool_calls": [{"id": "a"}]}]}, r"tool_calls\[0\].function' must be"),
    ({"messages": [USER, {"role": "assistant"}]}, "content' must be a text, not None"),
    ({"prompt": "a", "endpoint": "images"}, "'endpoint' must be 'chat' or 'embeddings'"),
    ({"prompt": "a", "endpoint": "embeddings", "temperature": 1}, "'temperature' says nothing about an embedding"),
    ({"input": [""], "endpoint": "embeddings"}, r"'input\[0\]' is empty"),
    ({"endpoint": "embeddings"}, "asks for an embedding of nothing"),
    ({"prompt": "a", "tools": [{"type": "web_search"}]}, r"'tools\[0\]' is a tool of type 'web_search'"),
    ({"prompt": "a", "tools": {}}, "'tools' must be a list"),
    ({"prompt": "a", "parameters": []}, "'parameters' must be an object"),
    ({"prompt": "a", "parameters": {"model": "x"}}, "'parameters.model' belongs beside 'parameters'"),
    ({"prompt": "a", "seed": 1, "parameters": {"seed": 2}}, "'seed' is in 'parameters' and beside it"),
    ({"prompt": "a", "reasoning": {"effort": "low"}, "reasoning_effort": "high"}, "has both 'reasoning' and"),
    ({"prompt": "a", "schema": []}, "'schema' must be an object"),
    ({"prompt": "a", "schema": {"type": "strng"}}, "'schema': is not a valid JSON Schema"),
    ({"prompt": "a", "schema": {"$ref": "https://example.org/s"}}, "nothing is fetched"),
    ({"prompt": "a", "response_format": {"type": "xml"}}, "'response_format.type' must be 'json_schema'"),
    ({"prompt": "a", "response_format": {"type": "json_schema"}}, "'response_format.schema' must be an object"),
    ({"prompt": "a", "text": {"formt": {}}}, "'text': unknown key 'formt'; did you mean 'format'"),
    ({"prompt": "a", "schema": {}, "text": {"format": {"type": "json_schema", "schema": {}}}}, "more than one schema"),
    ({"prompt": "a", "id": ""}, "'id' is empty"),
    ({"prompt": "a", "id": 1.5}, "'id' must be a text"),
    ({"prompt": "a", "id": True}, "'id' must be a text"),
    ({"prompt": "a", "id": "x" * 513}, "'id' has 513 characters"),
    ({"prompt": "a", "id": "x", "custom_id": "y"}, "has both 'id' and 'custom_id'"),
    ({**BATCH, "body": []}, "'body' must be an object"),
    ({**BATCH, "body": {"messages": [USER]}, "methods": 1}, "unknown key 'methods'; did you mean 'method'"),
    ({**BATCH, "method": "GET", "body": {"messages": [USER]}}, "'method' must be 'POST'"),
    ({**BATCH, "url": "/v1/moderations", "body": {"input": "a"}}, "'url' must be"),
    ({**BATCH, "body": {"messages": [USER], "stream": True}}, "'stream' cannot be set"),
    ({"body": {}, "params": {}}, "has both 'body' and 'params'"),
]


@pytest.mark.parametrize(("row", "said"), BAD, ids=[f"{place} {said}" for place, (_, said) in enumerate(BAD)])
def test_a_bad_line_is_named(tmp_path: Path, row: object, said: str) -> None:
    path = lines(tmp_path / "in.jsonl", *({"prompt": f"p{number}"} for number in range(16)), row, {"prompt": "b"})
    rows = read_rows(path, DEFAULTS)
    read_before = [next(rows) for _ in range(16)]
    with pytest.raises(InputError, match=said) as caught:
        next(rows)
    assert len(read_before) == 16
    assert str(caught.value).startswith(f"{path}, line 17: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 600
    assert list(rows) == []


def test_what_no_option_gives_is_missed(tmp_path: Path) -> None:
    path = lines(tmp_path / "in.jsonl", {"prompt": "a"})
    with pytest.raises(InputError, match="line 1: names no model; add 'model', or give one for all rows"):
        read(path, Defaults(max_output_tokens=1))
    with pytest.raises(InputError, match="line 1: has no 'max_output_tokens', which bounds its price"):
        read(path, Defaults(model="m-1"))


def test_ids_differ(tmp_path: Path) -> None:
    path = lines(tmp_path / "in.jsonl", {"id": "a", "prompt": "a"}, "", {"prompt": "b"}, {"id": "a", "prompt": "c"})
    with pytest.raises(InputError, match="line 4: the id 'a' is that of line 1 too"):
        read(path)
    path = lines(tmp_path / "in.jsonl", {"id": 2, "prompt": "a"}, {"prompt": "b"})
    with pytest.raises(InputError, match="line 2: has no id and would be called 2, as line 1 is"):
        read(path)
    path = lines(tmp_path / "in.jsonl", {"prompt": "a"}, {"id": "1", "prompt": "b"})
    with pytest.raises(InputError, match="line 2: the id '1' is that of line 1 too"):
        read(path)


def test_a_request_is_bounded_and_its_size_is_told(tmp_path: Path) -> None:
    fits = {"prompt": "x" * 260_000}
    assert len(read(lines(tmp_path / "in.jsonl", fits))) == 1
    most = 261_632
    with pytest.raises(InputError, match=r"line 2: its request has 300,0\d\d bytes, over 261,632; shorten it"):
        read(lines(tmp_path / "in.jsonl", fits, {"prompt": "x" * 300_000}), bytes_max=most)
    # A character of three bytes counts as three.
    with pytest.raises(InputError, match=r"line 1: its request has 300,0\d\d bytes"):
        read(lines(tmp_path / "in.jsonl", {"prompt": "中" * 100_000}), bytes_max=most)
    with pytest.raises(InputError, match=r"line 2: has 5,000,015 bytes, over 2,093,056"):
        read(lines(tmp_path / "in.jsonl", {"prompt": "a"}, {"prompt": "x" * 5_000_000}), bytes_max=most)
    assert len(read(lines(tmp_path / "in.jsonl", {"prompt": "x" * 5_000_000}))) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no prompt; give one a line"),
        (b"\n \n", "holds no prompt"),
        (b'[\n{"prompt": "a"}\n]\n', "line 1: not JSON .*; give one object a line, no list"),
        ('{"prompt": "a"}\n'.encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
        (gzip.compress(gzip.compress(b'{"prompt": "a"}\n')), "is packed twice; unpack it first"),
        (gzip.compress(b'{"prompt": "a"}\n')[:-9], "cannot read .*: Compressed file ended"),
        (b"PAR1\x15\x04", "is a Parquet file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_hold_no_rows(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none.jsonl: No such file"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(InputError, match=r"cannot read .*dir.csv: Is a directory"):
        read(tmp_path / "dir.csv")
    with pytest.raises(InputError, match=r"cannot tell from its name how .*in.txt is written; say whether"):
        read(tmp_path / "in.txt")
    assert len(read(lines(tmp_path / "in.txt", {"prompt": "a"}), format="jsonl")) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": " "}, "'model' is empty"),
        ({"system": "a\0"}, "'system' holds a NUL"),
        ({"max_output_tokens": 0}, "'max_output_tokens' must be 1 or more"),
        ({"parameters": {"temperature": "hot"}}, "'temperature' must be a number"),
        ({"parameters": {"stream": True}}, "'stream' cannot be set"),
        ({"parameters": {"model": "x"}}, "'parameters.model' belongs beside"),
        ({"schema": {"type": 3}}, "'schema': is not a valid JSON Schema"),
        ({"template": "no place"}, "has no place for a column"),
        ({"template": "{a"}, "the template cannot be read"),
        ({"template": "{a.b!r}"}, "may hold only the name of a column"),
        ({"template": "{a:>9}"}, "may hold only the name of a column"),
    ],
    ids=str,
)
def test_options_are_looked_at_before_the_file(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=f"^the options for all rows: .*{said}"):
        read_rows(tmp_path / "none.jsonl", Defaults(**given))


def test_a_template_reaches_nothing_but_columns(tmp_path: Path) -> None:
    path = lines(tmp_path / "in.jsonl", {"a": "x"})
    for place in ("{a.__class__}", "{a[0]}", "{0}", "{}"):
        with pytest.raises(InputError, match="line 1: the template wants unknown column"):
            read(path, Defaults("m-1", None, 10, template=place))


_NAMES = st.sampled_from(
    "id custom_id prompt messages input system instructions model max_tokens temperature stop seed tools schema text "
    "response_format parameters body params method url reasoning stream n role content type logit_bias".split()
)
_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["user", "system", "text", "json_schema", "POST", "#", "#/$defs/a", "(", "object"])
)  # fmt: skip
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
_ROWS = st.dictionaries(_NAMES, _VALUES, max_size=6) | _VALUES


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=_ROWS)
def test_any_value_on_a_line_is_a_row_or_is_refused_by_its_line(tmp_path: Path, value: Any) -> None:
    _row_or_refusal(tmp_path, json.dumps(value).encode())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.binary(max_size=60).filter(lambda line: b"\n" not in line and not line.startswith(b"PK")))
def test_any_bytes_on_a_line_are_a_row_or_are_refused(tmp_path: Path, line: bytes) -> None:
    _row_or_refusal(tmp_path, line)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=60), header=st.sampled_from([b"prompt\n", b"id,prompt\n", b"prompt;max_tokens\n", b""])
)
def test_any_table_is_rows_or_is_refused(tmp_path: Path, content: bytes, header: bytes) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(header + content)
    rows, refusal = attempt(read_rows(path, DEFAULTS))
    assert all(len(row.request.key) == 64 for row in rows)
    assert rows or refusal is not None
    assert refusal is None or str(path) in refusal


def _row_or_refusal(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"id": "first", "prompt": "a"}\n' + line + b"\n")
    (first, *more), refusal = attempt(read_rows(path, DEFAULTS))
    assert first.id == "first"
    if refusal is None:
        # A blank line is no row.
        assert [(row.line, len(row.request.key)) for row in more] in ([], [(2, 64)])
    else:
        assert more == []
        assert refusal.startswith(f"{path}, line 2: ")
        assert "\n" not in refusal


def attempt(rows: Iterator[Row]) -> tuple[list[Row], str | None]:
    """The rows until one is refused, and in which words."""
    read: list[Row] = []
    try:
        read.extend(rows)
    except InputError as error:
        return read, str(error)
    return read, None
