"""The settings in force, for handlers and commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet import Client
from ramet.jobs.jobs_settings import PREFIX, JobsSettings


class _Latest:
    """What was made last: asked for by every task, made anew only when something changed."""

    def __init__(self) -> None:
        self._stored: dict[str, Any] = {}
        self._made = JobsSettings()

    def of(self, stored: Mapping[str, Any]) -> JobsSettings:
        mine = {name: value for name, value in stored.items() if name.startswith(PREFIX)}
        if mine != self._stored:
            self._stored, self._made = mine, JobsSettings.of(mine)
        return self._made


latest = _Latest()
"""Of this process."""


async def settings_in_force(client: Client) -> JobsSettings:
    """What holds now; a change reaches every process within a few seconds."""
    await client.settings.refresh()
    return latest.of(client.settings.live.stored)
