"""An app whose handlers ask a provider inside of the test, on either store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from ramet import App, Client, Limits, Task
from ramet.llm import Model, declare_models
from ramet.llm.asking.model import connections
from ramet.llm.providers.base import Answer, AnswerState, Mode, Provider
from ramet.llm.requests import Request
from ramet.testing import FakeClock, drain, fresh_client
from tests.llm.fake_provider import USAGE, FakeProvider

MODEL = Model("small", price="1:2")
"""A thousand nano-dollars for an input token, two thousand for an output token."""
CALL = 20_000
"""What an answer of the fake provider costs: 10 tokens in, 5 out."""


def says(text: str | None, *calls: tuple[str, str], **more: Any) -> Callable[[Request], Answer]:
    """Answers every request with these words and calls of tools, given as (name, arguments)."""
    listed = tuple(
        {"id": f"call{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    )
    return lambda request: Answer(
        request.key, AnswerState.SUCCEEDED, text, USAGE, finish_reason="tool_calls" if calls else "stop",
        tool_calls=listed, **more,
    )  # fmt: skip


def in_turn(*answers: Callable[[Request], Answer]) -> Callable[[Request], Answer]:
    """Answers by how many messages of the model the conversation has."""

    def answer(request: Request) -> Answer:
        said: int = sum(message["role"] == "assistant" for message in request.messages)
        return answers[min(said, len(answers) - 1)](request)

    return answer


@dataclass
class Handlers:
    """An app, a client on its database, and what its handlers ask."""

    app: App
    client: Client
    clock: FakeClock
    provider: FakeProvider
    asked: list[Any] = field(default_factory=list)

    async def run(self, handler: Callable[..., Any], payload: Any = None, **options: Any) -> Task:
        """Submit a task, work everything off, and return it."""
        submitted = await self.client.submit(handler, payload, **options)
        await drain(self.app, self.client)
        task = await self.client.get(submitted.id)
        assert task is not None
        return task

    async def spent(self, task: Task) -> tuple[int, int]:
        """What the task's lineage has spent and reserved."""
        lineage = await self.client.lineage(task.tracking_id)
        assert lineage is not None
        return lineage.spent, lineage.reserved

    @property
    def requests(self) -> list[Request]:
        """What the provider was asked, in order."""
        return [request for taken in self.provider.taken.values() for request in taken.requests]

    @property
    def conversations(self) -> list[Sequence[Mapping[str, Any]]]:
        """The messages of each of these."""
        return [request.messages for request in self.requests]


@pytest.fixture
async def handlers(backend: str | None, tmp_path: Path) -> AsyncIterator[Handlers]:
    app = declare_models(App(limits=Limits(max_cost=10**9)), batches=True)
    clock = FakeClock()
    provider = FakeProvider(Mode.CHAT, clock.now)
    opener, connections.opener = connections.opener, lambda model: cast(Provider, provider)
    try:
        async with fresh_client(app, clock=clock, folder=tmp_path, database=backend) as client:
            yield Handlers(app, client, clock, provider)
            await connections.close()
    finally:
        connections.opener = opener
