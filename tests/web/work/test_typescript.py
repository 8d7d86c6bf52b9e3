"""The TypeScript client: its types are those of the document, its worker does what its handlers say."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import App, Client, Retry
from tests.support.waiting import HANG_SECONDS, get, until
from tests.web.work.served import NODE_MODULES, PROJECT, Program, node, node_worker, serving

CLIENT = PROJECT / "clients" / "typescript"
TSC = NODE_MODULES / "typescript" / "bin" / "tsc"

app = App(retry=Retry(attempts=2, base_seconds=0.0))


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client


@pytest.mark.skipif(not TSC.exists(), reason="TypeScript is not there: make .venv/node/.stamp")
def test_the_client_and_the_workers_of_the_tests_fit_their_types(tmp_path: Path) -> None:
    command = [node(), str(TSC), "--project", str(CLIENT), "--outDir", str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
    assert (built.returncode, built.stdout) == (0, "")
    assert {"index.js", "index.d.ts", "client.js", "worker.js"} <= {one.name for one in tmp_path.iterdir()}


@pytest.mark.skipif(not TSC.exists(), reason="TypeScript is not there: make .venv/node/.stamp")
def test_programs_on_pages_fit_the_client(tmp_path: Path) -> None:
    page = (PROJECT / "docs" / "guides" / "any-language.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```ts\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    assert programs
    for number, program in enumerate(programs):
        declared = "declare const process: { env: { TOKEN: string }; on(name: string, call: () => void): void };\n"
        there = program.replace('from "ramet"', f'from "{CLIENT / "src" / "index.ts"}"')
        (tmp_path / f"program{number}.ts").write_text(declared + there, encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    options = json.loads((CLIENT / "tsconfig.json").read_text(encoding="utf-8"))["compilerOptions"]
    own = {"noEmit": True, "allowImportingTsExtensions": True, "rootDir": "/", "rewriteRelativeImportExtensions": False}
    settings = {"compilerOptions": {**options, **own}, "include": ["*.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [node(), str(TSC), "--project", str(tmp_path)]
    looked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
    assert (looked.returncode, looked.stdout) == (0, "")


async def test_every_end_of_a_handler_is_that_of_the_engine(client: Client, tmp_path: Path) -> None:
    with serving(client.place, tmp_path) as origin, node_worker("ends_worker.ts", origin, "ts", tmp_path) as worker:
        root = await client.submit("page", key="root")
        result = await client.result(root.id, timeout_seconds=HANG_SECONDS)
        assert result["state"] == {"first": "granted"}
        assert sorted(result["kinds"]) == [
            "broken:failed", "busy:success", "crash:failed", "filtered:filtered", "goes_on:success",
            "later:success", "limited:success", "skipped:skipped",
        ]  # fmt: skip
        found = {task.kind: task for task in (await client.tasks()).tasks}
        assert [found[kind].result for kind in ("later", "busy", "limited", "goes_on")] == [
            "came back", 2, "let in", "went on",
        ]  # fmt: skip
        assert found["broken"].error == "Permanent: gone"
        assert found["crash"].error == "TypeError: cannot read properties of undefined"
        crashed = await client.history(found["crash"].id)
        assert crashed is not None
        assert "ends_worker.ts" in (crashed.attempts[-1].traceback or "")
        assert worker.stopped() == 0
        assert worker.errors == ""


async def test_what_cannot_be_stored_fails_its_task_and_says_why(client: Client, tmp_path: Path) -> None:
    with serving(client.place, tmp_path) as origin, node_worker("ends_worker.ts", origin, "ts", tmp_path) as worker:
        made = [await client.submit(kind, key=kind) for kind in ("unfit", "odd")]
        unfit, odd = [await client.wait(one.id, timeout_seconds=HANG_SECONDS) for one in made]
        assert (unfit.state, unfit.attempts) == ("failed", 1)
        assert "the result" in (unfit.error or "")
        assert odd.error == "Permanent: a \ufffd and half a character: \ufffd"
        assert worker.stopped() == 0


async def test_a_handler_is_told_that_its_claim_is_lost(client: Client, tmp_path: Path) -> None:
    with serving(client.place, tmp_path) as origin, node_worker("ends_worker.ts", origin, "ts", tmp_path) as worker:
        waits = await client.submit("waits", key="a")
        await until(lambda: "waiting" in worker.output, "the handler")
        await client.cancel(waits.id, by="ada")
        await until(lambda: "aborted: " in worker.output, "the abort")
        assert "cancelled" in worker.output
        assert worker.stopped() == 0


async def test_a_worker_that_stops_hands_back_what_it_does_not_end(client: Client, tmp_path: Path) -> None:
    with serving(client.place, tmp_path) as origin, node_worker("ends_worker.ts", origin, "ts", tmp_path) as worker:
        waits = await client.submit("waits", key="a")
        await until(lambda: "waiting" in worker.output, "the handler")
        assert worker.stopped() == 0
        assert "aborted: the worker stops" in worker.output
        task = await get(client, waits.id)
        assert (task.state, task.attempts) == ("pending", 0)


async def test_a_server_that_is_started_again_loses_no_claim(client: Client, tmp_path: Path) -> None:
    with serving(client.place, tmp_path) as origin:
        port = int(origin.rpartition(":")[2])
        worker = Program.of_node("ends_worker.ts", origin, "ts", tmp_path, "300")
        waits = await client.submit("waits", key="a")
        await until(lambda: "waiting" in worker.output, "the handler")
    try:
        with serving(client.place, tmp_path, port=port):
            await client.submit("skipped", key="b", tracking_id="after")
            await client.wait_lineage("after", timeout_seconds=HANG_SECONDS)
            assert (await get(client, waits.id)).state == "processing"
            assert worker.stopped() == 0
        assert (await get(client, waits.id)).state == "pending"
    finally:
        worker.kill()
