"""Options that several of the commands share, and asking a database that must exist."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import Awaitable, Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

import click

from ramet import Client
from ramet.model.cost import AMOUNT_MAX, NANO_DOLLARS
from ramet.pipelines.llm.errors import JobNotFound, LlmError
from ramet.pipelines.llm.jobs import Job, find_job
from ramet.pipelines.llm.pipeline import app

DATABASE = "llm.db"

Result = TypeVar("Result")
Command = TypeVar("Command", bound=Callable[..., Any])


def in_nano_dollars(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """What was typed as an amount of dollars, as whole nano-dollars; the callback of an option.

    Raises:
        LlmError: it is no amount, or nothing.
    """
    if value is None:
        return None
    flag = param.opts[0]
    try:
        amount = Decimal(value.strip().removeprefix("$"))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        raise LlmError(f"{flag} {value[:40]!r} is no amount of dollars: give one like 12.50")
    if amount > AMOUNT_MAX // NANO_DOLLARS:
        raise LlmError(f"{flag} is {amount}: give at most {AMOUNT_MAX // NANO_DOLLARS:,} dollars")
    nano = int(amount * NANO_DOLLARS)
    if nano <= 0:
        raise LlmError(f"{flag} is {amount}: a ceiling of nothing lets nothing be asked; give dollars above 0")
    return nano


def database_option(command: Command) -> Command:
    """`--db`, as `database`."""
    return click.option(
        "--db",
        "database",
        envvar="RAMET_DB",
        default=DATABASE,
        show_default=True,
        show_envvar=True,
        metavar="DATABASE",
        help="A file, or postgresql://user:password@host:port/database (with a password better in RAMET_DB).",
    )(command)


def json_option(command: Command) -> Command:
    """`--json`, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="JSON on standard output, nothing else.")(command)


def ask(database: str, question: Callable[[Client], Awaitable[Result]]) -> Result:
    """Run a coroutine with a client of a database that must exist.

    Raises:
        StoreError: there is none, or it cannot be used.
    """

    async def asked() -> Result:
        async with app.client(database, create=False) as client:
            return await question(client)

    return asyncio.run(asked())


async def job_of(client: Client, name: str) -> Job:
    """A job that was not deleted.

    Raises:
        JobNotFound: there is none of this name, or none any more.
    """
    job = await find_job(client, name)
    if await is_deleted(client, job):
        raise JobNotFound(f"job {job.name} was deleted: `ramet llm status` lists those that are")
    return job


async def is_deleted(client: Client, job: Job) -> bool:
    """Whether a person deleted it."""
    rows = await client.read("SELECT 1 FROM llm_jobs WHERE job_id = ? AND deleted_at IS NOT NULL", (job.job_id,))
    return bool(rows)


def person() -> str:
    """Who is at the keyboard, for the record."""
    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def check_folder(database: str) -> None:
    """Refuse a database file in a folder that is not there.

    Raises:
        LlmError: it is not.
    """
    folder = Path(database).absolute().parent
    if "://" not in database and not folder.is_dir():
        raise LlmError(f"the folder {Path(database).parent} does not exist: create it or give another --db")


def database_words(place: str) -> list[str]:
    """Name a database in a command; one on a server is named in the environment, together with its password."""
    if "://" in place or place == DATABASE:
        return []
    path = Path(place)
    shown = str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else place
    return [] if shown == DATABASE else ["--db", shown]
