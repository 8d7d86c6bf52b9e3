"""Settings in force: what is stored, and the limits that follow from it (DESIGN §8, §11).

A stored setting replaces a built-in default. Where code gave a value of its own, the stricter of the two holds: an
operator can always tighten, and loosens only what the code left open. A name that is not declared is refused, so that a
misspelt setting cannot be believed to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

from ramet.engine.settings.declared import DeclaredSettings
from ramet.engine.settings.setting import LIMITS_PREFIX
from ramet.model.lineage.limits import BALANCED, PRESETS, Limits, soft_within

KEPT_MAX = 256
"""Limits as code declared them for which those in force are remembered: kinds have few, submits bring their own."""


def preset_changes(name: str) -> dict[str, Any]:
    """Return the changes that a preset stores: each limit in which it differs from the default; None removes a stored
    one.
    """
    limits = PRESETS[name]
    return {
        LIMITS_PREFIX + item.name: getattr(limits, item.name)
        for item in fields(Limits)
        if getattr(limits, item.name) != getattr(BALANCED, item.name)
    }


class LiveSettings:
    """Stored settings, as last read, and the limits that follow from them."""

    def __init__(self, declared: DeclaredSettings | None = None) -> None:
        self.declared = declared or DeclaredSettings()
        """Settings that exist."""
        self._stored: dict[str, Any] = {}
        self._limits: dict[str, Any] = {}
        self._in_force: dict[int, tuple[Limits, Limits]] = {}
        """Limits in force by identity of the declared ones, which the entry keeps alive: hashing them costs more than
        the rest.
        """
        self.reader: object = None
        """Reader that read last: programs with several databases read again when they change between them."""

    @property
    def stored(self) -> dict[str, Any]:
        """Sound stored values by name."""
        return self._stored

    def update(self, stored: Mapping[str, Any]) -> bool:
        """Take over what was read; True when it differs from what was known."""
        found = self.declared.sound(stored)
        if found == self._stored:
            return False
        known_limits = {item.name for item in fields(Limits)}
        self._stored = found
        self._limits = {
            name.removeprefix(LIMITS_PREFIX): value
            for name, value in found.items()
            if name.startswith(LIMITS_PREFIX) and name.removeprefix(LIMITS_PREFIX) in known_limits
        }
        self._in_force = {}
        return True

    def value(self, name: str) -> Any:
        """Return the stored value, or the default; as last read, which :meth:`Settings.refresh` does.

        Raises:
            UnknownSetting: it is not declared.
        """
        found = self._stored[name] if name in self._stored else self.declared.known(name).default
        return deepcopy(found) if isinstance(found, list | dict) else found

    def limits(self, declared: Limits) -> Limits:
        """Return the limits in force where code declared these."""
        if not self._limits:
            return declared
        pair = self._in_force.get(id(declared))
        if pair is None:
            if len(self._in_force) >= KEPT_MAX:
                self._in_force = {}
            pair = self._in_force[id(declared)] = (declared, in_force(declared, self._limits))
        return pair[1]


def in_force(declared: Limits, stored: Mapping[str, Any]) -> Limits:
    """Return the limits in force: a stored value replaces a built-in default; of a stored and a declared value the
    stricter holds.
    """
    changed = {}
    for name, value in stored.items():
        mine = getattr(declared, name)
        if mine == getattr(BALANCED, name) or mine is None:
            changed[name] = value
        elif value is not None:
            changed[name] = min(mine, value)
    found = {item.name: getattr(declared, item.name) for item in fields(Limits)} | changed
    if found["max_attempts"] is None and found["task_seconds"] is None:
        # Two settings that exclude each other: the one that ends things stays (promise I6).
        changed["max_attempts"] = declared.max_attempts if declared.max_attempts is not None else BALANCED.max_attempts
    changed["soft_cost"] = soft_within(found["soft_cost"], found["max_cost"])
    return replace(declared, **changed)


class Tuning:
    """Times and sizes of a worker: those given to its constructor, else the settings in force, read at each use."""

    def __init__(
        self,
        live: LiveSettings,
        *,
        lease_seconds: float | None = None,
        heartbeat_seconds: float | None = None,
        sweep_seconds: float | None = None,
        poll_seconds: float | None = None,
    ) -> None:
        self._live = live
        self._lease, self._heartbeat = lease_seconds, heartbeat_seconds
        self._sweep, self._poll = sweep_seconds, poll_seconds

    def _value(self, given: float | None, name: str) -> float:
        return float(self._live.value(name)) if given is None else given

    def lease_seconds(self) -> float:
        """Return the seconds for which the next claim lives without a heartbeat."""
        return self._value(self._lease, "worker.lease_seconds")

    def heartbeat_seconds(self) -> float:
        """Until the next heartbeat; never so long that a lease would end with two of them lost."""
        return min(self._value(self._heartbeat, "worker.heartbeat_seconds"), self.lease_seconds() / 3)

    def sweep_seconds(self) -> float:
        """Between rounds of maintenance that found nothing to do."""
        return self._value(self._sweep, "maintenance.sweep_seconds")

    def poll_seconds(self) -> float:
        """Return the seconds for which an idle worker waits to be woken."""
        return self._value(self._poll, "worker.poll_seconds")

    def retention_days(self) -> float | None:
        """Return the days for which ended lineages are kept; None for ever."""
        days: float | None = self._live.value("maintenance.retention_days")
        return days
