"""A model that says what the test wants, and a task that asks it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from ramet import App, Client, Context, Limits, llm
from ramet.jobs.app import DEFINITIONS
from ramet.jobs.settings import ModelSettings
from ramet.llm.asking.model import connections
from ramet.llm.providers.base import Answer, AnswerState, Provider, Submission, TokenUsage
from ramet.llm.requests import Request
from ramet.testing import drain

SETTINGS = ModelSettings(cheap="small", expensive="large", price="1:2")
"""A thousand nano-dollars for an input token, two thousand for an output token."""
COST = 10 * 1_000 + 5 * 2_000
"""Of every answer here: ten tokens in, five out."""

Said = str | Exception | Answer | dict[str, Any]


@dataclass
class Model:
    """Answers in turn; the last answer stands for all further ones."""

    said: list[Said]
    asked: list[Request] = field(default_factory=list)

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """The next answer."""
        [request] = requests
        assert seconds > 0
        self.asked.append(request)
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Answer):
            return Submission("r", said)
        text = said if isinstance(said, str) else json.dumps(said)
        return Submission("r", Answer(request.key, AnswerState.SUCCEEDED, text, TokenUsage(10, 0, 5)))

    async def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        """None."""
        nothing: tuple[Answer, ...] = ()
        for answer in nothing:
            yield answer

    async def close(self) -> None:
        """Nothing is open."""

    @property
    def sent(self) -> str:
        """All words of the last request."""
        return "\n".join(str(message["content"]) for message in self.asked[-1].messages)


@contextmanager
def speaking(*said: Said) -> Iterator[Model]:
    """A model in the place of the provider."""
    model = Model(list(said))
    opener, opened = connections.opener, connections._open
    connections.opener = lambda _: cast(Provider, model)
    connections._open = type(opened)()
    try:
        yield model
    finally:
        connections.opener, connections._open = opener, opened


Doing = Callable[[Context], Awaitable[Any]]


def app_doing(doing: Doing) -> App:
    """An app of one kind, whose handler is the test's."""
    app = llm.declare_models(App(tables=DEFINITIONS))

    @app.task("do")
    async def do(ctx: Context) -> Any:
        return await doing(ctx)

    return app


async def run(app: App, client: Client, *, max_cost: int | None = 10**12) -> Any:
    """What the handler returned."""
    made = await client.submit("do", limits=Limits(max_cost=max_cost, max_attempts=1))
    await drain(app, client)
    return await client.result(made.id)
