"""A client's way to settings: ``client.settings``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from ramet.engine.settings.live import LiveSettings, preset_changes
from ramet.engine.settings.setting import LIMITS_PREFIX, SETTINGS, SETTINGS_SECONDS, Setting
from ramet.model.lineage.limits import PRESETS, Limits
from ramet.model.money import SOFT_AND_HARD
from ramet.store.requests import SettingChange
from ramet.store.store import Store


class SettingInForce(NamedTuple):
    """A setting and what holds now."""

    name: str
    value: Any
    default: Any
    stored: bool
    """False: the default holds."""
    value_type: str
    unit: str
    description: str
    reader: str
    updated_at: float | None


class Settings:
    """Reads and changes the settings of one database."""

    def __init__(self, store: Store, live: LiveSettings) -> None:
        self._store = store
        self.live = live
        self._read_at = float("-inf")
        self.monotonic = time.monotonic
        """A worker puts its clock's here."""

    async def refresh(self, age_seconds: float = SETTINGS_SECONDS) -> bool:
        """Read them again when what is known is older than this; True when something changed."""
        now = self.monotonic()
        if self.live.reader is self and now - self._read_at < age_seconds:
            return False
        stored = await self._store.settings()
        self._read_at, self.live.reader = now, self
        return self.live.update(stored)

    async def limits(self, declared: Limits) -> Limits:
        """Return the limits in force where code declared these."""
        await self.refresh()
        return self.live.limits(declared)

    async def all(self) -> list[SettingInForce]:
        """Every setting that there is, with what holds now: the engine's by name, then the others by name."""
        rows = {row.key: row for row in await self._store.setting_rows()}
        held = self.live.declared.sound({key: row.value for key, row in rows.items()})
        return [
            SettingInForce(
                name=item.name,
                value=held.get(item.name, item.default),
                default=item.default,
                stored=item.name in held,
                value_type=item.value_type,
                unit=item.unit,
                description=item.description,
                reader=item.reader,
                updated_at=rows[item.name].updated_at if item.name in held else None,
            )
            for item in self.live.declared.all()
        ]

    async def get(self, name: str) -> SettingInForce:
        """One setting.

        Raises:
            UnknownSetting: there is none of this name; names the nearest.
        """
        wanted = self.live.declared.known(name).name
        return next(item for item in await self.all() if item.name == wanted)

    async def set(self, name: str, value: Any, *, by: str = "client", reason: str | None = None) -> Any:
        """Store a setting; workers and clients act on it within a few seconds. Text is read as its type.

        Returns:
            The value as it is stored.

        Raises:
            UnknownSetting, ValueError: no such setting, another type, out of range; one line says what to give.
        """
        setting = self.live.declared.known(name)
        checked = setting.read(value) if isinstance(value, str) else setting.check(value)
        await self._change({setting.name: checked}, by=by, reason=reason)
        return checked

    async def check(self, name: str, value: Any) -> Any:
        """Return a value as :meth:`set` would store it; store nothing.

        Raises:
            UnknownSetting, ValueError: as :meth:`set`.
        """
        setting = self.live.declared.known(name)
        checked = setting.read(value) if isinstance(value, str) else setting.check(value)
        await self._check_together({setting.name: checked})
        return checked

    async def set_many(
        self, values: Mapping[str, Any], *, by: str = "client", reason: str | None = None
    ) -> dict[str, Any]:
        """Store several settings in one transaction: all of them, or none where one may not be.

        Args:
            values: by name, each as it is: text is not read as a number here. None for no limit.

        Returns:
            The values as they are stored, by full name.

        Raises:
            UnknownSetting, ValueError: as :meth:`set`, for the first that may not be; or one is given twice.
        """
        wanted: dict[str, Any] = {}
        for name, value in values.items():
            setting = self.live.declared.known(name)
            if setting.name in wanted:
                raise ValueError(f"{setting.name} is given twice: leave one of them out")
            wanted[setting.name] = setting.check(value)
        await self._change(wanted, by=by, reason=reason)
        return wanted

    async def unset(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Restore the default; return False when it was in force already. Also removes a row that is no longer read."""
        key = name if name in await self._store.settings() else self.live.declared.known(name).name
        change = SettingChange(key, remove=True)
        return bool(await self._store.change_settings([change], by=by, reason=reason))

    async def preset(self, name: str, *, by: str = "client", reason: str | None = None) -> dict[str, Any]:
        """Store the limits of a preset and unset those that it leaves at their default, all at once.

        Raises:
            ValueError: no such preset.
        """
        if name not in PRESETS:
            raise ValueError(f"no preset {name!r}: give {', '.join(PRESETS)}")
        wanted = preset_changes(name)
        stored = await self._store.settings()
        stale = [key for key in stored if key.startswith(LIMITS_PREFIX) and key not in wanted]
        changes = [SettingChange(key, remove=True) for key in stale]
        changes += [_row(SETTINGS[key], value) for key, value in wanted.items()]
        await self._store.change_settings(changes, by=by, reason=reason or f"preset {name}")
        return wanted

    async def _change(self, wanted: Mapping[str, Any], *, by: str, reason: str | None) -> None:
        await self._check_together(wanted)
        changes = [_row(self.live.declared.known(key), value) for key, value in wanted.items()]
        await self._store.change_settings(changes, by=by, reason=reason)

    async def _check_together(self, wanted: Mapping[str, Any]) -> None:
        """Refuse values that exclude each other, or one that is stored."""
        stored = self.live.declared.sound(await self._store.settings()) | dict(wanted)
        attempts, seconds = (stored.get(LIMITS_PREFIX + name, 0) for name in ("max_attempts", "task_seconds"))
        if attempts is None and seconds is None:
            raise ValueError("max_attempts and task_seconds cannot both be none: nothing would end such a task")
        for soft, hard in SOFT_AND_HARD:
            # A hard ceiling may come below its soft one: who operates a database can always tighten.
            if soft in wanted and None not in (stored[soft], stored.get(hard)) and stored[soft] > stored[hard]:
                raise ValueError(f"{soft} is {stored[soft]}: give at most {hard}, which is {stored[hard]}")


def _row(setting: Setting, value: Any) -> SettingChange:
    if value is None and setting.default is None:
        return SettingChange(setting.name, remove=True)
    kind = "json" if value is None else setting.value_type
    return SettingChange(setting.name, value, kind, setting.description)
