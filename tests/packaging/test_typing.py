"""What a type checker sees of the public API."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.process
def test_type_checkers_see_the_signatures_of_the_synchronous_client(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from ramet import App\n"
        "client = App().sync_client('x.db')\n"
        "reveal_type(client.submit('kind', 1, key='a').id)\n"
        "client.submit('kind', keys='a')\n"
        "reveal_type(client.claim('kind')[0].complete())\n"
        "reveal_type(client.schedules.add('kind', 1, cron='* * * * *').name)\n"
        "client.schedules.pause(1)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [line.partition("script.py:")[2] for line in done.stdout.splitlines()]
    assert 'Revealed type is "str"' in told[0].replace("builtins.", "")
    assert told[1].startswith('4: error: Unexpected keyword argument "keys"')
    told = [line for line in told if not line.startswith("4:") or "Unexpected" in line]
    assert "ramet.engine.client.claim.ClaimResult" in told[2]
    assert 'Revealed type is "str"' in told[3].replace("builtins.", "")
    assert told[4].startswith("7: error: Argument 1 has incompatible type"), told[4]


SNIPPET = """
from dataclasses import dataclass
from typing import Any
from ramet import App, BatchContext, Client, Context, Outcome, Retry, SyncClient, SyncContext

@dataclass
class Order:
    id: int

@dataclass
class Receipt:
    total: int

app = App()

@app.task()
async def order(ctx: Context, payload: Order) -> Receipt: ...
@app.task()
def plain(ctx: SyncContext, payload: int) -> Outcome | list[str]: ...
@app.task()
async def bare(ctx: Context) -> int: ...
@app.task()
async def several(ctx: Context, n: int, note: str = "") -> str: ...
@app.task(batch=9)
async def many(batch: BatchContext, payloads: list[Order]) -> list[Receipt]: ...

async def good(client: Client, blocking: SyncClient, name: str) -> None:
    reveal_type(await (await client.submit(order, Order(1))).result())
    reveal_type(await (await client.submit(order, {"id": 1}, key="a", max_attempts=2)).result())
    reveal_type(await (await client.submit(plain, 1, retry=Retry.SEED)).result())
    reveal_type(await (await client.submit(bare)).result())
    reveal_type(await (await client.submit(several, {"n": 1})).result())
    reveal_type(blocking.submit(order, Order(1), tracking_id="x").result(timeout_seconds=1.0))
    reveal_type(await (await client.submit(name, {"any": "thing"})).result())
    await client.submit(many, Order(1))

async def bad(client: Client, blocking: SyncClient) -> None:
    await client.submit(order, 1)
    await client.submit(order)
    await client.submit(plain, "one")
    await client.submit(many, 1)
    await client.submit(order, Order(1), max_attempt=2)
    blocking.submit(order, Receipt(1))
"""
RESULTS = [
    "Receipt",
    "Receipt",
    "Outcome | list[str]",
    "int",
    "str",
    "Receipt",
    "Any",
]


@pytest.mark.process
def test_payloads_are_checked_and_results_are_typed_by_the_handler(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SNIPPET, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--disable-error-code=empty-body"]
    command += ["--cache-dir", str(tmp_path / "cache"), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    revealed = [
        line.partition('Revealed type is "')[2].rstrip('"').replace("builtins.", "")
        for line in done.stdout.splitlines()
        if "Reveal" in line
    ]
    assert len(revealed) == len(RESULTS), done.stdout
    assert [found for found, wanted in zip(revealed, RESULTS, strict=True) if not found.endswith(wanted)] == []
    lines = SNIPPET.splitlines()
    first = lines.index("async def bad(client: Client, blocking: SyncClient) -> None:") + 2
    errors = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line]
    assert sorted({*errors}) == list(range(first, len(lines) + 1)), done.stdout
