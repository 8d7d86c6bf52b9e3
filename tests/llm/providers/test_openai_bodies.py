"""A request in OpenAI's terms, in both of its APIs."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.llm.errors import Refused
from ramet.llm.providers.base import Mode
from ramet.llm.providers.openai_bodies import chat_body, response_body
from ramet.llm.providers.registry import check_request, open_provider
from ramet.llm.requests import Request
from ramet.llm.testing.server import StandIn
from tests.llm.providers.sample_requests import question

TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}


def test_a_chat_body_is_the_request_in_its_own_words() -> None:
    asked = question("hello", most=7, parameters={"temperature": 0.5, "stop": ["x"], "seed": 3, "top_k": 5})
    assert chat_body(asked, limit_name="max_tokens") == {
        "model": asked.model,
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 7,
        "temperature": 0.5,
        "stop": ["x"],
        "seed": 3,
        "top_k": 5,
    }


def test_parts_and_tools_are_written_as_the_other_api_writes_them() -> None:
    messages = (
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "what is this?"}, IMAGE]},
        {"role": "assistant", "content": [{"type": "text", "text": "a dot"}]},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": "data:x"}, {"type": "input_text", "text": "?"}],
        },
    )
    choice = {"type": "function", "function": {"name": "look_up"}}
    body = response_body(Request("k", "m", messages, 9, {"tools": [TOOL], "tool_choice": choice}))
    assert body["input"] == [
        {"role": "system", "content": "be brief"},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "what is this?"},
                {"type": "input_image", "detail": "low", "image_url": "data:image/png;base64,AAAA"},
            ],
        },
        {"role": "assistant", "content": [{"type": "output_text", "text": "a dot"}]},
        {
            "role": "user",
            "content": [
                {"type": "input_image", "detail": "auto", "image_url": "data:x"},
                {"type": "input_text", "text": "?"},
            ],
        },
    ]
    assert body["tools"] == [{"type": "function", "name": "look_up", "parameters": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "function", "name": "look_up"}


@pytest.mark.parametrize(
    "parameters",
    [
        {"stream": True},
        {"max_tokens": 10_000},
        {"model": "another"},
        {"background": True},
        {"service_tier": "fast"},
        {"service_tier": ["flex"]},
        {"tools": [{"type": "web_search"}]},
        {"tools": "all"},
        {"tools": [7]},
        {"previous_response_id": "resp_1"},
        {"prediction": {"type": "content"}},
    ],
)
@pytest.mark.parametrize("mode", list(Mode))
def test_what_would_cost_more_than_was_reserved_is_refused_in_every_mode(
    mode: Mode, parameters: dict[str, Any]
) -> None:
    with pytest.raises(Refused) as caught:
        check_request("openai", mode, question("hello", parameters=parameters))
    assert caught.value.code == "invalid_parameter"


@pytest.mark.parametrize("parameters", [{"service_tier": "flex"}, {"tools": [TOOL]}, {"top_p": 1}, {}])
@pytest.mark.parametrize("mode", list(Mode))
def test_what_costs_no_more_is_sent_on(mode: Mode, parameters: dict[str, Any]) -> None:
    check_request("openai", mode, question("hello", parameters=parameters))


def test_what_only_one_api_has_is_refused_by_the_other() -> None:
    asked = question("hello", parameters={"stop": "x"})
    check_request("openai", Mode.CHAT, asked)
    check_request("openai", Mode.BATCH, asked)
    with pytest.raises(Refused, match="'stop'"):
        check_request("openai", Mode.BACKGROUND, asked)


def test_each_vendor_checks_for_itself() -> None:
    pytest.importorskip("anthropic", reason="the extra [anthropic] is not installed")
    asked = question("hello", parameters={"logit_bias": {"1": 5}})
    check_request("openai", Mode.BATCH, asked)
    with pytest.raises(Refused, match="logit_bias"):
        check_request("anthropic", Mode.BATCH, asked)


@pytest.mark.network
async def test_a_server_of_ones_own_is_told_the_limit_by_the_older_name(standin: StandIn) -> None:
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    from ramet.llm.providers.registry import _limit_name

    assert _limit_name(standin.url) == "max_tokens"
    for url in (None, "https://api.openai.com/v1", "https://mine.openai.azure.com/openai/v1"):
        assert _limit_name(url) == "max_completion_tokens"
    assert _limit_name("https://api.openai.com.example.org/v1") == "max_tokens"
    provider = open_provider("openai", Mode.CHAT, base_url=standin.url)
    submission = await provider.submit([question("a long tale, please", most=2)], submit_key="s", seconds=10)
    await provider.close()
    assert submission.answer is not None
    assert submission.answer.usage.output_tokens == 2, "it was told the limit"
