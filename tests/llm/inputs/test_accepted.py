"""What a row may say beside a plain prompt: calls of tools, several answers, tiers, sound, vectors, own columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ramet.llm.errors import InputError, Refused
from ramet.llm.inputs.questions import Defaults
from ramet.llm.providers.base import Mode
from ramet.llm.providers.registry import check_request
from tests.llm.inputs.input_files import DEFAULTS, lines, read, read_one

CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "owl"}'}}
CONVERSATION = [
    {"role": "user", "content": "Which owl?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "the barn owl"},
]


def test_calls_of_tools_and_their_results_are_taken_as_they_are(tmp_path: Path) -> None:
    row = read_one(tmp_path, {"messages": CONVERSATION})
    assert list(row.request.messages) == CONVERSATION
    responses = [
        CONVERSATION[0],
        {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"word": "owl"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "the barn owl"},
    ]
    told = read_one(tmp_path, {"custom_id": "a", "url": "/v1/responses", "body": {"input": responses}})
    assert [message["role"] for message in told.request.messages] == ["user", "assistant", "tool"]
    assert told.request.messages[1]["tool_calls"] == [CALL]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    "row",
    [
        {"messages": CONVERSATION},
        {"prompt": "a list of owls", "response_format": {"type": "json_object"}},
        {"prompt": "why?", "service_tier": "flex"},
        {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "UklGRg=="}}]}]},
    ],
    ids=["tools", "json_object", "tier", "sound"],
)
def test_each_is_sent_on_in_every_mode(tmp_path: Path, mode: Mode, row: dict[str, Any]) -> None:
    check_request("openai", mode, read_one(tmp_path, row).request)


def test_json_of_whatever_shape_is_part_of_what_is_asked(tmp_path: Path) -> None:
    plain = read_one(tmp_path, {"prompt": "a list of owls"}).request
    row = read_one(tmp_path, {"prompt": "a list of owls", "text": {"format": {"type": "json_object"}}}).request
    assert row.parameters == {"response_format": {"type": "json_object"}}
    assert row.wants_json
    assert row.key != plain.key


def test_several_answers_are_asked_for_by_one_row(tmp_path: Path) -> None:
    row = read_one(tmp_path, {"prompt": "a name", "n": 3})
    assert row.request.answers == 3
    check_request("openai", Mode.CHAT, row.request)
    with pytest.raises(Refused, match="no 'n'"):
        check_request("openai", Mode.BACKGROUND, row.request)
    with pytest.raises(Refused, match="'n'"):
        check_request("anthropic", Mode.CHAT, row.request)


def test_a_line_of_a_batch_of_embeddings(tmp_path: Path) -> None:
    body = {"model": "text-embedding-3-small", "input": ["an owl", "a finch"], "dimensions": 8}
    row = read_one(tmp_path, {"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": body})
    assert (row.request.endpoint, row.request.max_output_tokens) == ("embeddings", 0)
    assert row.request.messages == ({"role": "user", "content": ["an owl", "a finch"]},)
    assert row.request.parameters == {"dimensions": 8}
    plain = read_one(tmp_path, {"prompt": "an owl"}, Defaults("m-1", endpoint="embeddings"))
    assert plain.request.messages == ({"role": "user", "content": "an owl"},)
    assert plain.request.key != read_one(tmp_path, {"prompt": "an owl"}).request.key
    with pytest.raises(Refused, match="has no embeddings"):
        check_request("anthropic", Mode.CHAT, row.request)


def test_own_columns_travel_and_say_nothing_about_what_is_asked(tmp_path: Path) -> None:
    bare, labelled = {"id": "a", "prompt": "Why?"}, {"id": "b", "prompt": "Why?", "label": [1], "source": None}
    first, second = read(lines(tmp_path / "in.jsonl", bare, labelled))
    assert first.request.key == second.request.key
    assert (first.columns, second.columns) == ({}, {"label": [1], "source": None})
    batch = {"custom_id": "a", "url": "/v1/responses", "body": {"input": "Why?"}, "label": "x"}
    assert read_one(tmp_path, batch).columns == {"label": "x"}
    table = tmp_path / "in.csv"
    table.write_text("prompt,label,temperature\nWhy?,,0\n")
    (row,) = read(table)
    assert (row.columns, row.request.parameters) == ({"label": ""}, {"temperature": 0.0})


def test_options_stay_options_beside_a_template_also_in_tables(tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("text,max_output_tokens,model,system\nowl,7,m-2,Be brief.\nfinch,,,\n")
    first, second = read(table, Defaults("m-1", None, 100, template="Describe the {text}."))
    assert (first.request.model, first.request.max_output_tokens) == ("m-2", 7)
    assert first.request.messages[0] == {"role": "system", "content": "Be brief."}
    assert (second.request.model, second.request.max_output_tokens, len(second.request.messages)) == ("m-1", 100, 1)
    assert (first.columns, second.columns) == ({"text": "owl"}, {"text": "finch"})


def test_a_call_whose_arguments_are_no_text_is_refused(tmp_path: Path) -> None:
    wrong = json.loads(json.dumps(CONVERSATION))
    wrong[1]["tool_calls"][0]["function"]["arguments"] = {"word": "owl"}
    with pytest.raises(InputError, match=r"messages\[1\].tool_calls\[0\].function.arguments' must be JSON as a text"):
        read_one(tmp_path, {"messages": wrong}, DEFAULTS)
