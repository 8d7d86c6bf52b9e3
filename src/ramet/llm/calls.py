"""Calls to a provider from tasks: which provider, under which settings, for how long, and what it may cost.

Settings of a job are read once for a database, and a provider is opened once in an event loop, to which it belongs.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ramet import Client, Context, Permanent
from ramet.llm.answers import Check, open_check
from ramet.llm.providers.base import Caps, Mode, Provider, Rate
from ramet.llm.providers.registry import open_provider
from ramet.llm.requests import Request
from ramet.llm.settings import JOB, JOB_KEY, ItemPayload, JobSettings

KEYS = {"openai": ("OPENAI_API_KEY",), "anthropic": ("ANTHROPIC_API_KEY",)}
ANY_KEY = "RAMET_LLM_API_KEY"
"""The key to the provider of an llm job; goes before the provider's own variable, `OPENAI_API_KEY` or
`ANTHROPIC_API_KEY`."""
JOBS_KEPT = 1_000
WAIT_HERE_SECONDS = 20.0
"""A shorter wait for a rate is not worth giving the claim back."""

Opened = dict[tuple[str, Mode, str | None], Provider]
Opener = Callable[[JobSettings], Provider]


class JobGone(Permanent):
    """The job's first task is not there any more: its lineage was pruned under it."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job in the hands of a task."""

    job_id: str
    settings: JobSettings
    provider: Provider
    check: Check | None

    @property
    def caps(self) -> Caps:
        """What the provider can do."""
        return self.provider.caps


class Calling:
    """What the tasks of one process share."""

    def __init__(self) -> None:
        self.opener: Opener = open_from_environment
        """How providers are opened; tests put their own here."""
        self._settings: WeakKeyDictionary[object, dict[str, JobSettings]] = WeakKeyDictionary()
        """By the store of a database: the id of a job is made of its name, which another database may have as well."""
        self._providers: WeakKeyDictionary[asyncio.AbstractEventLoop, Opened] = WeakKeyDictionary()

    async def job(self, client: Client, job_id: str) -> Job:
        """The job of a lineage.

        Raises:
            JobGone: there is no such job.
            LlmError: its provider cannot be opened here.
        """
        known = self._settings.setdefault(client.store, {})
        settings = known.get(job_id)
        if settings is None:
            if len(known) >= JOBS_KEPT:
                known.clear()
            settings = known[job_id] = await settings_of(client, job_id)
        place = settings.provider, settings.mode, settings.base_url
        opened = self._providers.setdefault(asyncio.get_running_loop(), {})
        provider = opened.get(place)
        if provider is None:
            provider = opened[place] = self.opener(settings)
        return Job(job_id, settings, provider, open_check(None, settings.check))

    async def close(self) -> None:
        """Close what was opened in this event loop."""
        for provider in self._providers.pop(asyncio.get_running_loop(), {}).values():
            await provider.close()
        self._settings.clear()


async def settings_of(client: Client, job_id: str) -> JobSettings:
    """What a job was asked to do.

    Raises:
        JobGone: there is no such job.
    """
    page = await client.tasks(tracking_id=job_id, kind=JOB, key=JOB_KEY, limit=1)
    if not page.tasks:
        raise JobGone(f"job {job_id} has no settings any more: was it pruned?")
    return JobSettings.model_validate(page.tasks[0].payload)


def key_for(provider: str) -> str | None:
    """The key to a provider, from the environment of who works."""
    for name in (ANY_KEY, *KEYS.get(provider, ())):
        if os.environ.get(name):
            return os.environ[name]
    return None


def open_from_environment(settings: JobSettings) -> Provider:
    """The provider of a job, with the key that is in the environment.

    Raises:
        LlmError: it cannot be opened.
    """
    return open_provider(
        settings.provider, settings.mode, base_url=settings.base_url, api_key=key_for(settings.provider)
    )


# A line for each request of a hundred thousand tells nobody anything.
logging.getLogger("httpx2").setLevel(logging.WARNING)

calling = Calling()


def request_of(key: str, payload: ItemPayload) -> Request:
    """What a task asks."""
    return Request(
        key, payload.model, payload.messages, payload.max_output_tokens, payload.parameters, payload.answer_schema
    )


async def learn_rates(ctx: Context, job: Job, model: str, rates: tuple[Rate, ...]) -> None:
    """Take over what an answer's headers told."""
    for rate in rates:
        await ctx.adapt(
            job.settings.resource(model, rate.of),
            limit_per_minute=rate.limit,
            remaining=rate.remaining,
            reset_seconds=rate.reset_seconds,
        )


async def take_turn(ctx: Context, job: Job, model: str, wanted: dict[str, float]) -> float:
    """Take from the rates of a model, as ``{"requests": 1, "tokens": n}``; waits here only where that is short.

    Returns:
        0.0 when they were taken, else seconds until there may be room.
    """
    named = {job.settings.resource(model, of): amount for of, amount in wanted.items()}
    # Asking again at the moment that was told keeps the job's place; a snooze would be back at the next poll only.
    while (seconds := await ctx.take(named)) > 0.0:
        if seconds > min(WAIT_HERE_SECONDS, ctx.remaining_seconds / 10.0):
            return seconds
        await asyncio.sleep(seconds)
    return 0.0
