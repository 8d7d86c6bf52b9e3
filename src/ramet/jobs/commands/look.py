"""`ramet jobs look`: one opening read and judged at once, and forgotten again unless it is to be kept."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.text import Text

from ramet import Client, InvalidKey, url_key
from ramet.commands.options import check_folder, json_option, person
from ramet.commands.terminal import console, emit, plain
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.commands.sources import EXIT_FAILED, work_until_ended
from ramet.jobs.commands.terminal import database_option
from ramet.jobs.commands.why import Why, find_listings, screen, why_of
from ramet.jobs.errors import InputError
from ramet.jobs.kinds import COMPANY, LISTING, ListingPayload
from ramet.jobs.pipeline import app
from ramet.jobs.settings import PREFIX

PAID = f"{PREFIX}model."
"""Settings that are left out of a look: it costs nothing."""


@click.command("look", short_help="Judge a single opening by its address.")
@click.argument("url")
@click.option("--keep", is_flag=True, help="Keep it as a listing, and as a match where it is one.")
@database_option
@json_option
def look(url: str, *, keep: bool, database: str, as_json: bool) -> None:
    """Fetch an opening, read and judge it with your profile, and show why, as `ramet jobs why` does.

    Nothing is kept, unless --keep is given; no model is asked then either. The company is looked at where the posting
    tells its site.
    """
    try:
        url_key(url)
    except InvalidKey as error:
        raise InputError(f"{plain(url)[:80]} is not a valid address of an opening: {error}") from None
    vendors()
    check_folder(database)
    told = asyncio.run(_kept(url, database) if keep else _seen(url, database))
    if told is None:
        raise InputError(f"{plain(url)[:200]}: nothing was read; `ramet jobs look` again, or open it yourself")
    if as_json:
        emit(told.as_json() | {"kept": keep})
    else:
        out = console()
        for part in screen(told, time.time()):
            out.print(part, soft_wrap=isinstance(part, Text) and "://" in part.plain)
        if not keep:
            click.echo("it is not kept; --keep keeps it")
    click.get_current_context().exit(EXIT_FAILED if told.listing.status == "unknown" else 0)


async def _seen(url: str, database: str) -> Why | None:
    """Judge it in a database of its own, with the settings of this one."""
    async with app.client(database, create=False) as client:
        stored = [one for one in await client.settings.all() if one.stored and one.name.startswith(PREFIX)]
    settings = {one.name: one.value for one in stored if not one.name.startswith(PAID)}
    with TemporaryDirectory(prefix="ramet-look-") as folder:
        async with app.client(str(Path(folder) / "look.db")) as client:
            if settings:
                await client.settings.set_many(settings, by=person(), reason="ramet jobs look")
                await client.settings.refresh(0.0)
            told = await _judged(client, url)
    # Its task is gone with the database.
    return None if told is None else dataclasses.replace(told, task=None)


async def _kept(url: str, database: str) -> Why | None:
    async with app.client(database, create=False) as client:
        return await _judged(client, url)


async def _judged(client: Client, url: str) -> Why | None:
    """Work on it, unless it is known; what is stored of it then."""
    asked = await client.submit(LISTING, ListingPayload(url=url))
    await work_until_ended(client, [asked.id], [LISTING, COMPANY])
    found = await find_listings(client, url)
    return await why_of(client, found[0]) if len(found) == 1 else None
