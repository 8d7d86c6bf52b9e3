"""The client of every provider that speaks OpenAI's API."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ramet.llm.errors import Ambiguous, NotSent, ProviderError, Refused
from ramet.llm.providers.base import Answer, Capabilities, Gateway, Mode, Poll, PollState, Sending, Submission
from ramet.llm.providers.openai_answers import read_chat, read_embeddings, read_response
from ramet.llm.providers.openai_bodies import chat_body, embedding_body, other_limit_name, response_body
from ramet.llm.providers.openai_errors import Conflict, NotFound
from ramet.llm.providers.sdk_calls import AnswersAtOnce, Caller, Reply, submission
from ramet.llm.requests import Request

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
SECRET_CHARACTERS_MIN = 8
"""A shorter value of a header is hardly a secret, and would strike out words."""


class OpenAIClient(Caller):
    """OpenAI's SDK with our transport; see `Caller`."""

    def __init__(
        self,
        *,
        base_url: str | None,
        api_key: str | None,
        organization: str | None = None,
        strict: bool = False,
        gateway: Gateway | None = None,
    ) -> None:
        """Connect to nothing yet.

        Args:
            base_url: of a compatible server, ``http://localhost:8000/v1``; None: OpenAI itself.
            api_key: None for a server that asks for none.
            organization: OpenAI's, if the key belongs to several.
            strict: whether answers must be exactly what the SDK's types say; for tests.
            gateway: what it wants beside that.

        Raises:
            ExtraMissing, LlmError: as for `Caller`.
        """
        url = (base_url or OPENAI_URL).rstrip("/")
        gateway = gateway or Gateway()
        self._strict, self._secrets = strict, tuple(gateway.headers.values())
        super().__init__("openai", url, api_key)
        self.sdk: AsyncOpenAI = self._module.AsyncOpenAI(
            # The SDK insists on some key; servers that ask for none ignore it.
            api_key=api_key or "none",
            admin_api_key="",
            base_url=url,
            max_retries=0,
            http_client=self.http,
            default_headers=dict(gateway.headers),
            default_query=dict(gateway.query),
            _strict_response_validation=strict,
        )
        # The SDK fills these from the environment when they are not given.
        self.sdk.organization = organization
        self.sdk.project = None
        self.sdk._custom_headers = dict(gateway.headers)
        from ramet.llm.providers.http_calls import HttpCalls

        named = {"Authorization": f"Bearer {api_key or 'none'}"}
        if organization is not None:
            named["OpenAI-Organization"] = organization
        over = {name.lower() for name in gateway.headers}
        named = {name: value for name, value in named.items() if name.lower() not in over}
        self._calls = HttpCalls(url, {**named, **gateway.headers}, gateway.query)

    async def chat(self, body: Mapping[str, Any], *, seconds: float) -> Reply:
        """Ask for a chat completion, without the SDK, whose own work on a call costs more than all of ours.

        Raises:
            ProviderError: as for `Caller.ask`.
        """
        sending = Sending()
        async with self.translated(seconds, sending, submit=True):
            async with asyncio.timeout(seconds):
                answer = await self._calls.post("/chat/completions", body, sending)
            if not 200 <= answer.status < 300:
                raise self._fault(answer.status, answer.headers, _error_in(answer.content), submit=True, batch=False)
            found = answer.json()
            if not isinstance(found, dict):
                raise ValueError("the answer is not a JSON object")
            if self._strict:
                self._module.types.chat.ChatCompletion.model_validate(found)
            return Reply(found, self._rates(answer.headers))

    def _fault(
        self, status: int, headers: Mapping[str, str], body: object, *, submit: bool, batch: bool
    ) -> ProviderError:
        for secret in self._secrets:
            body = _without(body, secret)
        return super()._fault(status, headers, body, submit=submit, batch=batch)

    async def close(self) -> None:
        """Close the connections."""
        await self._calls.close()
        await super().close()

    def _read(self, raw: Any) -> Reply:
        reply = super()._read(raw)
        if self._strict:
            # Otherwise the SDK takes any shape, and stumbles over some of them with errors of Python's own.
            raw.parse()
        return reply


def _without(body: object, secret: str) -> object:
    """Return a server's words without the value of a header that it repeats."""
    if isinstance(body, str):
        return body.replace(secret, "***") if len(secret) >= SECRET_CHARACTERS_MIN else body
    if isinstance(body, dict):
        return {name: _without(part, secret) for name, part in body.items()}
    return body


def _error_in(content: bytes) -> object:
    """Return the ``error`` object of an answer other than 2xx, else its JSON, else its text."""
    try:
        found = json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
    return found.get("error", found) if isinstance(found, dict) else found


class OpenAIChat(AnswersAtOnce):
    """A provider in mode chat: see `AnswersAtOnce`."""

    name = "openai"
    calls = "chat completions"

    def __init__(self, client: OpenAIClient, *, limit_name: str = "max_completion_tokens") -> None:
        """Connect to nothing yet; `limit_name`: see `chat_body`."""
        self._client = client
        self._limit_name = limit_name
        self._limit_names: dict[str, str] = {}
        """Name of the limit by model, where a refusal asked for another."""

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """Ask, and bring the answer; see `Provider`. The submit key is sent nowhere."""
        (request,) = requests
        if request.endpoint == "embeddings":
            return await self._embed(request, submit_key, seconds)
        reply = await self._answered(request, time.monotonic() + seconds)
        answer = read_chat(request.key, reply.body)
        return submission(answer, reply, submit_key, self._client.host)

    async def _answered(self, request: Request, until: float) -> Reply:
        """Ask, and once more under the other name of the limit where the server refuses the first."""
        name = self._limit_names.get(request.model, self._limit_name)
        try:
            return await self._client.chat(chat_body(request, limit_name=name), seconds=until - time.monotonic())
        except Refused as error:
            other = other_limit_name(name, str(error))
            if other is None or name in request.parameters:
                raise
            # Refused by its form, so nothing was billed.
            body = chat_body(request, limit_name=other)
            try:
                reply = await self._client.chat(body, seconds=until - time.monotonic())
            except Refused:
                raise error from None
            self._limit_names[request.model] = other
            return reply

    async def _embed(self, request: Request, submit_key: str, seconds: float) -> Submission:
        body = embedding_body(request)

        async def call(times: Any) -> Any:
            return await self._client.sdk.embeddings.with_raw_response.create(
                model=body["model"], input=body["input"], encoding_format=body.get("encoding_format", "float"),
                extra_body=body, timeout=times,
            )  # fmt: skip

        reply = await self._client.ask(call, seconds=seconds, submit=True)
        return submission(read_embeddings(request.key, reply.body), reply, submit_key, self._client.host)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


BACKGROUND_CAPS = Capabilities(
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

    def __init__(self, client: OpenAIClient) -> None:
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
        """Return its state; once it ended, with its answer. See `Provider`."""
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
        """Yield the one answer, if it ended; its key is empty where the server keeps no metadata. See `Provider`."""
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
