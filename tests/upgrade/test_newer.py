"""A database that a later ramet made is refused by everything that opens one: in one line, and nothing is written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import psycopg
import pytest

from ramet import App
from ramet.cli import main
from ramet.store import open_store
from ramet.store.backup.copies import backup, restore
from ramet.store.errors import StoreNewer
from ramet.store.opening import migrate
from ramet.store.schema import versions
from tests.cli.conftest import APP, Cli, cli
from tests.support.backends import Backend
from tests.upgrade.plans import NEXT, NOW, WITHOUT_US

__all__ = ["cli"]

REFUSED = f"has schema {NOW + 1}, this ramet knows {NOW}: upgrade ramet"
COMMANDS = """
audit-log | alerts | alerts ack 1 | alerts channels | alerts check | alerts test | backup {copy} | blocks list
blocks reoffer x | cancel x --reason r | costs | dashboard | doctor | exclude x --reason r | explain x | import {rows}
jobs company add https://a.example | jobs company list | jobs export csv | jobs init --sample | jobs matches
jobs rejected | jobs run --unscored | jobs sources add https://boards.greenhouse.io/a | jobs sources approve x
jobs sources disable x --reason r | jobs sources enable x | jobs sources list | jobs why x | jobs work
jobs add-openings {rows} | jobs look https://a.example/jobs/1 | jobs mark x applied | jobs rescore
jobs schedule daily | jobs schedule off | jobs schedule show | jobs schedule weekly
limit kind a --concurrency 1 | limit queue a --concurrency 1 | limit resource a --rate 1 | limits show
lineage raise x --max-tasks 9 | llm cancel x | llm delete x | llm results x | llm resume x | llm status
llm submit {prompts} --model gpt-5-mini --max-cost 1 --json | llm watch x | llm work | metrics
migrate | migrate --check | paths | pause --queue a | prune --older-than 9d | reclaim | resource close a
resource open a | resources | resume --queue a | retry x | schedule add node {json} --app {app} --every 60 --name n
schedule list | schedule pause n | schedule remove n | schedule resume n | schedule run n | settings get max_tasks
settings list | settings preset balanced | settings set max_tasks 9 | settings unset max_tasks | stages node | status
block a | serve | reprioritise x 3 | reschedule x --in 3 | unblock a
deny-list add domain a.example | deny-list list | deny-list remove domain a.example | submit {app} node {json} | tasks
tree x | wiki exclude x --reason r | wiki expand x --source {titles} --no-embed | wiki export csv | wiki neighbors x
wiki ask x --model gpt-5-mini --max-cost 1 | wiki entities x | wiki extract --model gpt-5-mini --max-cost 1 --yes
wiki query RETURN(1) | wiki rank | wiki refresh | wiki retry | wiki search x | wiki status | wiki work
worker {app} | workers
"""
"""Of every command that takes a database, one call; between bars."""
NOT_THESE = {"bench", "restore", "wiki demo"}
"""They make their databases; `restore` is below."""


def commands() -> list[list[str]]:
    return [words.split() for line in COMMANDS.strip().splitlines() for words in line.split(" | ")]


def with_a_database(command: click.Command, name: str = "") -> Iterator[str]:
    """Commands that take a database, as they are typed."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            found = command.get_command(context, part)
            assert found is not None
            yield from with_a_database(found, f"{name} {part}".strip())
            if isinstance(found, click.Group) and found.invoke_without_command:
                yield f"{name} {part}".strip()
    elif any("--db" in parameter.opts for parameter in command.params):
        yield name


@pytest.fixture
async def address(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a database with a task, which a later ramet took for itself."""
    await backend.open().close()
    with monkeypatch.context() as tomorrow:
        tomorrow.setattr(versions, "PLAN", WITHOUT_US)
        migrate(backend.address)
    return backend.address


def everything(address: str) -> dict[str, list[Any]]:
    """Every table's rows, whatever the schema."""
    if address.startswith("postgresql"):
        with psycopg.connect(address) as server:
            names = server.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
                                   "AND relkind IN ('r', 'p')").fetchall()  # fmt: skip
            rows = {name: server.execute(f"SELECT t::text FROM {name} t ORDER BY 1".encode()) for (name,) in names}
            return {name: found.fetchall() for name, found in rows.items()}
    with closing(sqlite3.connect(address)) as file:
        names = file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {name: file.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for (name,) in names}


def files(folder: Path, pattern: str) -> list[str]:
    return sorted(path.name for path in folder.glob(pattern) if path.is_file())


def test_every_command_that_takes_a_database_is_here() -> None:
    known = set(with_a_database(main))
    tried = {name for name in known for words in commands() if words[: len(name.split())] == name.split()}
    assert known - NOT_THESE == tried


def test_every_command_refuses_it(address: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    before, wrong = everything(address), {}
    put_there = {
        "prompts": ("prompts.jsonl", '{"prompt": "Why?", "max_output_tokens": 9}\n'),
        "rows": (
            "rows.jsonl",
            '{"id": "1", "type": "node", "url": "https://a.example/1", "title": "Engineer", "status": "pending", '
            '"created_at": 1}\n',
        ),
        "titles": ("titles.jsonl", '{"title": "x", "text": "A text."}\n'),
    }
    places = {name: tmp_path / file for name, (file, _) in put_there.items()}
    for name, (_, text) in put_there.items():
        places[name].write_text(text)
    given = {**places, "copy": tmp_path / "copy.db", "app": APP, "json": json.dumps({"name": "a"})}
    at = Cli(Path(address), address)
    for words in commands():
        filled = [word.format(**given) if word.startswith("{") else word for word in words]
        result = at.run(*filled)
        lines = result.stderr.splitlines()
        if (result.exit_code, result.stdout, len(lines)) != (2, "", 1) or REFUSED not in lines[0]:
            wrong[" ".join(words)] = result.output
    assert wrong == {}
    assert not (tmp_path / "copy.db").exists()
    assert everything(address) == before


async def test_clients_refuse_it(address: str) -> None:
    before, app = everything(address), App()
    with pytest.raises(StoreNewer, match=REFUSED):
        async with app.client(address):
            raise AssertionError("opened")
    with pytest.raises(StoreNewer, match=REFUSED), app.sync_client(address):
        raise AssertionError("opened")
    assert everything(address) == before


async def test_its_copies_are_refused_and_nothing_takes_the_place_of_what_is_there(
    address: str, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    copy, there = tmp_path / "copy.db", tmp_path / "there.db"
    with monkeypatch.context() as tomorrow:
        tomorrow.setattr(versions, "PLAN", WITHOUT_US)
        backup(address, copy)
    await open_store(there).close()
    before = everything(str(there))
    with pytest.raises(StoreNewer, match=REFUSED):
        restore(copy, there, force=True)
    with pytest.raises(StoreNewer, match=REFUSED):
        restore(copy, postgres_url)
    assert everything(str(there)) == before
    assert everything(postgres_url) == {}
    assert files(tmp_path, "there.db*") == ["there.db"]


async def test_a_later_database_that_is_made_for_us_is_copied_where_all_of_it_goes_along(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await backend.open().close()
    with monkeypatch.context() as tomorrow:
        tomorrow.setattr(versions, "PLAN", NEXT)
        migrate(backend.address)
    copy = tmp_path / "copy.db"
    if backend.address.startswith("postgresql"):  # Table by table: what only a later ramet knows would be left out.
        with pytest.raises(StoreNewer, match=REFUSED):
            backup(backend.address, copy)
        return
    backup(backend.address, copy)
    restore(copy, backend.address, force=True)
    assert "ramet_later" in everything(backend.address)
