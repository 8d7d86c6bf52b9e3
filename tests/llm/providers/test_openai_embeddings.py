"""Embeddings: one call for a text or a list of texts, and batches of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.llm.providers.base import AnswerState, Mode, TokenUsage
from ramet.llm.providers.openai_batch_lines import CHAT_ENDPOINT, read_line, request_line
from ramet.llm.providers.registry import open_provider
from ramet.llm.requests import Request
from tests.llm.providers.scripted_server import Call, Said, scripted

MODEL = "text-embedding-3-small"
BODY: dict[str, Any] = {
    "object": "list",
    "model": MODEL,
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}],
    "usage": {"prompt_tokens": 3, "total_tokens": 3},
}


def request(**parameters: Any) -> Request:
    return Request.of(MODEL, [{"role": "user", "content": "an owl"}], 0, parameters, endpoint="embeddings")


@pytest.mark.network
async def test_a_text_becomes_a_vector() -> None:
    def answer(call: Call) -> Said:
        return Said(200, BODY, {"Content-Type": "application/json"})

    with scripted(answer) as server:
        provider = open_provider("openai", Mode.CHAT, base_url=server.url, api_key="k", strict=True)
        sent = await provider.submit([request(dimensions=2)], submit_key="s", seconds=10)
        await provider.close()
    assert sent.answer is not None
    assert (sent.answer.state, sent.answer.embedding) == (AnswerState.SUCCEEDED, [0.5, -0.25])
    assert (sent.answer.usage, sent.answer.text) == (TokenUsage(3), None)
    (call,) = server.calls
    assert call.path.endswith("/embeddings")
    assert call.body == {"model": MODEL, "input": "an owl", "dimensions": 2, "encoding_format": "float"}


def test_a_line_of_a_batch_asks_for_a_vector_and_one_brings_it() -> None:
    line = json.loads(request_line(request(), CHAT_ENDPOINT, "max_tokens"))
    assert (line["url"], line["body"]) == ("/v1/embeddings", {"model": MODEL, "input": "an owl"})
    told = {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": BODY}, "error": None}
    answer = read_line(json.dumps(told).encode())
    assert answer is not None
    assert answer.embedding == [0.5, -0.25]
