"""Equal questions have one key, whatever their spelling; whatever could change an answer changes the key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.llm.inputs.questions import Defaults
from ramet.llm.requests import Request, canonical
from tests.llm.inputs.input_files import lines, read

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}
FULL: dict[str, Any] = {"prompt": "Why?", "model": "m-1", "max_tokens": 10, "temperature": 1, "schema": SCHEMA}


def keys(tmp_path: Path, *rows: object) -> list[str]:
    return [row.request.key for row in read(lines(tmp_path / "in.jsonl", *rows), Defaults("m-1", None, 10))]


def test_spelling_does_not_matter(tmp_path: Path) -> None:
    schema = {"properties": {"a": {"minimum": 1.0, "type": "integer"}}, "type": "object"}
    spelt = [
        FULL,
        json.dumps(FULL, indent=None, separators=(" ,  ", " :\t")),
        {"id": "other", **dict(reversed(FULL.items()))},
        {**FULL, "temperature": 1.0, "max_tokens": 10.0},
        {**FULL, "schema": schema},
        {**FULL, "seed": None},
        {**FULL, "parameters": {"top_p": None}, "stream": False, "n": 1},
        {
            "model": "m-1",
            "messages": [{"content": "Why?", "role": "user"}],
            **{k: FULL[k] for k in ("temperature", "schema")},
        },
        {
            "custom_id": "b",
            "method": "POST",
            "url": "/v1/responses",
            "body": {
                "model": "m-1",
                "input": "Why?",
                "max_output_tokens": 10,
                "temperature": 1,
                "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
            },
        },
        '{"prompt": "\\u0057hy?", "model": "m-1", "max_tokens": 1e1, "temperature": 1, "schema": '
        + json.dumps(SCHEMA)
        + "}",
    ]
    assert len(set(keys(tmp_path, *spelt))) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"prompt": "Why? "},
        {"prompt": "why?"},
        {"model": "m-2"},
        {"max_tokens": 11},
        {"temperature": 0.5},
        {"temperature": None},
        {"top_p": 1},
        {"system": "Be brief."},
        {"schema": None},
        {"schema": {**SCHEMA, "required": ["a"]}},
        {"parameters": {"x": 1}},
        {"parameters": {"x": True}},
    ],
    ids=str,
)
def test_what_could_change_an_answer_does(tmp_path: Path, changed: dict[str, Any]) -> None:
    assert len(set(keys(tmp_path, FULL, {**FULL, **changed}))) == 2


def test_true_is_not_one(tmp_path: Path) -> None:
    one, true = keys(tmp_path, {**FULL, "parameters": {"x": 1}}, {**FULL, "parameters": {"x": True}})
    assert one != true


def test_a_key_is_that_of_the_request_whoever_makes_it(tmp_path: Path) -> None:
    (row,) = read(lines(tmp_path / "in.jsonl", FULL))
    made = Request.of("m-1", [{"role": "user", "content": "Why?"}], 10, {"temperature": 1}, SCHEMA)
    assert made == row.request


@given(
    st.recursive(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.text(), st.lists)
)
def test_the_canonical_form_says_the_same_value(value: Any) -> None:
    assert json.loads(canonical(value)) == value
    assert canonical(json.loads(canonical(value))) == canonical(value)


@given(st.integers(-(10**30), 10**30))
def test_equal_numbers_are_written_alike(number: int) -> None:
    assert (canonical(float(number)) == canonical(number)) == (float(number) == number)
