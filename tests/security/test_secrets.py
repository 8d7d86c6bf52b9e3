"""Secrets that are planted where ramet takes them are found nowhere else: no row, no log, no answer has them."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.llm.providers.scripted_server import Call, Said, scripted
from tests.support.waiting import HANG_SECONDS, until_now

pytestmark = [pytest.mark.network, pytest.mark.process]

STATUSES = (401, *(pytest.param(status, marks=pytest.mark.nightly) for status in (400, 403, 404, 429, 500)))


def telltale(call: Call, status: int) -> Said:
    """A server that says everything it knows, as proxies and gateways do."""
    told = json.dumps({"headers": dict(call.headers), "body": call.body})
    return Said(status, {"error": {"message": f"refused: {told}", "type": "x", "code": "x"}}, {"X-Told": "1"})


@pytest.fixture
def canary() -> str:
    return f"sk-canary-{secrets.token_hex(12)}"


def ramet(folder: Path, environment: dict[str, str], *words: str, until: Callable[[], bool] | None = None) -> str:
    """A command in a process of its own, to its end or until enough has happened; all that it said."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("RAMET_", "OPENAI", "ANTHR"))
    }
    command = [sys.executable, "-m", "ramet.cli", *words]
    with (folder / "said.log").open("w+") as said:
        process = subprocess.Popen(command, cwd=folder, env={**inherited, **environment}, stdout=said, stderr=said)
        if until is not None:
            until_now(lambda: until() or process.poll() is not None, "what is waited for")
            process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=HANG_SECONDS)
        finally:
            process.kill()
        said.seek(0)
        return said.read()


def kept(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file that was left, as bytes: rows of all tables, logs, results."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.name, path.read_bytes()


@pytest.mark.parametrize("status", STATUSES)
def test_a_key_that_its_server_repeats_in_an_error_is_kept_nowhere(tmp_path: Path, canary: str, status: int) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "Why?", "max_output_tokens": 9}\n')
    environment = {"OPENAI_API_KEY": canary, "RAMET_DB": "llm.db"}
    with scripted(lambda call: telltale(call, status)) as server:
        words = ("--model", "gpt-5-mini", "--max-cost", "1", "--mode", "chat", "--base-url", f"{server.url}/v1")
        submit = ("llm", "submit", "prompts.jsonl", *words, "--work")
        said = [ramet(tmp_path, environment, *submit, until=lambda: bool(server.calls))]
        asked = (("status", "--json"), ("tasks", "--json"), ("llm", "status", "--json"))
        said += [ramet(tmp_path, environment, *words) for words in asked]
    assert any(canary in value for call in server.calls for value in call.headers.values()), "it was never used"
    assert [text for text in said if canary in text] == []
    assert [name for name, data in kept(tmp_path) if canary.encode() in data] == []
