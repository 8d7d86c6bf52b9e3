"""OpenAI's Responses API, asked in one call that answers: a provider in mode chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramet.llm.errors import Ambiguous, LlmError
from ramet.llm.providers.base import Submission
from ramet.llm.providers.openai_answers import read_response
from ramet.llm.providers.openai_bodies import response_body
from ramet.llm.providers.openai_calls import OpenAIClient
from ramet.llm.providers.registry import OPENAI_KEY
from ramet.llm.providers.sdk_calls import AnswersAtOnce, submission
from ramet.llm.requests import Request


class OpenAIResponses(AnswersAtOnce):
    """A provider in mode chat: see `AnswersAtOnce`. Nothing is stored at the provider."""

    name = "openai"
    calls = "responses"

    def __init__(self, client: OpenAIClient) -> None:
        """Connect to nothing yet."""
        self._client = client

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """Ask, and bring the answer; see `Provider`. The submit key is sent nowhere."""
        (request,) = requests
        body = response_body(request) | {"store": False}

        async def call(times: Any) -> Any:
            return await self._client.sdk.responses.with_raw_response.create(extra_body=body, timeout=times)

        reply = await self._client.ask(call, seconds=seconds, submit=True)
        if reply.body.get("status") in ("queued", "in_progress"):
            raise Ambiguous(f"{self._client.host} took the request on and did not answer it")
        answer = read_response(request.key, reply.body)
        return submission(answer, reply, submit_key, self._client.host)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def open_responses(base_url: str | None, api_key: str | None) -> OpenAIResponses:
    """Return the provider, ready for calls.

    Args:
        base_url: of a compatible server; None: OpenAI itself.
        api_key: None for a server that asks for none.

    Raises:
        ExtraMissing: the SDK is not installed.
        LlmError: the address is not valid, or a key is missing.
    """
    if base_url is None and not api_key:
        raise LlmError(f"OpenAI asks for a key: set {OPENAI_KEY}, or name another server with base_url")
    return OpenAIResponses(OpenAIClient(base_url=base_url, api_key=api_key))
