"""The nightly backup of docs/guides/deploy.md, run as the page has it, and restored as the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ramet import App, Context
from tests.cli.conftest import environment
from tests.support.backends import BACKENDS

pytestmark = pytest.mark.process

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "deploy.md"
app = App(tables=["CREATE TABLE IF NOT EXISTS orders (number BIGINT PRIMARY KEY, goods TEXT NOT NULL)"])


@app.task("order", key=str)
async def order(ctx: Context, number: int) -> None:
    """Writes a row of its own."""
    ctx.write("INSERT INTO orders VALUES (?, ?)", [number, f"goods {number}"])


def command_of(service: str, text: str) -> str:
    """What a unit of the page starts."""
    unit = text[text.index(f"# /etc/systemd/system/{service}") :]
    found = re.search(r"^ExecStart=(.+)$", unit, re.MULTILINE)
    assert found is not None
    return found[1].replace("%%", "%")


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_the_nightly_backup_of_the_page_is_restored_as_the_page_says(backend: str, tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (tmp_path / "from").mkdir()
    made = BACKENDS[backend](tmp_path / "from")
    try:
        with app.sync_client(made.address) as client:
            for number in range(5):
                client.submit(order, number)
        app.run(made.address)
        kept = tmp_path / "kept"
        kept.mkdir()
        ramet = f"{shlex.quote(sys.executable)} -m ramet.cli"
        command = command_of("ramet-backup.service", text).replace("/opt/shop/venv/bin/ramet", ramet)
        run(shlex.split(command.replace("/var/lib/ramet", str(kept))), tmp_path, RAMET_DB=made.address)
    finally:
        made.close()
    [copy] = kept.glob("tasks-*.db")
    said = [
        run(shlex.split(line.replace("ramet", ramet, 1).replace("FILE", str(copy))), tmp_path)
        for line in re.findall(r"`(ramet (?:restore FILE|doctor) --db trial\.db)`", text)
    ]
    assert len(said) == 2
    assert "with orders (5): rows counted, equal" in said[0]
    assert "in order" in said[1]
    with app.sync_client(tmp_path / "trial.db", create=False) as client:
        assert client.read("SELECT number, goods FROM orders ORDER BY number") == [
            (number, f"goods {number}") for number in range(5)
        ]
        assert client.submit(order, 9).created


def run(words: list[str], folder: Path, **more: str) -> str:
    """The output of a command that succeeds."""
    done = subprocess.run(words, cwd=folder, env=environment(**more), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
