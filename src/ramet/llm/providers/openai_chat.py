"""Chat completions: one call, which answers. Every compatible server has them, local ones too."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ramet.llm.providers.at_once import AnswersAtOnce, submission
from ramet.llm.providers.base import Submission
from ramet.llm.providers.openai_answers import read_chat
from ramet.llm.providers.openai_bodies import chat_body
from ramet.llm.providers.openai_client import Client
from ramet.llm.requests import Request


class OpenAIChat(AnswersAtOnce):
    """A provider in mode chat: see `AnswersAtOnce`."""

    name = "openai"
    calls = "chat completions"

    def __init__(self, client: Client, *, limit_name: str = "max_completion_tokens") -> None:
        """Connect to nothing yet; `limit_name`: see `chat_body`."""
        self._client = client
        self._limit_name = limit_name

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """Ask, and bring the answer; see `Provider`. The submit key is sent nowhere."""
        (request,) = requests
        body = chat_body(request, limit_name=self._limit_name)
        messages = body.pop("messages")
        model = body.pop("model")

        async def call(times: Any) -> Any:
            return await self._client.sdk.chat.completions.with_raw_response.create(
                messages=messages, model=model, extra_body=body, timeout=times
            )

        reply = await self._client.ask(call, seconds=seconds, submit=True)
        answer = dataclasses.replace(read_chat(request.key, reply.body), key=request.key)
        return submission(answer, reply, submit_key, self._client.host)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
