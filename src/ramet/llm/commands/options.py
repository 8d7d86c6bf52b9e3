"""Options that several of the commands share, and finding what they name."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import click

from ramet import AMOUNT_MAX, NANO_DOLLARS, Client
from ramet.commands import options
from ramet.llm.errors import JobNotFound, LlmError
from ramet.llm.jobs import Job, find_job, is_deleted
from ramet.llm.settings import DATABASE

database_option = options.database_option(DATABASE)


def in_nano_dollars(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Convert an amount of dollars that was typed to whole nano-dollars; the callback of an option.

    Raises:
        LlmError: it is not an amount, or is 0.
    """
    if value is None:
        return None
    flag = param.opts[0]
    try:
        amount = Decimal(value.strip().removeprefix("$"))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        raise LlmError(f"{flag} {value[:40]!r} is not an amount of dollars: give one like 12.50")
    if amount > AMOUNT_MAX // NANO_DOLLARS:
        raise LlmError(f"{flag} is {amount}: give at most {AMOUNT_MAX // NANO_DOLLARS:,} dollars")
    nano = int(amount * NANO_DOLLARS)
    if nano <= 0:
        raise LlmError(f"{flag} is {amount}: a ceiling of nothing lets nothing be asked; give dollars above 0")
    return nano


async def job_of(client: Client, name: str) -> Job:
    """Return a job that was not deleted.

    Raises:
        JobNotFound: there is none of this name, or none any more.
    """
    job = await find_job(client, name)
    if await is_deleted(client, job):
        raise JobNotFound(f"job {job.name} was deleted: `ramet llm status` lists those that are")
    return job
