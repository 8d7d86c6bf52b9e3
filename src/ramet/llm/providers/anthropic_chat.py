"""Anthropic's messages: one call, which answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramet.llm.providers.anthropic_answers import read_message
from ramet.llm.providers.anthropic_client import AnthropicClient
from ramet.llm.providers.anthropic_messages import message_body
from ramet.llm.providers.at_once import AnswersAtOnce, submission
from ramet.llm.providers.base import Submission
from ramet.llm.requests import Request


class AnthropicChat(AnswersAtOnce):
    """A provider in mode chat: see `AnswersAtOnce`."""

    name = "anthropic"
    calls = "messages"

    def __init__(self, client: AnthropicClient) -> None:
        """Connect to nothing yet."""
        self._client = client

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """Ask, and bring the answer; see `Provider`. The submit key is sent nowhere."""
        (request,) = requests
        body = message_body(request)
        model, messages, most = body.pop("model"), body.pop("messages"), body.pop("max_tokens")

        async def call(times: Any) -> Any:
            return await self._client.sdk.messages.with_raw_response.create(
                model=model, messages=messages, max_tokens=most, extra_body=body, timeout=times
            )

        reply = await self._client.ask(call, seconds=seconds, submit=True)
        return submission(read_message(request.key, reply.body), reply, submit_key, self._client.host)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
