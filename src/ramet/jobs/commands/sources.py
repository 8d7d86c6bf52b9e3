"""Working on one task that a person waits for, until it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click

from ramet import Client, SubmitResult, Task, Worker, new_id
from ramet.commands.options import ask, check_folder, json_option
from ramet.commands.terminal import counted, emit, plain
from ramet.commands.worker import look_on, quiet_guard, run_until
from ramet.jobs import queries
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.commands.terminal import database_option
from ramet.jobs.companies.identity import company_id_of, website_of
from ramet.jobs.errors import InputError, JobsError, NotFound
from ramet.jobs.kinds import COMPANY, RESCORE, SOURCE_DISCOVERY, CompanyPayload, DiscoveryPayload
from ramet.jobs.pipeline import app
from ramet.jobs.queries import Source
from ramet.jobs.tasks.source_switch import disable_source, enable_source

LOOK_SECONDS = 0.1
"""Between two looks at whether it has ended."""


async def work_until_ended(client: Client, task_ids: Sequence[str], kinds: Sequence[str]) -> list[Task]:
    """Work on tasks of some kinds until they, and those that grew from them, have ended; return the tasks as they are.

    A task that is due later (its next attempt, a busy server) is not waited for. A signal ends the call earlier, after
    the claimed tasks.
    """

    async def look() -> list[Task]:
        found = [await client.get(task_id) for task_id in task_ids]
        return [task for task in found if task is not None]

    async def are_over() -> bool:
        found = await look()
        if not all(task.state.terminal for task in found):
            return False
        for tracking_id in {task.tracking_id for task in found}:
            live = [row for row in await client.counts(tracking_id) if row.state in LIVE and row.kind in kinds]
            if any(row.wait != DUE for row in live):
                return False
        return True

    async def until_ended() -> None:
        await look_on(are_over, LOOK_SECONDS, is_over=bool)

    with quiet_guard():
        await run_until(Worker(app, client, kinds=kinds), until_ended())
    return await look()


LIVE = ("pending", "processing", "stale")
DUE = "due"
"""Reason of the wait of a task whose time has not come."""
EXIT_FAILED = 2
"""Exit status where a company or a source cannot be taken."""
NAME_MAX = 200
"""Characters of a company's name."""
work_option = click.option("--no-work", is_flag=True, help="Only put it into the queue; `ramet jobs work` does it.")


@click.command("add", short_help="Look at companies.")
@click.argument("companies", nargs=-1, required=True, metavar="NAME|URL...")
@click.option("--name", help="Of the company, where one address is given.")
@work_option
@database_option
@json_option
def add_company(*, companies: tuple[str, ...], name: str | None, no_work: bool, database: str, as_json: bool) -> None:
    """Look at companies: what they do, where they are, and where their openings are listed.

    An address (acme.com, https://acme.com) is looked at. A name alone is only noted, until its address is known.
    """
    if name is not None and len(companies) != 1:
        raise click.UsageError("--name is for one company")
    # All are looked at before any is written.
    payloads = [company_payload(text, name) for text in companies]
    vendors()
    check_folder(database)
    entries: list[dict[str, Any]] | None = [] if as_json else None
    status = asyncio.run(add_companies(payloads, database, work=not no_work, entries=entries, again=True))
    if entries is not None:
        emit(entries)
    click.get_current_context().exit(status)


def company_payload(text: str, name: str | None = None) -> CompanyPayload:
    """Return the payload for the company that a person typed.

    Raises:
        InputError: the text is empty, or an address that does not belong to a company.
    """
    if is_address(text):
        website = website_of(text)
        return CompanyPayload(company_id=company_id_of(website, name), name=name, website=website, scrape=False)
    if len(text) > NAME_MAX:
        raise InputError(f"{plain(text)[:60]}… is longer than any company's name: give at most {NAME_MAX} characters")
    return CompanyPayload(company_id=company_id_of(None, text), name=" ".join(text.split()), scrape=False)


def is_address(text: str) -> bool:
    """Return whether a text is meant as an address: one word with a dot inside, or a scheme."""
    word = text.strip()
    return "://" in word or (not any(map(str.isspace, word)) and "." in word.strip("."))


async def add_companies(
    payloads: Sequence[CompanyPayload], database: str, *, work: bool, entries: list[dict[str, Any]] | None,
    again: bool = False,
) -> int:  # fmt: skip
    """Add companies, all or none, and look at them; return the exit status.

    Args:
        entries: list to which the result of each is added; None: the results are printed for people.
        again: look at those again that were looked at before.
    """
    async with app.client(database) as client:
        asked = await _ask_for(client, payloads, again=again)
        tasks = [one.id for one in asked if one.created]
        kinds = [COMPANY, SOURCE_DISCOVERY, RESCORE]
        ended = {task.id: task for task in await work_until_ended(client, tasks, kinds)} if work and tasks else {}
        lines = []
        for payload, one in zip(payloads, asked, strict=True):
            row = await queries.company_by_id(client, payload.company_id)
            task = ended.get(one.id)
            lines.append(
                {
                    "company": payload.company_id, "task": one.id, "created": one.created,
                    "state": None if task is None else task.state.value, "reason": _why(task),
                    "tier": row and row.tier, "job_board": row and row.job_board_url, "name": row and row.name,
                }
            )  # fmt: skip
        if entries is not None:
            entries += lines
        else:
            for line in lines:
                click.echo(_company_line(line, worked=work))
        return EXIT_FAILED if any(line["state"] == "failed" for line in lines) else 0


async def _ask_for(client: Client, payloads: Sequence[CompanyPayload], *, again: bool) -> Sequence[SubmitResult]:
    """Submit looks at companies; `again`: further ones where the last has ended."""
    asked = [*await client.submit_many([(COMPANY, payload) for payload in payloads])]
    further = {}
    for place, (payload, one) in enumerate(zip(payloads, asked, strict=True)):
        before = await client.get(one.id) if again and not one.created else None
        if before is not None and before.state.terminal:
            further[place] = (COMPANY, payload.model_copy(update={"again": new_id()}))
    for place, one in zip(further, await client.submit_many([*further.values()]) if further else (), strict=True):
        asked[place] = one
    return asked


def _why(task: Task | None) -> str | None:
    return None if task is None else task.why


def _company_line(entry: dict[str, Any], *, worked: bool) -> str:
    name = plain(entry["name"] or entry["company"])
    if not entry["created"]:
        return f"{name}: looked at already, or just now; `ramet explain {entry['task']}` tells when"
    if entry["state"] is None:
        return f"{name}: in the queue" + ("" if not worked else ", and not done yet: `ramet jobs work` goes on")
    if entry["state"] != "success":
        return f"{name}: {entry['state']}: {plain(entry['reason'] or 'no reason was given')}"
    tier = f"tier {entry['tier']}" if entry["tier"] else "no tier without a profile"
    board = (
        f"its openings are at {plain(entry['job_board'])}" if entry["job_board"] else "no list of openings was found"
    )
    return f"{name}: {tier}; {board}"


# --- sources --------------------------------------------------------------------------------------------------------


async def source_of(client: Client, text: str) -> Source:
    """Return the source that a person means: by its id or its address.

    Raises:
        NotFound: there is none.
    """
    found = await queries.source_by_id(client, text)
    if found is None:
        rows = await client.read(queries.SOURCES_BY_URL, (text,))
        found = Source.of(rows[0]) if len(rows) == 1 else None
    if found is None:
        raise NotFound(f"there is no source {plain(text)}: `ramet jobs sources list` shows them")
    return found


@click.command(short_help="Test sources that wait for a person, and enable them.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@work_option
@database_option
@json_option
def approve(*, sources: tuple[str, ...], no_work: bool, database: str, as_json: bool) -> None:
    """Test sources that were found with less than high confidence; those that answer as they should are enabled."""

    async def wanted(client: Client) -> list[DiscoveryPayload]:
        found = [await source_of(client, text) for text in sources]
        return [
            DiscoveryPayload(
                url=one.url, type_hint=one.source_type, company_id=one.company_id, company_name=one.company_name,
                confidence=one.confidence, approved=True, scrape=False, source_id=one.source_id,
            )
            for one in found
        ]  # fmt: skip

    payloads = ask(app, database, wanted)
    entries: list[dict[str, Any]] | None = [] if as_json else None
    status = asyncio.run(discover(payloads, database, create=False, work=not no_work, entries=entries))
    if entries is not None:
        emit(entries)
    click.get_current_context().exit(status)


async def discover(
    payloads: Sequence[DiscoveryPayload],
    database: str,
    *,
    create: bool,
    work: bool,
    entries: list[dict[str, Any]] | None,
) -> int:
    """Look for the boards at some addresses, all or none; return the exit status.

    Args:
        create: create the database where there is none.
        entries: list to which the result of each is added; None: the results are printed for people.
    """
    async with app.client(database, create=create) as client:
        asked = await client.submit_many([(SOURCE_DISCOVERY, payload) for payload in payloads])
        ids = [one.id for one in asked]
        ended = {task.id: task for task in await work_until_ended(client, ids, [SOURCE_DISCOVERY])} if work else {}
        lines = []
        for payload, one in zip(payloads, asked, strict=True):
            task = ended.get(one.id)
            result = task.result if task is not None and isinstance(task.result, dict) else {}
            lines.append(
                {
                    "url": payload.url, "task": one.id, "state": None if task is None else task.state.value,
                    "reason": _why(task), "source": result.get("source"), "enabled": result.get("enabled"),
                    "listings": result.get("listings"),
                }
            )  # fmt: skip
        failed = [line for line in lines if line["state"] == "failed"]
        if entries is not None:
            entries += lines
        else:
            for line in lines:
                click.echo(_source_line(line, worked=work), err=line in failed)
        return EXIT_FAILED if failed else 0


def _source_line(entry: dict[str, Any], *, worked: bool) -> str:
    url = plain(entry["url"])
    if entry["state"] is None or entry["state"] in ("pending", "processing"):
        return f"{url}: in the queue" + (", and not done yet: `ramet jobs work` goes on" if worked else "")
    if entry["state"] != "success":
        return f"{url}: {entry['state']}: {plain(entry['reason'] or 'no reason was given')}"
    word = "enabled" if entry["enabled"] else "tested, and waits for a person"
    return f"{plain(entry['source'])}: {word}; it shows {counted(entry['listings'] or 0, 'opening')}"


@click.command(short_help="Scrape a source again that was switched off.")
@click.argument("source")
@click.option("--allow-empty", is_flag=True, help="From now on believe it when it shows no openings.")
@click.option("--reason", metavar="TEXT", help="Why, for the record.")
@database_option
@json_option
def enable(*, source: str, allow_empty: bool, reason: str | None, database: str, as_json: bool) -> None:
    """Scrape a source again that was switched off, by a person or by five failed runs one after the other."""

    async def act(client: Client) -> None:
        found = await source_of(client, source)
        if not found.is_readable:
            raise JobsError(
                f"{plain(found.source_id)} was never tested: `ramet jobs sources approve {plain(found.source_id)}` "
                "tests it and enables it"
            )
        await enable_source(client, found.source_id, allow_empty=allow_empty, reason=reason)
        if as_json:
            emit({"source": found.source_id, "enabled": True})
        else:
            click.echo(f"{plain(found.source_id)} is enabled")

    ask(app, database, act)


@click.command(short_help="Let a source be.")
@click.argument("source")
@click.option("--reason", metavar="TEXT", help="Why, for the record.")
@database_option
@json_option
def disable(*, source: str, reason: str | None, database: str, as_json: bool) -> None:
    """Scrape a source no more, until it is enabled again. Its listings and matches stay."""

    async def act(client: Client) -> None:
        found = await source_of(client, source)
        await disable_source(client, found.source_id, reason=reason)
        if as_json:
            emit({"source": found.source_id, "enabled": False})
        else:
            click.echo(f"{plain(found.source_id)} is disabled")

    ask(app, database, act)
