"""Anthropic's messages: one call, which answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from ramet.pipelines.llm.errors import Ambiguous
from ramet.pipelines.llm.providers.anthropic_answers import read_message
from ramet.pipelines.llm.providers.anthropic_bodies import message_body
from ramet.pipelines.llm.providers.anthropic_client import AnthropicClient
from ramet.pipelines.llm.providers.base import CHAT_CAPS, Answer, AnswerState, Mode, Poll, PollState, Submission
from ramet.pipelines.llm.providers.openai_answers import UNREADABLE
from ramet.pipelines.llm.requests import Request


class AnthropicChat:
    """A provider in mode chat. Nothing is kept at the provider, so there is nothing to poll, cancel or find.

    A call whose connection breaks may have been answered and billed: that is `Ambiguous`, and stays so.
    """

    name = "anthropic"
    mode = Mode.CHAT
    caps = CHAT_CAPS

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
        answer = read_message(request.key, reply.body)
        if answer.state is AnswerState.FAILED and answer.code == UNREADABLE:
            raise Ambiguous(f"{self._client.host} answered, but {answer.error}")
        return Submission(answer.response_id or submit_key, answer, reply.rates)

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        """An answered call is not kept: it is lost to whoever did not read it."""
        return Poll(PollState.LOST, "unknown", error="messages are not kept at the provider")

    async def cancel(self, remote_id: str, *, seconds: float) -> None:
        """Nothing is running once the call is over."""

    async def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        """None: the submit brought it."""
        nothing: tuple[Answer, ...] = ()
        for answer in nothing:
            yield answer

    async def find(self, submit_key: str, *, seconds: float, submitted_at: float | None = None) -> str | None:
        """Not possible."""
        raise NotImplementedError("messages cannot be looked up")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
