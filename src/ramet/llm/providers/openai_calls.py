"""Responses in background mode: one call for each prompt, polled until it ends.

``store=True`` is always sent: without it OpenAI forgets a result after about ten minutes, paid as it is. There is no
list of responses, so an ambiguous submit cannot be looked up. Some compatible servers ignore ``background`` and answer
at once: then the submission brings the answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ramet.llm.errors import Ambiguous, NotSent
from ramet.llm.providers.base import Answer, Caps, Mode, Poll, PollState, Submission
from ramet.llm.providers.openai_answers import read_response
from ramet.llm.providers.openai_bodies import response_body
from ramet.llm.providers.openai_client import Client
from ramet.llm.providers.openai_errors import Conflict, NotFound
from ramet.llm.providers.sdk_calls import Reply
from ramet.llm.requests import Request

BACKGROUND_CAPS = Caps(
    items_max=1,
    bytes_max=32 * 1024 * 1024,
    window_seconds=86_400.0,
    can_cancel=True,
    can_find=False,
    discount=1.0,
    result_seconds=None,
)
KEY = "ramet_key"
SUBMIT_KEY = "ramet_submit"
"""Names in the metadata that travels with what was submitted."""

_LIVE = frozenset({"queued", "in_progress"})
_ENDED = frozenset({"completed", "failed", "incomplete", "cancelled"})


class OpenAIBackground:
    """A provider in mode background."""

    name = "openai"
    mode = Mode.BACKGROUND
    caps = BACKGROUND_CAPS

    def __init__(self, client: Client) -> None:
        """Connect to nothing yet."""
        self._client = client

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """Start one response; see `Provider`."""
        (request,) = requests
        body = response_body(request)
        body |= {"background": True, "store": True, "metadata": {SUBMIT_KEY: submit_key, KEY: request.key}}

        async def call(times: Any) -> Any:
            return await self._client.sdk.responses.with_raw_response.create(extra_body=body, timeout=times)

        reply = await self._client.ask(call, seconds=seconds, submit=True)
        remote_id, status = reply.body.get("id"), reply.body.get("status")
        if not isinstance(remote_id, str) or not remote_id or status not in _LIVE | _ENDED:
            raise Ambiguous(f"{self._client.host} took it, but does not say under what id or in what state")
        answer = read_response(request.key, reply.body) if status in _ENDED else None
        return Submission(remote_id, answer, reply.rates)

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        """Where it stands; once it ended, with its answer. See `Provider`."""
        try:
            reply = await self._retrieve(remote_id, seconds)
        except NotFound as error:
            return Poll(PollState.LOST, "not_found", error=str(error))
        status = reply.body.get("status")
        if status in _ENDED:
            answer = read_response(_key_of(reply.body), reply.body)
            return Poll(PollState.ENDED, status, 1, 1, error=answer.error, answer=answer, rates=reply.rates)
        if status not in _LIVE:
            raise NotSent(f"{self._client.host} does not say in what state {remote_id} is")
        return Poll(PollState.LIVE, status, 0, 1, rates=reply.rates)

    async def cancel(self, remote_id: str, *, seconds: float) -> None:
        """Stop it; one that ended already, or is not known, is as good as stopped. See `Provider`."""

        async def call(times: Any) -> Any:
            return await self._client.sdk.responses.with_raw_response.cancel(remote_id, timeout=times)

        try:
            await self._client.ask(call, seconds=seconds)
        except NotFound:
            return
        except Conflict:
            if (await self.poll(remote_id, seconds=seconds)).state is PollState.LIVE:
                raise

    async def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        """The one answer, if it ended; its key is known where the server keeps metadata, else empty. See `Provider`."""
        try:
            reply = await self._retrieve(remote_id, seconds)
        except NotFound as error:
            raise NotSent(str(error)) from None
        if reply.body.get("status") in _ENDED:
            yield read_response(_key_of(reply.body), reply.body)

    async def find(self, submit_key: str, *, seconds: float, submitted_at: float | None = None) -> str | None:
        """Not possible: the API has no list of responses."""
        raise NotImplementedError("background responses cannot be looked up")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _retrieve(self, remote_id: str, seconds: float) -> Reply:
        async def call(times: Any) -> Any:
            return await self._client.sdk.responses.with_raw_response.retrieve(remote_id, timeout=times)

        return await self._client.ask(call, seconds=seconds)


def _key_of(body: Mapping[str, Any]) -> str:
    metadata = body.get("metadata")
    key = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    return key if isinstance(key, str) else ""
