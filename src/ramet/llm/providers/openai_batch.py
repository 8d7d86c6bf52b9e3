"""OpenAI's Batch API: a file of requests, answered within 24 hours at half the price.

Its lines ask for chat completions by default: all compatible servers with batches have these, they take
``stop`` and ``seed`` as well, and one body then serves a local server and a batch. ``/v1/responses`` is the choice for
models that have nothing else.

The batch carries the submit key in its metadata, so that one whose submit was ambiguous is found in the list. A file
that was uploaded for nothing costs nothing and expires at OpenAI after 30 days.
"""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, BinaryIO

from ramet import own_logger
from ramet.llm.errors import Ambiguous, NotAllowed, NotSent
from ramet.llm.providers.base import Answer, Capabilities, Mode, Poll, PollState, Submission
from ramet.llm.providers.openai_batch_lines import (
    CHAT_ENDPOINT,
    EMBEDDINGS_ENDPOINT,
    lines_of,
    problem_of,
    read_line,
    write_lines,
)
from ramet.llm.providers.openai_calls import SUBMIT_KEY, OpenAIClient
from ramet.llm.providers.openai_errors import Conflict, NotFound
from ramet.llm.providers.sdk_calls import Reply
from ramet.llm.requests import Request

BATCH_CAPS = Capabilities(
    items_max=50_000,
    bytes_max=200_000_000,
    window_seconds=86_400.0,
    can_cancel=True,
    can_find=True,
    discount=0.5,
    result_seconds=None,
)
FIND_SECONDS = 4 * 86_400.0
"""Batches that are older are not looked at for one whose submit was ambiguous: no job lives so long."""
PAGE = 100

logger = own_logger(__name__)

_LIVE = frozenset({"validating", "in_progress", "finalizing", "cancelling"})
_ENDED = frozenset({"completed", "expired", "cancelled"})


class OpenAIBatch:
    """A provider in mode batch."""

    name = "openai"
    mode = Mode.BATCH

    def __init__(
        self, client: OpenAIClient, *, endpoint: str = CHAT_ENDPOINT, limit_name: str = "max_completion_tokens"
    ) -> None:
        """Connect to nothing yet; `endpoint`: which API the lines ask, `limit_name`: see `chat_body`."""
        self.caps = BATCH_CAPS
        self._client = client
        self._endpoint = endpoint
        self._limit_name = limit_name

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """Upload the requests, and create a batch of them. Only the creation can be ambiguous. See `Provider`."""
        until = time.monotonic() + seconds
        with tempfile.TemporaryFile(prefix="ramet-batch-") as file:
            await asyncio.to_thread(write_lines, requests, file, self._endpoint, self._limit_name, self.caps.bytes_max)
            file.seek(0)
            file_id = await self._upload(file, submit_key, until - time.monotonic())

        endpoint = EMBEDDINGS_ENDPOINT if requests[0].endpoint == "embeddings" else self._endpoint

        async def create(times: Any) -> Any:
            return await self._client.sdk.batches.with_raw_response.create(
                completion_window="24h",
                endpoint=endpoint,  # type: ignore[arg-type]
                input_file_id=file_id,
                metadata={SUBMIT_KEY: submit_key},
                timeout=times,
            )

        reply = await self._client.ask(create, seconds=until - time.monotonic(), submit=True, batch=True)
        remote_id = reply.body.get("id")
        if not isinstance(remote_id, str) or not remote_id:
            raise Ambiguous(f"{self._client.host} took the batch, but does not say under what id")
        metadata = reply.body.get("metadata")
        if not isinstance(metadata, Mapping) or metadata.get(SUBMIT_KEY) != submit_key:
            logger.warning("%s keeps no metadata: ambiguous submits cannot be looked up there", self._client.host)
            self.caps = dataclasses.replace(self.caps, can_find=False)
        return Submission(remote_id, rates=reply.rates)

    async def _upload(self, file: BinaryIO, submit_key: str, seconds: float) -> str:
        async def call(times: Any) -> Any:
            return await self._client.sdk.files.with_raw_response.create(
                file=(f"ramet-{submit_key}.jsonl", file, "application/jsonl"), purpose="batch", timeout=times
            )

        try:
            reply = await self._client.ask(call, seconds=seconds, submit=True)
        except Ambiguous as error:
            # A file that may lie there is no batch: nothing was taken on.
            raise NotSent(str(error)) from None
        file_id = reply.body.get("id")
        if not isinstance(file_id, str) or not file_id:
            raise NotSent(f"{self._client.host} took the file, but does not say under what id")
        return file_id

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        """Return its state. Of a batch that failed, the error begins with the provider's code. See `Provider`."""
        try:
            reply = await self._retrieve(remote_id, seconds)
        except NotFound as error:
            return Poll(PollState.LOST, "not_found", error=str(error))
        status = reply.body.get("status")
        done, total = _counts(reply.body.get("request_counts"))
        if status == "failed":
            words, meaning = problem_of(reply.body)
            return Poll(PollState.FAILED, status, done, total, error=words, meaning=meaning, rates=reply.rates)
        if status in _ENDED:
            return Poll(PollState.ENDED, status, done, total, rates=reply.rates)
        if status not in _LIVE:
            raise NotSent(f"{self._client.host} does not say in what state {remote_id} is")
        return Poll(PollState.LIVE, status, done, total, rates=reply.rates)

    async def cancel(self, remote_id: str, *, seconds: float) -> None:
        """Stop it; one that ended already, or is not known, is as good as stopped. See `Provider`."""

        async def call(times: Any) -> Any:
            return await self._client.sdk.batches.with_raw_response.cancel(remote_id, timeout=times)

        try:
            await self._client.ask(call, seconds=seconds)
        except NotFound:
            return
        except Conflict:
            poll = await self.poll(remote_id, seconds=seconds)
            if poll.state is PollState.LIVE and poll.provider_state != "cancelling":
                raise

    async def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        """Yield the lines of its output file, then those of its error file. See `Provider`."""
        try:
            reply = await self._retrieve(remote_id, seconds)
            for name in ("output_file_id", "error_file_id"):
                file_id = reply.body.get(name)
                if isinstance(file_id, str) and file_id:
                    async for line in lines_of(self._content(file_id, seconds)):
                        answer = read_line(line) if line.strip() else None
                        if answer is not None:
                            yield answer
        except NotFound as error:
            raise NotSent(str(error)) from None

    async def find(self, submit_key: str, *, seconds: float, submitted_at: float | None = None) -> str | None:
        """Return the newest batch with that key in its metadata. See `Provider`.

        On a server that was seen not to keep metadata this is not possible, and `caps` says so.
        """
        if not self.caps.can_find:
            raise NotImplementedError(f"{self._client.host} keeps no metadata to look batches up by")
        until = time.monotonic() + seconds
        oldest = time.time() - FIND_SECONDS
        after: str | None = None
        while True:
            try:
                reply = await self._page(after, until - time.monotonic())
            except NotFound as error:
                raise NotAllowed(f"{self._client.host} has no list of batches to look into: {error}") from None
            page = reply.body.get("data")
            if not isinstance(page, list):
                raise NotSent(f"{self._client.host} gave a list of batches that is none")
            batches = [batch for batch in page if isinstance(batch, dict)]
            for batch in batches:
                metadata = batch.get("metadata")
                if isinstance(metadata, dict) and metadata.get(SUBMIT_KEY) == submit_key:
                    return str(batch.get("id"))
            last = str(batches[-1].get("id")) if batches else after
            old = any(_is_number(batch.get("created_at")) and batch["created_at"] < oldest for batch in batches)
            if not reply.body.get("has_more") or old or last == after:
                return None
            after = last

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _content(self, file_id: str, seconds: float) -> AsyncIterator[bytes]:
        """Yield a file's bytes as they come."""
        async with (
            self._client.translated(seconds) as times,
            self._client.sdk.files.with_streaming_response.content(file_id, timeout=times) as response,
        ):
            async for part in response.iter_bytes():
                yield part

    async def _page(self, after: str | None, seconds: float) -> Reply:
        async def call(times: Any) -> Any:
            listed = self._client.sdk.batches.with_raw_response.list
            if after is None:
                return await listed(limit=PAGE, timeout=times)
            return await listed(limit=PAGE, after=after, timeout=times)

        return await self._client.ask(call, seconds=seconds)

    async def _retrieve(self, remote_id: str, seconds: float) -> Reply:
        async def call(times: Any) -> Any:
            return await self._client.sdk.batches.with_raw_response.retrieve(remote_id, timeout=times)

        return await self._client.ask(call, seconds=seconds)


def _counts(told: object) -> tuple[int, int]:
    """Return (requests with an outcome, all of them), 0 where the provider does not say."""
    if not isinstance(told, Mapping):
        return 0, 0
    completed, failed, total = (told.get(name) for name in ("completed", "failed", "total"))
    done = sum(count for count in (completed, failed) if type(count) is int)
    return done, total if type(total) is int else 0


def _is_number(value: object) -> bool:
    return type(value) in (int, float)
