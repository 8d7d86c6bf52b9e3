"""The lines of a batch's files: requests in, answers out, in any order."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, BinaryIO

from pydantic_core import from_json

from ramet import own_logger
from ramet.commands.errors import one_line
from ramet.llm.errors import Refused
from ramet.llm.providers.base import Answer, AnswerState
from ramet.llm.providers.openai_answers import failed, read_chat, read_embeddings, read_response, unreadable
from ramet.llm.providers.openai_bodies import chat_body, embedding_body, response_body
from ramet.llm.refusals import Meaning, code_of, fault_text, meaning_of
from ramet.llm.requests import Request

CHAT_ENDPOINT = "/v1/chat/completions"
RESPONSES_ENDPOINT = "/v1/responses"
EMBEDDINGS_ENDPOINT = "/v1/embeddings"
LINE_BYTES_MAX = 32 * 1024 * 1024
"""Most bytes of one answer; a longer one is left out."""

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_KEY = re.compile(rb'"custom_id"\s*:\s*"([0-9A-Za-z_-]{1,64})"')
_UNFINISHED = {
    "batch_expired": (AnswerState.EXPIRED, "the provider's window ended before it came to this one"),
    "batch_cancelled": (AnswerState.CANCELLED, "the batch was cancelled before it came to this one"),
}

logger = own_logger(__name__)


def request_line(request: Request, endpoint: str, limit_name: str) -> bytes:
    """Return the line of a batch that asks one question, with its line break.

    Raises:
        Refused: the request has a parameter that is not sent on.
    """
    if request.endpoint == "embeddings":
        body, endpoint = embedding_body(request), EMBEDDINGS_ENDPOINT
    else:
        body = chat_body(request, limit_name=limit_name) if endpoint == CHAT_ENDPOINT else response_body(request)
    line = {"custom_id": request.key, "method": "POST", "url": endpoint, "body": body}
    try:
        return _JSON.encode(line).encode() + b"\n"
    except ValueError as error:
        raise Refused(f"the request cannot be written as JSON: {one_line(error)[:200]}", "invalid_request") from None


def write_lines(requests: Sequence[Request], file: BinaryIO, endpoint: str, limit_name: str, bytes_max: int) -> None:
    """Write a batch's file; only one line of it is in memory at a time.

    Raises:
        Refused: it would be larger than `bytes_max`, asks the same twice or several models, or a request is at fault.
    """
    size = 0
    keys: set[str] = set()
    models: set[tuple[str, str]] = set()
    for request in requests:
        line = request_line(request, endpoint, limit_name)
        size += len(line)
        keys.add(request.key)
        models.add((request.model, request.endpoint))
        if size > bytes_max:
            raise Refused(f"the batch is larger than {bytes_max:,} bytes: hand over fewer requests", "too_large")
        file.write(line)
    if len(models) > 1:
        raise Refused("a batch may ask one model only: hand over those of each model by themselves", "mixed_models")
    if len(keys) < len(requests):
        raise Refused("the batch asks the same question twice: answers could not be distinguished", "duplicate_key")


async def lines_of(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines in a stream of bytes, without their line breaks; one longer than `LINE_BYTES_MAX` is left out.

    A line ends at ``\\n`` only: JSON may hold the other characters that Python counts as line breaks.
    """
    begun: list[bytes] = []
    size = 0
    async for part in parts:
        *whole, rest = part.split(b"\n")
        for piece in whole:
            if size + len(piece) <= LINE_BYTES_MAX:
                yield b"".join([*begun, piece])
            else:
                logger.warning("a line of a batch's results is longer than %d bytes: it is left out", LINE_BYTES_MAX)
            begun, size = [], 0
        size += len(rest)
        if size <= LINE_BYTES_MAX:
            begun.append(rest)
        else:
            begun.clear()
    if begun and size <= LINE_BYTES_MAX:
        yield b"".join(begun)


def _parsed(line: bytes) -> Any:
    """Return the JSON value of a line, None for a line that holds none."""
    try:
        return from_json(line)
    except ValueError:
        # Half a character, written as an escape, is JSON to the standard library alone.
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            return None


def read_line(line: bytes) -> Answer | None:
    """Return the answer in a line of a batch's output or error file; None where its request cannot be known."""
    told_line = _parsed(line)
    if not isinstance(told_line, dict) or not isinstance(told_line.get("custom_id"), str):
        key = _KEY.search(line)
        if key is None:
            logger.warning("a line of a batch's results has no custom_id that can be read: it is left out")
            return None
        return unreadable(key[1].decode("ascii"), "the line of its answer is not JSON")
    return _answer_in(told_line["custom_id"], told_line)


def _answer_in(key: str, line: Mapping[str, Any]) -> Answer:
    response, error = line.get("response"), line.get("error")
    if isinstance(response, Mapping):
        status, body = response.get("status_code"), response.get("body")
        if not isinstance(body, Mapping) or type(status) is not int:
            return unreadable(key, "the line of its answer has no status or body")
        if not 200 <= status < 300:
            return failed(key, body.get("error") or body, status=status)
        if body.get("object") == "list":
            return read_embeddings(key, body)
        return read_response(key, body) if body.get("object") == "response" else read_chat(key, body)
    if not isinstance(error, Mapping):
        return unreadable(key, "the line of its answer has neither a response nor an error")
    unfinished = _UNFINISHED.get(str(error.get("code")))
    if unfinished is not None:
        state, words = unfinished
        return Answer(key, state, error=words, code=str(error.get("code")))
    return failed(key, error)


def problem_of(body: Mapping[str, Any]) -> tuple[str, Meaning | None]:
    """Return the reason why a batch failed as a whole, ``code: message`` of its first error, and its meaning."""
    errors = body.get("errors")
    data = errors.get("data") if isinstance(errors, Mapping) else None
    first = data[0] if isinstance(data, list) and data else None
    if not isinstance(first, Mapping):
        return "failed: the provider does not say why", None
    line = f" (line {first['line']})" if type(first.get("line")) is int else ""
    return f"{code_of(first) or 'failed'}: {fault_text(first, None)}{line}", meaning_of(first, batch=True)
