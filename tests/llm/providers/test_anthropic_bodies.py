"""A request in Anthropic's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ramet.llm.errors import Refused
from ramet.llm.providers.anthropic_messages import message_body
from ramet.llm.requests import Request

pytest.importorskip("anthropic", reason="the extra [anthropic] is not installed")
TOOL = {"name": "look", "input_schema": {"type": "object"}}


def request(*messages: Mapping[str, Any], schema: Mapping[str, Any] | None = None, **parameters: Any) -> Request:
    asked = messages or ({"role": "user", "content": "hello"},)
    return Request("0" * 64, "claude-sonnet-4-6", tuple(asked), 50, parameters, schema)


def test_system_messages_become_the_system_prompt_in_their_order() -> None:
    one, two, said = ({"role": role, "content": role} for role in ("system", "developer", "user"))
    assert message_body(request(one, said))["system"] == "system"
    body = message_body(request(one, two, said))
    assert body["system"] == [{"type": "text", "text": "system"}, {"type": "text", "text": "developer"}]
    assert body["messages"] == [said]
    assert (body["model"], body["max_tokens"]) == ("claude-sonnet-4-6", 50)


@pytest.mark.parametrize(
    ("image", "source"),
    [
        ({"url": "https://e.example/a.png"}, {"type": "url", "url": "https://e.example/a.png"}),
        ("data:image/png;base64,QUJD", {"type": "base64", "media_type": "image/png", "data": "QUJD"}),
    ],
)
def test_an_image_is_taken_in_the_form_of_openai(image: object, source: object) -> None:
    text = {"type": "text", "text": "what is this?"}
    asked = {"role": "user", "content": [text, {"type": "image_url", "image_url": image}]}
    assert message_body(request(asked))["messages"][0]["content"] == [text, {"type": "image", "source": source}]


@pytest.mark.parametrize(
    ("parameters", "sent"),
    [
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"stop": ["A", "B"]}, {"stop_sequences": ["A", "B"]}),
        ({"temperature": 0, "top_p": 0.5, "top_k": 3}, {"temperature": 0, "top_p": 0.5, "top_k": 3}),
        ({"reasoning_effort": "low"}, {"output_config": {"effort": "low"}}),
        ({"tools": [TOOL], "tool_choice": "required"}, {"tools": [TOOL], "tool_choice": {"type": "any"}}),
        (
            {"tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]},
            {"tools": [TOOL]},
        ),
        (
            {"tool_choice": {"type": "function", "function": {"name": "look"}}},
            {"tool_choice": {"type": "tool", "name": "look"}},
        ),
        ({"cache_control": {"type": "ephemeral"}}, {"cache_control": {"type": "ephemeral"}}),
    ],
)
def test_parameters_are_sent_under_anthropics_names(parameters: dict[str, Any], sent: dict[str, Any]) -> None:
    body = message_body(request(**parameters))
    assert {name: body[name] for name in body.keys() - {"model", "max_tokens", "messages"}} == sent


@pytest.mark.parametrize(
    "parameters",
    [
        {"n": 2},
        {"seed": 1},
        {"stream": True},
        {"max_tokens": 10**6},
        {"service_tier": "auto"},
        {"speed": "fast"},
        {"inference_geo": "us"},
        {"reasoning_effort": "minimal"},
        {"tool_choice": "perhaps"},
        {"tools": "look"},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"tools": [{**TOOL, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
    ],
    ids=str,
)
def test_what_is_unknown_or_paid_on_top_is_refused_before_it_is_sent(parameters: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        message_body(request(**parameters))
    assert refused.value.code == "invalid_parameter"


def test_a_cache_that_is_paid_on_top_is_refused_within_a_message() -> None:
    part = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    with pytest.raises(Refused, match="5 minutes"):
        message_body(request({"role": "user", "content": [part]}))


def test_a_schema_is_sent_as_structured_output_in_the_form_that_the_sdk_makes_of_it() -> None:
    schema = {
        "type": "object",
        "properties": {"size": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["size"],
    }
    config = message_body(request(schema=schema, reasoning_effort="high"))["output_config"]
    assert config["effort"] == "high"
    sent = config["format"]["schema"]
    assert config["format"]["type"] == "json_schema"
    assert sent["additionalProperties"] is False
    assert "minimum" not in sent["properties"]["size"]
    assert schema["properties"] == {"size": {"type": "integer", "minimum": 1, "maximum": 9}}, "the request was changed"


def test_a_schema_that_the_sdk_cannot_change_is_sent_as_it_is() -> None:
    schema: dict[str, Any] = {"properties": {"size": {}}}
    assert message_body(request(schema=schema))["output_config"]["format"]["schema"] == schema


def test_a_system_prompt_takes_nothing_but_text() -> None:
    image = {"role": "system", "content": [{"type": "image_url", "image_url": "https://e.example/a.png"}]}
    with pytest.raises(Refused, match="text"):
        message_body(request(image, {"role": "user", "content": "hello"}))
