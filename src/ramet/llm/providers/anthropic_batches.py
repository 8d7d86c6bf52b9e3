"""The ``custom_id`` of a batch's requests: what was asked, and under what submit key.

Anthropic keeps no metadata with a batch, and shows no more of it than these names, in its results. They have 64
characters of ``A-Z a-z 0-9 - _`` at most: 43 carry the request's key, 21 a digest of the submit key.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import re
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, BinaryIO

from ramet import own_logger
from ramet.llm.errors import Ambiguous, NotSent, Refused
from ramet.llm.providers.anthropic_client import AnthropicClient, read_result
from ramet.llm.providers.anthropic_messages import message_body
from ramet.llm.providers.base import Answer, Capabilities, Mode, Poll, PollState, Submission
from ramet.llm.providers.openai_batch_lines import lines_of
from ramet.llm.providers.openai_errors import Conflict, NotFound
from ramet.llm.requests import Request, canonical

KEY_CHARACTERS = 43
MARK_CHARACTERS = 21
_KEY = re.compile(r"[0-9a-f]{64}")
_CUSTOM_ID = re.compile(r"[A-Za-z0-9_-]{64}")


def mark_of(submit_key: str) -> str:
    """Return the mark of a submit key: always the same, 126 bits."""
    return _text(hashlib.sha256(submit_key.encode()).digest())[:MARK_CHARACTERS]


def name_of(key: str, mark: str) -> str:
    """Return the ``custom_id`` of a request.

    Raises:
        Refused: the key is not 64 hexadecimal digits.
    """
    if _KEY.fullmatch(key) is None:
        raise Refused("the request's key is not 64 hexadecimal digits", "invalid_key")
    return _text(bytes.fromhex(key)) + mark


def read_name(name: object) -> tuple[str, str] | None:
    """Return the key and the mark in a ``custom_id``; None for one that is not ours."""
    if not isinstance(name, str) or _CUSTOM_ID.fullmatch(name) is None:
        return None
    try:
        key = base64.urlsafe_b64decode(name[:KEY_CHARACTERS] + "=")
    except binascii.Error:
        return None
    return key.hex(), name[KEY_CHARACTERS:]


def _text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


logger = own_logger(__name__)

BATCH_CAPS = Capabilities(
    items_max=100_000,
    bytes_max=240_000_000,
    window_seconds=86_400.0,
    can_cancel=True,
    can_find=True,
    discount=0.5,
    result_seconds=None,
)
SUBMIT_BYTES_MAX = 256_000_000
"""Limit of Anthropic; the capabilities leave room for what is around a request in a batch."""
PART_BYTES = 256 * 1024
PATH = "/v1/messages/batches"
PAGE = 1000
MARKS_MAX = 10_000
"""Batches whose mark is remembered."""
BEFORE_SECONDS = 900.0
AFTER_SECONDS = 3_600.0
"""Largest difference between the provider's time of a batch's creation and the start of its submit here."""
_NAME = re.compile(rb'"custom_id"\s*:\s*"([0-9A-Za-z_-]{1,64})"')
_LIVE = frozenset({"in_progress", "canceling"})
_ENDED = "ended"


class AnthropicBatches:
    """A provider in mode batch."""

    name = "anthropic"
    mode = Mode.BATCH
    caps = BATCH_CAPS

    def __init__(self, client: AnthropicClient) -> None:
        """Connect to nothing yet."""
        self._client = client
        self._marks: dict[str, str] = {}

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """Create one batch, in one call; see `Provider`."""
        mark, until = mark_of(submit_key), time.monotonic() + seconds
        with tempfile.TemporaryFile(prefix="ramet-batch-") as file:
            size = await asyncio.to_thread(_write, file, requests, mark)

            async def call(times: Any) -> Any:
                # Not `batches.create`: that would hold several copies of every request in memory.
                headers = {"Content-Type": "application/json", "Content-Length": str(size), **_RAW}
                options: Any = {"headers": headers, "timeout": times}
                return await self._client.sdk.post(PATH, content=_parts(file), cast_to=object, options=options)

            reply = await self._client.ask(call, seconds=until - time.monotonic(), submit=True, batch=True)
        remote_id = reply.body.get("id")
        if not isinstance(remote_id, str) or not remote_id:
            raise Ambiguous(f"{self._client.host} took the batch, but does not say under what id")
        self._remember(remote_id, mark)
        return Submission(remote_id, rates=reply.rates)

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        """Return its state; see `Provider`. One whose results are archived is lost."""

        async def call(times: Any) -> Any:
            return await self._client.sdk.messages.batches.with_raw_response.retrieve(remote_id, timeout=times)

        try:
            reply = await self._client.ask(call, seconds=seconds)
        except NotFound as error:
            return Poll(PollState.LOST, "not_found", error=str(error))
        state, counts = reply.body.get("processing_status"), reply.body.get("request_counts")
        if reply.body.get("archived_at"):
            return Poll(PollState.LOST, "archived", error="the provider has deleted the batch's results")
        if state not in _LIVE and state != _ENDED:
            raise NotSent(f"{self._client.host} does not say in what state {remote_id} is")
        told = counts if isinstance(counts, Mapping) else {}
        numbers = {name: number for name, number in told.items() if type(number) is int}
        total = sum(numbers.values())
        done = total - numbers.get("processing", 0)
        return Poll(PollState.ENDED if state == _ENDED else PollState.LIVE, state, done, total, rates=reply.rates)

    async def cancel(self, remote_id: str, *, seconds: float) -> None:
        """Stop what has not begun; see `Provider`."""

        async def call(times: Any) -> Any:
            return await self._client.sdk.messages.batches.with_raw_response.cancel(remote_id, timeout=times)

        try:
            await self._client.ask(call, seconds=seconds)
        except NotFound:
            return
        except Conflict:
            if (await self.poll(remote_id, seconds=seconds)).state is PollState.LIVE:
                raise

    async def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        """One for each request, in any order; see `Provider`.

        They are read from the batch's own address, never from the ``results_url`` that an answer names: the key must
        not go to another host.
        """
        async with aclosing(self._lines(remote_id, seconds)) as lines:
            async for name, result in lines:
                found = read_name(name)
                if found is None:
                    logger.warning("a result of %s has no custom_id of ours: it is left out", remote_id)
                else:
                    yield read_result(found[0], result)

    async def find(self, submit_key: str, *, seconds: float, submitted_at: float | None = None) -> str | None:
        """Return the batch that was submitted under a key; see `Provider`.

        Args:
            submit_key: which.
            seconds: for all calls together. Batches that were read in vain are remembered.
            submitted_at: when its submit began (seconds since 1970), which spares looking at all other batches.

        Raises:
            NotSent: it cannot be known before the batches end that still run; besides what `poll` raises.
        """
        mark, undecided = mark_of(submit_key), 0
        try:
            async with asyncio.timeout(seconds), aclosing(self._listed(seconds, submitted_at)) as batches:
                async for remote_id, ended in batches:
                    if remote_id not in self._marks and ended:
                        self._remember(remote_id, await self._first_mark(remote_id, seconds))
                    if self._marks.get(remote_id) == mark:
                        return remote_id
                    undecided += remote_id not in self._marks
        except TimeoutError:
            raise NotSent(f"there was no time to look at all batches of {self._client.host}") from None
        if undecided:
            raise NotSent(f"{undecided} batches still run that may be the one: what is in them shows when they end")
        return None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _remember(self, remote_id: str, mark: str) -> None:
        if len(self._marks) >= MARKS_MAX:
            del self._marks[next(iter(self._marks))]
        self._marks[remote_id] = mark

    async def _listed(self, seconds: float, submitted_at: float | None) -> AsyncGenerator[tuple[str, bool], None]:
        """Yield the id of every batch that may be the one, the newest first, and whether it has ended."""
        after: dict[str, Any] = {}
        while True:

            async def call(times: Any, after: Mapping[str, Any] = after) -> Any:
                listed = self._client.sdk.messages.batches.with_raw_response.list
                return await listed(limit=PAGE, timeout=times, **after)

            page = (await self._client.ask(call, seconds=seconds)).body
            batches = [batch for batch in page.get("data") or () if isinstance(batch, Mapping)]
            for batch in batches:
                late = 0.0 if submitted_at is None else _moment(batch.get("created_at")) - submitted_at
                if late < -BEFORE_SECONDS:
                    return
                if late <= AFTER_SECONDS and not batch.get("archived_at"):
                    yield str(batch.get("id")), batch.get("processing_status") == _ENDED
            if not page.get("has_more") or not batches:
                return
            last = {"after_id": batches[-1].get("id")}
            if last == after:
                raise NotSent(f"{self._client.host} lists the same batches again and again")
            after = last

    async def _first_mark(self, remote_id: str, seconds: float) -> str:
        """Return the mark in the first result of a batch that ended; empty where it is none of ours."""
        async with aclosing(self._lines(remote_id, seconds)) as lines:
            async for name, _ in lines:
                found = read_name(name)
                return "" if found is None else found[1]
        return ""

    async def _lines(self, remote_id: str, seconds: float) -> AsyncGenerator[tuple[object, object], None]:
        """``custom_id`` and ``result`` of each line of a batch's results."""
        try:
            async with self._client.translated(seconds) as times:
                options: Any = {"headers": {"Accept": "application/x-jsonl", **_STREAMED}, "timeout": times}
                answer: Any = await self._client.sdk.get(f"{PATH}/{remote_id}/results", cast_to=object, options=options)
                try:
                    async for line in lines_of(answer.http_response.aiter_bytes()):
                        if line.strip():
                            yield _read(line)
                finally:
                    await answer.http_response.aclose()
        except NotFound as error:
            raise NotSent(str(error)) from None


_RAW = {"X-Stainless-Raw-Response": "raw"}
_STREAMED = {"X-Stainless-Raw-Response": "stream"}
"""Header that the SDK's own `with_raw_response` and `with_streaming_response` set."""


def _write(file: BinaryIO, requests: Sequence[Request], mark: str) -> int:
    """Write the body of a creation; only one request of it is in memory at a time. Returns its bytes.

    Raises:
        Refused: it is too large, or one of the requests cannot be asked here or is asked twice.
    """
    size = file.write(b'{"requests":[')
    for position, request in enumerate(requests):
        asked = {"custom_id": name_of(request.key, mark), "params": message_body(request)}
        size += file.write((b"," if position else b"") + canonical(asked).encode())
        if size > SUBMIT_BYTES_MAX:
            raise Refused(f"the batch is larger than {SUBMIT_BYTES_MAX:,} bytes: hand over fewer requests", "too_large")
    if len({request.key for request in requests}) < len(requests):
        raise Refused("the batch asks the same question twice: answers could not be distinguished", "duplicate_key")
    size += file.write(b"]}")
    file.seek(0)
    return size


async def _parts(file: BinaryIO) -> AsyncIterator[bytes]:
    while part := await asyncio.to_thread(file.read, PART_BYTES):
        yield part


def _read(line: bytes) -> tuple[object, object]:
    """``custom_id`` and ``result``; of a line that is not JSON there is at most the first."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, Mapping):
        return value.get("custom_id"), value.get("result")
    name = _NAME.search(line)
    return (None if name is None else name[1].decode("ascii")), None


def _moment(text: object) -> float:
    """Seconds since 1970; the end of time where it cannot be read, when nothing was submitted."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return float("inf")
