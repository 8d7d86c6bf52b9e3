"""Nothing that was paid is dropped: what providers answer beside the text, in one form whoever answered."""

from __future__ import annotations

from typing import Any

from ramet.llm.providers.anthropic_client import read_message
from ramet.llm.providers.anthropic_messages import message_body
from ramet.llm.providers.base import Answer, AnswerState, TokenUsage
from ramet.llm.providers.openai_answers import read_chat, read_embeddings, read_response
from ramet.llm.providers.openai_bodies import response_body
from ramet.llm.requests import Request

CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "owl"}'}}
USAGE = {"prompt_tokens": 5, "completion_tokens": 7}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "Which owl?"},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL, {**CALL, "id": "c2"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "the barn owl"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "the tawny owl"}]},
]


def choice(text: str | None, **more: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text, **more}, "finish_reason": "stop", "index": 0}


def test_a_chat_completion_with_everything() -> None:
    logprobs = {"content": [{"token": "a", "logprob": -0.1}]}
    body = {
        "id": "x",
        "model": "m",
        "usage": USAGE,
        "choices": [
            {**choice(None, tool_calls=[CALL], reasoning_content="hm"), "finish_reason": "tool_calls"},
            {**choice("another"), "logprobs": logprobs},
        ],
    }
    answer = read_chat("k", body)
    assert answer.details() == {
        "finish_reason": "tool_calls",
        "reasoning": "hm",
        "tool_calls": [CALL],
        "choices": [{"text": "another", "finish_reason": "stop", "logprobs": logprobs}],
    }
    assert answer.body == body


def test_a_response_with_everything() -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "so", "logprobs": [{"token": "so"}]}]},
        {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"word": "owl"}'},
    ]
    usage = {"input_tokens": 5, "output_tokens": 7}
    answer = read_response("k", {"id": "x", "status": "completed", "output": output, "usage": usage})
    assert answer.text == "so"
    assert answer.details() == {
        "finish_reason": "completed",
        "reasoning": "hm",
        "tool_calls": [CALL],
        "logprobs": [{"token": "so"}],
    }


def test_a_message_with_everything() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"word": "owl"}},
    ]
    usage = {"input_tokens": 5, "output_tokens": 7}
    answer = read_message("k", {"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage})
    assert answer.text == "so"
    assert answer.details() == {"finish_reason": "tool_use", "reasoning": "hm", "tool_calls": [CALL]}
    refused = {"type": "message", "content": [], "stop_reason": "refusal", "stop_details": {"category": "cyber"}}
    told = read_message("k", {**refused, "usage": usage})
    assert (told.state, told.code, told.error) == (
        AnswerState.INCOMPLETE,
        "refusal",
        "the model refused to answer (cyber)",
    )


def test_sound_is_counted_by_itself() -> None:
    usage = {**USAGE, "prompt_tokens_details": {"audio_tokens": 4}}
    assert read_chat("k", {"choices": [choice("so")], "usage": usage}).usage == TokenUsage(5, 0, 7, 0, 4)


def test_vectors_come_by_the_place_of_their_text() -> None:
    data = [{"index": 1, "embedding": [0.2]}, {"index": 0, "embedding": [0.1]}]
    answer = read_embeddings("k", {"object": "list", "data": data, "usage": {"prompt_tokens": 3, "total_tokens": 3}})
    assert (answer.embedding, answer.usage) == ([[0.1], [0.2]], TokenUsage(3))
    one = read_embeddings("k", {"object": "list", "data": data[:1]})
    assert (one.embedding, one.usage_known) == ([0.2], False)
    assert read_embeddings("k", {"object": "list", "data": []}).code == "unreadable"


def test_an_answer_of_words_alone_has_no_details_but_why_it_stopped() -> None:
    assert Answer("k", AnswerState.SUCCEEDED, "so").details() == {}
    assert read_chat("k", {"choices": [choice("so")], "usage": USAGE}).details() == {"finish_reason": "stop"}


def test_calls_of_tools_are_told_in_each_providers_form() -> None:
    request = Request.of("m", CONVERSATION, 5)
    asked, calls, results = message_body(request)["messages"]
    used = {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"word": "owl"}}
    assert asked == CONVERSATION[0]
    assert calls == {"role": "assistant", "content": [{"type": "text", "text": "I look."}, used, {**used, "id": "c2"}]}
    assert results["role"] == "user"
    assert [part["tool_use_id"] for part in results["content"]] == ["c1", "c2"]
    items = response_body(request)["input"]
    assert [item.get("type", item.get("role")) for item in items] == [
        "user", "assistant", "function_call", "function_call", "function_call_output", "function_call_output",
    ]  # fmt: skip
    assert items[-1] == {"type": "function_call_output", "call_id": "c2", "output": "the tawny owl"}
