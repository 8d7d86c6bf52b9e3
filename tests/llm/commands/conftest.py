"""The commands against our own stand-in for a provider, in a folder of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ramet.cli import main
from ramet.llm.commands.group import llm
from ramet.llm.testing.script import Script
from ramet.llm.testing.server import StandIn

KEYS = ("RAMET_LLM_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "RAMET_DB")


@dataclass
class Place:
    """A folder to run commands in."""

    folder: Path
    standin: StandIn
    database: str

    def write(self, rows: list[dict[str, Any] | str], name: str = "prompts.jsonl") -> Path:
        """A file with these rows; a text is a line as it is."""
        path = self.folder / name
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return path

    def run(self, *words: str, database: bool = True) -> Result:
        """A command, in this process."""
        where = ("--db", self.database) if database else ()
        main.add_command(llm)
        return CliRunner().invoke(main, ["llm", *words, *where])

    def submit(self, path: Path, *words: str, server: bool = True) -> Result:
        """`submit` to the stand-in, with what every job needs."""
        usual = {"--model": "gpt-5-mini", "--max-output-tokens": "50", "--max-cost": "1"}
        given = [word for name, value in usual.items() if name not in words for word in (name, value)]
        place = ("--base-url", self.standin.url) if server else ()
        return self.run("submit", str(path), *given, *place, *words)

    def files(self) -> set[str]:
        """What there is beside inputs."""
        return {path.name for path in self.folder.iterdir() if path.suffix not in (".jsonl", ".csv", ".json")}


def lines_of(result: Result) -> list[dict[str, Any]]:
    """The JSON lines of a command."""
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def refusal(result: Result) -> str:
    """The one line of a command that was refused."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    [line] = result.stderr.splitlines()
    assert line.startswith("ramet: ")
    return line


@pytest.fixture(scope="session")
def running_standin() -> Iterator[StandIn]:
    with StandIn() as standin:
        yield standin


@pytest.fixture
def place(tmp_path: Path, running_standin: StandIn, monkeypatch: pytest.MonkeyPatch) -> Place:
    """An empty folder, a stand-in that remembers nothing, and an environment without keys."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    running_standin.begin(Script(queued_polls=0, running_polls=0, batch_polls=0))
    return Place(tmp_path, running_standin, str(tmp_path / "llm.db"))
