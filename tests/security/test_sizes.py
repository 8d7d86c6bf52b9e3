"""256 KB of payload is taken by every entry, a byte more by none: the refusal names the way out, and nothing is kept.

The HTTP API takes no payloads: its bodies end at 64 KB (`tests/web/test_guard.py`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ramet import App, Client, Context, Limits, PayloadTooLarge
from tests.cli.conftest import Cli
from tests.invariants.check import violations
from tests.support.backends import Backend

BYTES_MAX = 262_144
REFUSED = rf"{BYTES_MAX + 1} bytes, over {BYTES_MAX}: put the large part into a blob, ramet\.Blob"
APP = f"{__name__}:app"
app = App(limits=Limits(max_attempts=1))


@app.task("held", key=lambda text: str(len(text)))
async def held(ctx: Context, text: str) -> None:
    """Takes what it is given."""


@app.task("spawns", key=str)
async def spawns(ctx: Context, size: int) -> None:
    """Spawns a child with so large a payload."""
    ctx.spawn("held", text_of(size))


@app.task("spawns_now", key=str)
async def spawns_now(ctx: Context, size: int) -> None:
    """The same at once."""
    await ctx.spawn_now("held", text_of(size))


@app.task("returns", key=str)
async def returns(ctx: Context, size: int) -> str:
    """Has so large a result."""
    return text_of(size)


def text_of(size: int) -> str:
    """A text that is so many bytes long as JSON."""
    return "x" * (size - 2)


def _submit(address: str, size: int) -> None:
    async def submit() -> None:
        async with app.client(address) as client:
            await client.submit(held, text_of(size))

    asyncio.run(submit())


def _submit_many(address: str, size: int) -> None:
    with app.sync_client(address) as client:
        client.submit_many([("held", "first"), ("held", text_of(size))])


def _submit_in_a_plain_program(address: str, size: int) -> None:
    with app.sync_client(address) as client:
        client.submit(held, text_of(size))


ENTRIES: dict[str, Callable[[str, int], None]] = {
    "Client": _submit, "SyncClient": _submit_in_a_plain_program, "submit_many": _submit_many,
}  # fmt: skip


def payloads(address: str) -> list[int]:
    """Sizes of the payloads that are stored of `held`."""

    async def look() -> list[int]:
        async with app.client(address) as client:
            assert await violations(client.store) == []
            rows = await client.store.read("SELECT LENGTH(payload) FROM ramet_tasks WHERE kind = 'held' ORDER BY 1")
            return [size for (size,) in rows]

    return asyncio.run(look())


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_program_gives_256_kb_and_no_byte_more(backend: Backend, entry: str) -> None:
    with pytest.raises(PayloadTooLarge, match=REFUSED):
        ENTRIES[entry](backend.address, BYTES_MAX + 1)
    assert payloads(backend.address) == []
    ENTRIES[entry](backend.address, BYTES_MAX)
    assert payloads(backend.address)[-1] == BYTES_MAX


@pytest.mark.parametrize("kind", ["spawns", "spawns_now", "returns"])
def test_a_handler_gives_256_kb_and_no_byte_more(backend: Backend, kind: str) -> None:
    async def work() -> list[tuple[str, str]]:
        async with app.client(backend.address) as client:
            ids = [(await client.submit(kind, size)).id for size in (BYTES_MAX, BYTES_MAX + 1)]
        await asyncio.to_thread(app.run, backend.address)
        async with app.client(backend.address) as client:
            return [await _ended(client, task_id) for task_id in ids]

    good, bad = asyncio.run(work())
    assert good == ("success", "")
    assert bad[0] == "failed"
    assert "PayloadTooLarge: " in bad[1]
    assert f"{BYTES_MAX + 1} bytes, over {BYTES_MAX}: put the large part into a blob" in bad[1]
    assert payloads(backend.address) == ([] if kind == "returns" else [BYTES_MAX])


async def _ended(client: Client, task_id: str) -> tuple[str, str]:
    task = await client.get(task_id)
    assert task is not None
    return task.state, task.error or ""


@pytest.fixture
def cli(backend: Backend, tmp_path: Path) -> Cli:
    return Cli(tmp_path / "ramet.db", backend.address)


def test_the_command_line_takes_256_kb_and_no_byte_more(cli: Cli, backend: Backend, tmp_path: Path) -> None:
    file, many = tmp_path / "payload.json", tmp_path / "many.jsonl"
    for size in (BYTES_MAX + 1, BYTES_MAX):
        file.write_text(json.dumps(text_of(size)))
        many.write_text("\n".join((json.dumps("first"), json.dumps(text_of(size)), "")))
        for words in (("submit", APP, "held", f"@{file}"), ("submit", APP, "held", "--many", str(many))):
            if size > BYTES_MAX:
                assert f"{size} bytes, over {BYTES_MAX}: put the large part into a blob" in cli.bad(*words)
                assert payloads(backend.address) == []
            else:
                cli.good(*words)
    assert payloads(backend.address) == [7, BYTES_MAX, BYTES_MAX]


def test_an_import_takes_256_kb_and_no_byte_more(cli: Cli, backend: Backend, tmp_path: Path) -> None:
    around = len('{"url":"0","text":}')  # What a row is beside its columns is the payload.
    for number, size in enumerate((BYTES_MAX, BYTES_MAX + 1)):
        row = {
            "id": str(number),
            "type": "held",
            "url": str(number),
            "status": "pending",
            "text": text_of(size - around),
        }
        source = tmp_path / f"queue{size}.jsonl"
        source.write_text(json.dumps(row) + "\n")
        words = ("import", str(source))
        if size > BYTES_MAX:
            assert f"{size} bytes, over {BYTES_MAX}" in cli.bad(*words)
        else:
            cli.good(*words)
    assert payloads(backend.address) == [BYTES_MAX]
