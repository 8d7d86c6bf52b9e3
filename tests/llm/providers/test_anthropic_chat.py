"""Anthropic's messages through the real SDK, against answers that no test server gives."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.llm.errors import Ambiguous
from ramet.llm.providers.base import AnswerState, Mode, PollState, TokenUsage
from ramet.llm.providers.registry import open_provider
from tests.llm.providers.sample_requests import question
from tests.llm.providers.scripted_server import Said, scripted

pytestmark = pytest.mark.network

pytest.importorskip("anthropic", reason="the extra [anthropic] is not installed")


def message(**more: object) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 2}
    content = [{"type": "text", "text": "yes"}]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "max_tokens",
        "content": content, "usage": usage,
    } | more  # fmt: skip


async def test_an_answer_that_is_cut_off_is_told_as_such() -> None:
    with scripted(lambda call: Said(200, message())) as server:
        provider = open_provider("anthropic", Mode.CHAT, base_url=server.url, api_key="k", strict=True)
        submission = await provider.submit([question("a", parameters={"temperature": 0.5})], submit_key="s", seconds=10)
        await provider.close()
    assert submission.answer is not None
    assert (submission.answer.state, submission.answer.text) == (AnswerState.INCOMPLETE, "yes")
    assert submission.answer.usage == TokenUsage(1, 0, 2)
    (call,) = server.calls
    assert (call.path, call.body["max_tokens"], call.body["temperature"]) == ("/v1/messages", 100, 0.5)


async def test_an_answer_that_is_no_message_leaves_the_submit_in_doubt() -> None:
    with scripted(lambda call: Said(200, {"type": "other"})) as server:
        provider = open_provider("anthropic", Mode.CHAT, base_url=server.url, api_key="k")
        with pytest.raises(Ambiguous, match="not a message"):
            await provider.submit([question("a")], submit_key="s", seconds=10)
        await provider.close()


async def test_nothing_is_kept_of_a_chat() -> None:
    provider = open_provider("anthropic", Mode.CHAT, base_url="http://127.0.0.1:9", api_key="k")
    assert not provider.caps.can_find
    assert not provider.caps.can_cancel
    assert (await provider.poll("msg_1", seconds=10)).state is PollState.LOST
    await provider.cancel("msg_1", seconds=10)
    assert [answer async for answer in provider.results("msg_1", seconds=10)] == []
    with pytest.raises(NotImplementedError):
        await provider.find("s", seconds=10)
    await provider.close()
