"""Every shape in which people keep prompts becomes the same kind of request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ramet.llm.inputs.questions import Defaults
from tests.llm.inputs.input_files import DEFAULTS, lines, read, read_one

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
USER = {"role": "user", "content": "Why?"}
SYSTEM = {"role": "system", "content": "Be brief."}


def test_a_plain_prompt(tmp_path: Path) -> None:
    row = read_one(tmp_path, {"id": "a", "prompt": "Why?", "model": "m-2", "max_tokens": 7, "temperature": 0.5})
    assert (row.position, row.line, row.id) == (0, 1, "a")
    assert row.request.model == "m-2"
    assert row.request.messages == (USER,)
    assert row.request.max_output_tokens == 7
    assert row.request.parameters == {"temperature": 0.5}
    assert row.request.schema is None
    assert len(row.request.key) == 64


@pytest.mark.parametrize("name", ["max_output_tokens", "max_tokens", "max_completion_tokens"])
def test_the_limit_has_three_names(tmp_path: Path, name: str) -> None:
    assert read_one(tmp_path, {"prompt": "Why?", name: 9.0}).request.max_output_tokens == 9


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [SYSTEM, USER]},
        {"messages": [{"role": "developer", "content": "Be brief."}, USER]},
        {"messages": [USER], "system": "Be brief."},
        {"prompt": "Why?", "system": "Be brief."},
        {"input": "Why?", "instructions": "Be brief."},
        {"input": [{"type": "message", **USER}], "instructions": "Be brief."},
    ],
    ids=str,
)
def test_a_conversation_however_it_is_told(tmp_path: Path, body: dict[str, Any]) -> None:
    assert read_one(tmp_path, body).request.messages == (SYSTEM, USER)


def test_a_line_of_a_batch_of_chat_completions(tmp_path: Path) -> None:
    body = {
        "model": "m-2",
        "messages": [SYSTEM, USER],
        "max_completion_tokens": 5,
        "stream": False,
        "n": 1,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}},
    }
    row = read_one(tmp_path, {"custom_id": "r-1", "method": "POST", "url": "/v1/chat/completions", "body": body})
    assert row.id == "r-1"
    assert (row.request.model, row.request.max_output_tokens) == ("m-2", 5)
    assert row.request.messages == (SYSTEM, USER)
    assert row.request.parameters == {}
    assert row.request.schema == SCHEMA


def test_a_line_of_a_batch_of_responses(tmp_path: Path) -> None:
    content = [
        {"type": "input_text", "text": "Why?"},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
    ]
    body = {
        "model": "m-2",
        "input": [{"role": "user", "content": content}],
        "max_output_tokens": 5,
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}, "verbosity": "low"},
    }
    request = read_one(tmp_path, {"custom_id": "r-1", "method": "POST", "url": "/v1/responses", "body": body}).request
    parts = [
        {"type": "text", "text": "Why?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    assert request.messages == ({"role": "user", "content": parts},)
    assert request.parameters == {"reasoning_effort": "low", "verbosity": "low"}
    assert request.schema == SCHEMA


def test_a_line_of_the_other_vendors_batch(tmp_path: Path) -> None:
    params = {"model": "m-2", "max_tokens": 5, "system": "Be brief.", "messages": [USER], "stop_sequences": ["x"]}
    request = read_one(tmp_path, {"custom_id": "r-1", "params": params}).request
    assert request.messages == (SYSTEM, USER)
    assert request.parameters == {"stop": ["x"]}


def test_parts_keep_what_they_say(tmp_path: Path) -> None:
    cached = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    params = {"system": [cached], "messages": [{"role": "user", "content": [{**cached, "type": "input_text"}]}]}
    assert read_one(tmp_path, {"custom_id": "r-1", "params": params}).request.messages == (
        {"role": "system", "content": [cached]},
        {"role": "user", "content": [cached]},
    )


def test_defaults_stand_in_and_a_rows_own_word_wins(tmp_path: Path) -> None:
    defaults = Defaults("m-1", "Be brief.", 10, {"temperature": 1, "seed": 3.0}, SCHEMA)
    own = {"type": "array"}
    path = lines(
        tmp_path / "in.jsonl",
        {"prompt": "Why?"},
        {"prompt": "Why?", "system": "Go on.", "temperature": None, "seed": 4, "schema": own, "max_tokens": 2},
        {"messages": [{"role": "system", "content": "Sing."}, USER]},
    )
    first, second, third = (row.request for row in read(path, defaults))
    assert first.messages == (SYSTEM, USER)
    assert (first.parameters, first.schema, first.max_output_tokens) == ({"temperature": 1, "seed": 3}, SCHEMA, 10)
    assert second.messages[0]["content"] == "Go on."
    assert (second.parameters, second.schema, second.max_output_tokens) == ({"seed": 4}, own, 2)
    assert [message["content"] for message in third.messages] == ["Sing.", "Why?"]


def test_what_only_a_server_knows_goes_into_parameters(tmp_path: Path) -> None:
    request = read_one(tmp_path, {"prompt": "Why?", "parameters": {"mirostat": 2, "top_k": 5.0}}).request
    assert request.parameters == {"mirostat": 2, "top_k": 5}


def test_ids_are_texts_and_stand_in_by_place(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "in.jsonl", {"id": 70, "prompt": "a"}, "", {"prompt": "b"}, "  \r", {"id": "x", "prompt": "c"}
    )
    assert [(row.position, row.line, row.id) for row in read(path)] == [(0, 1, "70"), (1, 3, "2"), (2, 5, "x")]


def test_marks_and_ends_of_lines_of_other_systems(tmp_path: Path) -> None:
    path = tmp_path / "in.ndjson"
    path.write_bytes(b'\xef\xbb\xbf{"prompt": "a"}\r\n{"prompt": "\xc3\xa9\xe2\x80\xa8b"}')
    assert [row.request.messages[0]["content"] for row in read(path)] == ["a", "é\u2028b"]


def test_a_template_makes_prompts_of_columns(tmp_path: Path) -> None:
    defaults = Defaults("m-1", None, 10, template="As JSON: {text} into {to lang} {n} {more}")
    path = lines(
        tmp_path / "in.jsonl", {"id": "a", "text": "{x}", "to lang": "Dutch", "n": 3, "more": [1], "model": "T"}
    )
    (row,) = read(path, defaults)
    assert row.id == "a"
    assert row.request.messages[0]["content"] == "As JSON: {x} into Dutch 3 [1]"
    assert row.request.model == "T", "an option that the template does not name stays an option"
    assert row.columns == {"text": "{x}", "to lang": "Dutch", "n": 3, "more": [1]}
    (row,) = read(path, Defaults("m-1", None, 10, template="The {model}"))
    assert (row.request.model, row.request.messages[0]["content"]) == ("m-1", "The T")


def test_rows_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    from ramet.llm.inputs.prompt_file import read_rows

    path = lines(tmp_path / "in.jsonl", {"prompt": "a"}, "not JSON")
    rows = read_rows(path, DEFAULTS)
    assert next(rows).line == 1
