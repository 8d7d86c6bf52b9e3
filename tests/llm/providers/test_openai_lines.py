"""Lines of a batch's files, whatever they hold."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.llm.errors import Refused
from ramet.llm.providers import openai_batch_lines
from ramet.llm.providers.base import AnswerState, TokenUsage
from ramet.llm.providers.openai_answers import read_chat
from ramet.llm.providers.openai_batch_lines import (
    CHAT_ENDPOINT,
    RESPONSES_ENDPOINT,
    lines_of,
    problem_of,
    read_line,
    request_line,
    write_lines,
)
from ramet.llm.providers.openai_bodies import is_strict
from ramet.llm.testing.answers import response, response_ask
from tests.llm.providers.sample_requests import question

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    "status_code body error choices message content usage object status output finish_reason".split()
)


async def parts_of(content: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(content), size):
        yield content[at : at + size]


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b""))), st.integers(1, 7))
async def test_lines_are_the_same_however_the_bytes_arrive(lines: list[bytes], size: int) -> None:
    content = b"".join(line + b"\n" for line in lines)
    assert [line async for line in lines_of(parts_of(content, size)) if line] == [line for line in lines if line]


@pytest.mark.parametrize("size", [1, 3, 100])
async def test_a_line_that_is_too_long_is_left_out_alone(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(openai_batch_lines, "LINE_BYTES_MAX", 10)
    content = b"short\n" + b"x" * 11 + b"\n" + b"y" * 10 + b"\nlast"
    assert [line async for line in lines_of(parts_of(content, size))] == [b"short", b"y" * 10, b"last"]


def test_a_line_whose_owner_nobody_can_tell_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    for line in (b"rubbish", b"[]", b"{}", b'{"custom_id": 7}', b"\xff\xfe", b"[" * 100_000):
        assert read_line(line) is None
    assert len(caplog.records) == 6


def test_a_line_that_is_cut_off_after_its_key_is_unreadable() -> None:
    answer = read_line(b'{"id": "x", "custom_id": "abc", "response": {"status')
    assert answer is not None
    assert (answer.key, answer.state, answer.code, answer.usage_known) == (
        "abc",
        AnswerState.FAILED,
        "unreadable",
        False,
    )


@given(st.dictionaries(st.sampled_from(["response", "error"]), JSON_VALUES | st.dictionaries(NAMES, JSON_VALUES)))
def test_whatever_a_line_holds_it_is_an_answer(line: dict[str, object]) -> None:
    answer = read_line(json.dumps({"custom_id": "k", **line}).encode())
    assert answer is not None
    assert answer.key == "k"
    assert answer.error is None or "\n" not in answer.error


@given(st.dictionaries(NAMES, JSON_VALUES))
def test_whatever_a_body_holds_it_is_an_answer(body: dict[str, object]) -> None:
    for kind in ("response", "chat.completion"):
        line = {"custom_id": "k", "response": {"status_code": 200, "body": {**body, "object": kind}}}
        answer = read_line(json.dumps(line).encode())
        assert answer is not None
        assert answer.key == "k"


def test_a_batch_may_ask_the_other_api() -> None:
    line = json.loads(request_line(question("hello", most=7), RESPONSES_ENDPOINT, "max_tokens"))
    assert line["url"] == RESPONSES_ENDPOINT
    assert response_ask(line["body"]).output_max == 7
    from ramet.llm.testing.answers import answer

    outcome = answer(response_ask(line["body"]))
    body = response("r", 1.0, line["body"], "completed", outcome)
    told = {"custom_id": "k", "response": {"status_code": 200, "body": body}, "error": None}
    read = read_line(json.dumps(told).encode())
    assert read is not None
    assert (read.text, read.usage.output_tokens) == (outcome.text, outcome.output_tokens)


def test_a_file_larger_than_its_bound_is_refused() -> None:
    with pytest.raises(Refused, match="200 bytes") as caught:
        write_lines(
            [question(f"hello {number}") for number in range(9)], io.BytesIO(), CHAT_ENDPOINT, "max_tokens", 200
        )
    assert caught.value.code == "too_large"


def test_the_reason_of_a_failed_batch_is_one_line() -> None:
    data = [{"code": "invalid_json_line", "message": "no\nJSON", "line": 17}]
    assert problem_of({"errors": {"data": data}})[0] == "invalid_json_line: no JSON (line 17)"
    unsaid: list[dict[str, object]] = [{}, {"errors": None}, {"errors": {"data": []}}, {"errors": {"data": [7]}}]
    for body in unsaid:
        assert problem_of(body)[0] == "failed: the provider does not say why"


def test_a_schema_is_strict_when_every_object_is_closed_and_every_field_required() -> None:
    inner = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert is_strict(inner)
    assert is_strict({**inner, "properties": {"a": {"type": "array", "items": inner}}})
    assert not is_strict({**inner, "required": []})
    assert not is_strict({**inner, "properties": {"a": {"type": "object"}}})
    assert not is_strict({"anyOf": [inner, {"type": "object", "additionalProperties": True}]})


def test_tokens_written_to_a_cache_are_told_apart() -> None:
    details = {"cached_tokens": 30, "cache_write_tokens": 500}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}
    body = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}], "usage": usage}
    answer = read_chat("k", body)
    assert answer.usage == TokenUsage(100, 30, 5, 70), "no more than there were"


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -1, "completion_tokens": 1}, {"prompt_tokens": 1.5}, 7])
def test_a_usage_that_makes_no_sense_is_not_known(usage: object) -> None:
    body = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}], "usage": usage}
    answer = read_chat("k", body)
    assert (answer.state, answer.usage_known) == (AnswerState.SUCCEEDED, False)
