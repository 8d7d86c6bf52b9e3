"""Servers before a provider: each documented form of an address, its headers and query, and the name of the limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra [llm] is not installed")

from ramet.llm.errors import NotAllowed, ProviderError, Refused
from ramet.llm.providers.base import AnswerState, Gateway, Mode, Provider
from ramet.llm.providers.registry import open_provider
from ramet.llm.requests import Request
from tests.llm.providers.sample_requests import question
from tests.llm.providers.scripted_server import Call, Said, Scripted, scripted

pytestmark = pytest.mark.network

COMPLETION = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "so"}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
}  # fmt: skip
ROWS = [
    ("/openai/v1", {"api-key": "azure-secret"}, {"api-version": "preview"}, "max_completion_tokens"),
    ("/v1/projects/p/locations/global/endpoints/openapi", {}, {}, "max_tokens"),
    ("/openai/v1", {}, {}, "max_completion_tokens"),
    ("/v1beta/openai", {}, {}, "max_tokens"),
    ("/v1/account/gateway/compat", {"cf-aig-authorization": "Bearer cf-secret"}, {}, "max_completion_tokens"),
    ("/api/v1", {"HTTP-Referer": "https://example.org", "X-Title": "a job"}, {}, "max_tokens"),
]
"""Of the guide's table: Azure, Vertex AI, Bedrock, Gemini, Cloudflare, OpenRouter."""

Open = Callable[..., tuple[Provider, Scripted]]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens a provider on a server that answers by a script."""
    with ExitStack() as stack:

        def open_on(script: Callable[[Call], Said], path: str = "/v1", **gateway: Any) -> tuple[Provider, Scripted]:
            server = stack.enter_context(scripted(script))
            provider = open_provider(
                "openai", Mode.CHAT, base_url=server.url + path, api_key="sk-secret-key", gateway=Gateway(**gateway)
            )
            return provider, server

        yield open_on


async def ask(provider: Provider, request: Request | None = None) -> AnswerState:
    """The state of an answer."""
    sent = await provider.submit([request or question("why?")], submit_key="s", seconds=20)
    assert sent.answer is not None
    return sent.answer.state


@pytest.mark.parametrize(("path", "headers", "query", "limit_name"), ROWS)
async def test_each_documented_form_is_asked_at_its_address_with_what_it_wants(
    opened: Open, path: str, headers: dict[str, str], query: dict[str, str], limit_name: str
) -> None:
    provider, server = opened(
        lambda call: Said(200, COMPLETION), path, headers=headers, query=query, limit_name=limit_name
    )
    assert await ask(provider) is AnswerState.SUCCEEDED
    [call] = server.calls
    told = "".join(f"?{name}={value}" for name, value in query.items())
    assert call.path == f"{path}/chat/completions{told}"
    assert {name: call.headers[name.lower()] for name in headers} == headers
    assert call.headers["authorization"] == "Bearer sk-secret-key"
    assert [name for name in ("max_tokens", "max_completion_tokens") if name in call.body] == [limit_name]
    await provider.close()


async def test_a_header_of_the_gateways_goes_before_the_key(opened: Open) -> None:
    provider, server = opened(lambda call: Said(200, COMPLETION), headers={"authorization": "Basic abc"})
    await ask(provider)
    assert server.calls[0].headers["authorization"] == "Basic abc"
    await provider.close()


def picky(wants: str) -> Callable[[Call], Said]:
    """A model that takes one name of the limit."""

    def script(call: Call) -> Said:
        if wants in call.body:
            return Said(200, COMPLETION)
        [sent] = [name for name in ("max_tokens", "max_completion_tokens") if name in call.body]
        words = f"Unsupported parameter: '{sent}' is not supported with this model. Use '{wants}' instead."
        return Said(400, {"error": {"message": words, "code": "unsupported_parameter", "param": sent}})

    return script


async def test_the_name_of_the_limit_is_learned_from_a_refusal_once(opened: Open) -> None:
    provider, server = opened(picky("max_completion_tokens"))
    for _ in range(3):
        assert await ask(provider) is AnswerState.SUCCEEDED
    assert ["max_tokens" in call.body for call in server.calls] == [True, False, False, False]
    await provider.close()


async def test_a_refusal_under_both_names_is_told_as_it_was_first(opened: Open) -> None:
    def script(call: Call) -> Said:
        word = "max_tokens is too large" if "max_tokens" in call.body else "what is max_completion_tokens?"
        return Said(400, {"error": {"message": word, "code": "invalid_request"}})

    provider, server = opened(script)
    with pytest.raises(Refused, match="too large"):
        await ask(provider)
    assert len(server.calls) == 2
    await provider.close()


async def test_a_parameter_names_the_limit_and_may_not_raise_it(opened: Open) -> None:
    provider, server = opened(lambda call: Said(200, COMPLETION))
    fewer = question("why?", most=50, parameters={"max_completion_tokens": 20})
    await ask(provider, fewer)
    assert server.calls[0].body["max_completion_tokens"] == 20
    assert "max_tokens" not in server.calls[0].body
    with pytest.raises(Refused, match="at most 50"):
        await ask(provider, question("why?", most=50, parameters={"max_completion_tokens": 51}))
    await provider.close()


async def test_the_value_of_a_header_is_repeated_nowhere(opened: Open) -> None:
    def script(call: Call) -> Said:
        return Said(404, {"error": {"message": f"no model for {call.headers['api-key']}", "code": "model_not_found"}})

    provider, _ = opened(script, headers={"api-key": "azure-secret"})
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    assert isinstance(caught.value, NotAllowed)
    assert "azure-secret" not in str(caught.value)
    assert "azure-secret" not in repr(Gateway(headers={"api-key": "azure-secret"}))
    await provider.close()
