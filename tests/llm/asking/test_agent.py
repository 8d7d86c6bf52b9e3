"""The agent of the guide, as it is written there, with workers that are killed: the ceiling holds, and nothing that was
billed is missing in the books."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ramet import App, Client, Task
from tests.crash.process import IMPORTS, WorkerProcess
from tests.faults.money_watch import seen, watch
from tests.invariants.check import violations
from tests.llm.providers.foreign_servers import AiMock, LlMock, without_aimock
from tests.support.waiting import HANG_SECONDS, until

pytestmark = [pytest.mark.network, pytest.mark.process]

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "models.md"
CEILING = 50_000_000
QUICK = {
    "worker.lease_seconds": 6.0,
    "worker.heartbeat_seconds": 1.0,
    "worker.poll_seconds": 0.2,
    "maintenance.sweep_seconds": 0.3,
}
FETCHING = 'FetchSettings(user_agent="acme-research (research@acme.example)")'


def agent(folder: Path, base_url: str, price: str) -> App:
    """The program of the guide, asking a server of the test; names of hosts lead to this machine, which is refused."""
    [program] = re.findall(r'```python title="agent\.py"\n(.*?)```', GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    model = f'Model("gpt-4o", base_url={base_url!r}, price={price!r})'
    program = program.replace('MODEL = "gpt-5-mini"', f"MODEL = {model}").replace(
        "from ramet.llm import ask", "from ramet.llm import Model, ask"
    )
    program = program.replace(FETCHING, f"{FETCHING}, resolver=nowhere").replace(
        "MODEL =", 'async def nowhere(host: str, port: int) -> list[str]:\n    return ["127.0.0.1"]\n\n\nMODEL =', 1
    )
    assert "nowhere)" in program
    (folder / "agent.py").write_text(program, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("agent_of_the_guide", folder / "agent.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    app: App = module.app
    return app


class Workers:
    """Workers of the agent on one database."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        self.running: list[WorkerProcess] = []
        for _ in range(count):
            self.start()

    def start(self) -> None:
        path = os.pathsep.join([str(self._folder), IMPORTS])
        self.running.append(
            WorkerProcess(
                self._folder / "ramet.db", "--concurrency", "1", app="agent:app", folder=self._folder,
                environment={"PYTHONPATH": path, "OPENAI_API_KEY": "none"},
            )
        )  # fmt: skip

    def kill_one(self, chance: random.Random) -> None:
        victim = chance.choice(self.running)
        victim.kill()
        self.running.remove(victim)
        self.start()


@contextmanager
def working(folder: Path, count: int) -> Iterator[Workers]:
    """Whatever happens, nothing of it runs afterwards."""
    workers = Workers(folder, count)
    try:
        yield workers
    finally:
        for worker in workers.running:
            worker.end_whatever_it_does()


class Season(NamedTuple):
    """What happens to the agent."""

    workers: int
    kills: int
    questions: int
    price: str


PLAN = json.dumps({"questions": ["one part", "another part"], "pages": ["https://example.com/page"]})


@pytest.fixture(params=["llmock", "aimock"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LlMock | AiMock]:
    """llmock answers with an example of the schema, aimock with what is written above."""
    if request.param == "llmock":
        yield request.getfixturevalue("llmock")
        return
    if without_aimock():
        pytest.skip(without_aimock())
    folder = tmp_path / "aimock"
    folder.mkdir()
    with AiMock(folder, {"Which smaller questions": PLAN}) as running:
        yield running


@pytest.mark.parametrize(
    "season",
    [
        pytest.param(Season(3, 3, 60, "6:24"), id="3 workers, 3 kills"),
        pytest.param(
            Season(8, 20, 150, "3:12"), id="8 workers, 20 kills", marks=[pytest.mark.nightly, pytest.mark.timeout(900)]
        ),
    ],
)
async def test_an_agent_whose_workers_are_killed_keeps_to_five_cents(
    server: LlMock | AiMock, tmp_path: Path, season: Season
) -> None:
    count, kills, roots, price = season
    app, chance = agent(tmp_path, server.base_url("openai"), price), random.Random(count)
    async with app.client(tmp_path / "ramet.db") as client:
        await client.ensure_tables()
        for name, value in QUICK.items():
            await client.settings.set(name, value)
        await client.submit_many([("research", f"question {n}") for n in range(roots)], tracking_id="agent",
                                 one_lineage=True)  # fmt: skip
        await asyncio.to_thread(watch, str(tmp_path / "ramet.db"))
        with working(tmp_path, count) as workers:
            for kill in range(1, kills + 1):

                async def far_enough(target: int = kill * roots // (kills + 1)) -> bool:
                    return await over(client) or len(calls(server)) >= target

                await until(far_enough, "more calls at the server", HANG_SECONDS)
                workers.kill_one(chance)
            await until(lambda: over(client), "the lineage has ended", HANG_SECONDS * 2)
        await assert_the_ceiling_held(client, server, price)
        assert await violations(client.store) == []


async def over(client: Client) -> bool:
    """Whether the lineage has ended."""
    lineage = await client.lineage("agent")
    assert lineage is not None
    assert lineage.spent + lineage.reserved <= CEILING
    return lineage.state == "finished"


def calls(server: LlMock | AiMock) -> list[dict[str, Any]]:
    """The questions that reached the server."""
    return [request["body"] for request in server.requests("POST") if request["path"].endswith("/chat/completions")]


async def assert_the_ceiling_held(client: Client, server: LlMock | AiMock, price: str) -> None:
    """Never passed within any transaction; all that was billed is booked, and what was answered exactly."""
    assert (await seen(client))["agent"].most <= CEILING
    lineage = await client.lineage("agent")
    assert lineage is not None
    asked = calls(server)
    billed = sum(await asyncio.to_thread(lambda: [cost(server, body, price) for body in asked]))
    assert (lineage.reserved, lineage.under_reserved) == (0, 0)
    assert billed <= lineage.spent <= CEILING
    [(kept, answers)] = await client.read("SELECT SUM(cost), COUNT(*) FROM llm_asked WHERE key NOT LIKE '%.tools'")
    lost = len(asked) - int(answers)
    assert lost >= 0
    assert (int(kept) == lineage.spent) if lost == 0 else (int(kept) < lineage.spent)
    if lost == 0:
        assert billed == lineage.spent
    refused = [task async for task in client.all_tasks(tracking_id="agent") if task.state == "failed"]
    assert any((task.reason or "").startswith("cost") for task in refused), f"{lineage} {len(asked)}"
    for task in refused:
        assert await explained(client, task), f"{task.kind} {task.key}: {task.reason}: {task.error}"


async def explained(client: Client, task: Task) -> bool:
    """Whether people are told what refused it: the ceiling, or the guard of addresses."""
    found = await client.explain(task.id)
    assert found is not None
    return "ceiling of the lineage is $0.05" in found.headline or (task.kind == "page" and "127.0.0.1" in str(found))


def cost(server: LlMock | AiMock, body: dict[str, Any], price: str) -> int:
    """What the server bills for a question: it counts the same each time, so it is asked again."""
    usage = server.ask("POST", "/v1/chat/completions", body)["usage"]
    per_input, per_output = (int(part) * 1_000 for part in price.split(":"))
    return int(usage["prompt_tokens"]) * per_input + int(usage["completion_tokens"]) * per_output
