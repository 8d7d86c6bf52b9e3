"""``ask`` against servers that others wrote, and the stand-in: what is booked is what they count."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ramet import App, Client, Context, Limits
from ramet.llm import Model, ask, ask_sync, declare_models
from ramet.llm.asking.model import Api, connections
from ramet.llm.testing.script import Script
from ramet.llm.testing.server import StandIn
from tests.llm.providers.foreign_servers import ANSWER, AiMock, LlMock
from tests.support.waiting import until, worked_off, working

pytestmark = pytest.mark.network
PRICE = "1:2"


@pytest.fixture
def app() -> App:
    return declare_models(App(limits=Limits(max_cost=10**9)))


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        await connections.close()


@pytest.fixture(scope="module")
def standin() -> Iterator[StandIn]:
    with StandIn() as running:
        yield running


class Found(BaseModel):
    text: str
    usage: list[int]
    cost: int


async def asked(app: App, client: Client, model: Model, words: str) -> tuple[Found, int]:
    """Ask in a handler; return what came, and what the lineage has spent."""

    @app.task(f"work by {model.api}")
    async def work(ctx: Context) -> Found:
        answer = await ask(ctx, model, words)
        usage = answer.usage
        return Found(text=answer.text, usage=[usage.input_tokens, usage.output_tokens], cost=answer.cost)

    submitted = await client.submit(work)
    await worked_off(app, client)
    lineage = await client.lineage(submitted.tracking_id)
    assert lineage is not None
    return Found.model_validate(await client.result(submitted.id)), lineage.spent


@pytest.mark.process
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_llmock_is_asked_and_booked(app: App, client: Client, llmock: LlMock, provider: str) -> None:
    model = Model("gpt-4o", provider, base_url=llmock.base_url(provider), price=PRICE)
    found, spent = await asked(app, client, model, "hello there")
    assert "hello there" in found.text
    assert found.cost == spent == found.usage[0] * 1_000 + found.usage[1] * 2_000 > 0


@pytest.mark.process
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_aimock_is_asked_and_booked(app: App, client: Client, aimock: AiMock, provider: str) -> None:
    model = Model("gpt-4o", provider, base_url=aimock.base_url(provider), price=PRICE)
    found, spent = await asked(app, client, model, "hello there")
    assert found.text == ANSWER
    assert found.cost == spent == found.usage[0] * 1_000 + found.usage[1] * 2_000


@pytest.mark.process
async def test_the_responses_api_of_aimock(app: App, client: Client, aimock: AiMock) -> None:
    model = Model("gpt-4o", api="responses", base_url=aimock.base_url("openai"), price=PRICE)
    found, _ = await asked(app, client, model, "hello there")
    assert found.text == ANSWER
    [sent] = [request for request in aimock.requests("POST") if request["path"].endswith("/responses")]
    assert sent["body"].get("background") is None


async def test_the_stand_in_by_both_apis(app: App, client: Client, standin: StandIn) -> None:
    apis: tuple[Api, Api] = ("chat", "responses")
    for api in apis:
        standin.begin(Script(ignores_background=True))
        model = Model("small", api=api, base_url=standin.url, price=PRICE)
        found, spent = await asked(app, client, model, "[[answer four words for you]] hello")
        assert found.text == "four words for you"
        billed = standin.world.journal.as_json()
        assert found.cost == spent > 0
        assert billed


async def test_a_plain_handler_opens_and_closes_its_own_connection(app: App, client: Client, standin: StandIn) -> None:
    standin.begin(Script())
    model = Model("small", base_url=standin.url, price=PRICE)

    @app.task()
    def work(ctx: Any) -> str:
        return ask_sync(ctx, model, "[[answer yes]]").text

    submitted = await client.submit(work)
    await worked_off(app, client)
    assert await client.result(submitted.id) == "yes"


async def test_a_wrong_key_pauses_the_lineage(app: App, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "RAMET_LLM_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    @app.task()
    async def work(ctx: Context) -> None:
        await ask(ctx, Model("small", price=PRICE), "hello")

    @app.task()
    def plain(ctx: Any) -> None:
        ask_sync(ctx, Model("small", price=PRICE), "hello")

    for kind in (work, plain):
        submitted = await client.submit(kind)

        async def told(task_id: str = submitted.id) -> bool:
            found = await client.explain(task_id)
            assert found is not None
            return "OpenAI asks for a key: set OPENAI_API_KEY" in found.headline

        async with working(app, client):
            await until(told, "the lineage is paused with the reason")
        lineage = await client.lineage(submitted.tracking_id)
        assert lineage is not None
        assert lineage.state == "paused"
