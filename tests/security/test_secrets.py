"""Secrets that are planted where ramet takes them are found nowhere else: no row, no log, no answer has them."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.llm.providers.scripted import Call, Said, scripted

STATUSES = (400, 401, 403, 404, 429, 500)


def telltale(call: Call, status: int) -> Said:
    """A server that says everything it knows, as proxies and gateways do."""
    told = json.dumps({"headers": dict(call.headers), "body": call.body})
    return Said(status, {"error": {"message": f"refused: {told}", "type": "x", "code": "x"}}, {"X-Told": "1"})


@pytest.fixture
def canary() -> str:
    return f"sk-canary-{secrets.token_hex(12)}"


def ramet(folder: Path, environment: dict[str, str], *words: str) -> str:
    """A command in a process of its own; all that it said, and what it was called with."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("RAMET_", "OPENAI", "ANTHR"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "ramet.cli", *words], cwd=folder, env={**inherited, **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return f"{words} {done.stdout} {done.stderr}"


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
        said = [ramet(tmp_path, environment, "llm", "submit", "prompts.jsonl", *words, "--no-work", "--json")]
        said.append(ramet(tmp_path, environment, "worker", "ramet.pipelines.llm.pipeline:app", "--in-process",
                          "--until-idle"))  # fmt: skip
        said += [
            ramet(tmp_path, environment, *asked)
            for asked in (("status", "--json"), ("tasks", "--json"), ("llm", "status", "--json"))
        ]
    assert any(canary in value for call in server.calls for value in call.headers.values()), "it was never used"
    assert [text for text in said if canary in text] == []
    assert [name for name, data in kept(tmp_path) if canary.encode() in data] == []
