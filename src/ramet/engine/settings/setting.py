"""The engine's own settings, each with its type, default, unit and bounds (DESIGN §8, §11)."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Coroutine
from dataclasses import fields
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ramet.model.alerts.notifications import LINK_SETTING, NoticeRules
from ramet.model.alerts.rules import MonitorLimits
from ramet.model.lineage.limits import (
    BALANCED,
    HEARTBEAT_SECONDS,
    LEASE_SECONDS,
    PATH_HOLD_SECONDS_MAX,
    PATH_HOLD_SETTING,
    RESOURCE_PAUSE_SECONDS_MAX,
    RESOURCE_PAUSE_SETTING,
    Limits,
)
from ramet.model.money import DAY_SETTING, DAY_SOFT_SETTING, GLOBAL_SETTING, GLOBAL_SOFT_SETTING, amount_of, dollars
from ramet.model.task.retry import Retry

RETRY_SETTING = "retry.kinds"
"""The setting that replaces what kinds say of their retries."""
SETTINGS_SECONDS = 2.0
"""Most seconds since a worker or client read the settings."""
SWEEP_SECONDS = 5.0
POLL_SECONDS = 1.0
RETENTION_DAYS = 30.0
LIMITS_PREFIX = "limits."
MESSAGE_CHARACTERS_MAX = 500
"""Most characters of a check's message about a value."""


NANO_DOLLARS_UNIT = "nano-dollars"
"""Values of this unit are money. People type and read dollars, as everywhere: ``0.05`` or ``$0.05``."""
_DOLLARS = re.compile(r"[\d_]+(\.\d*)?|\.\d+")
DOLLARS_TYPED_MAX = 1_000_000
"""A larger bare number was meant as nano-dollars."""
_LARGEST = {"int": 2**63 - 1, "float": sys.float_info.max}


class Setting(NamedTuple):
    """One thing that can be set while programs run, with ``ramet settings set`` or :meth:`Client.settings`.

    A package declares its own in the entry-point group ``ramet.settings`` (the value is an iterable of these), an app
    with ``App(settings=[...])``. Handlers read ``ctx.client.settings.live.value(name)``.
    """

    name: str
    """Name with a prefix and a dot; prefixes of the engine's own settings are taken."""
    value_type: str
    """``int``, ``float``, ``string`` or ``json``."""
    default: Any
    unit: str
    description: str
    reader: str
    """Part of the system that acts on it."""
    minimum: float = 0.0
    """Least value of a number; ``-inf`` for any."""
    maximum: float = math.inf
    optional: bool = False
    """May be ``none``: no limit of this kind."""
    check_value: Callable[[Any], Any] | None = None
    """Called with a value of the right type: returns the value as it is to be stored, or raises ValueError."""
    on_change: Callable[[str], Coroutine[Any, Any, str | None]] | None = None
    """Called by `ramet settings set` and `unset` with the database after they have changed it; returns a line to show,
    or None. The setting stays changed, whatever comes of the call.
    """

    def read(self, text: str) -> Any:
        """Return the value of a typed text.

        Raises:
            ValueError: it has another type or is out of range; one line says what to give.
        """
        if text.strip().lower() in ("none", "null"):
            return self.check(None)
        if self.unit == NANO_DOLLARS_UNIT:
            return self.check(self._dollars(text.strip()))
        readers: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "string": str, "json": json.loads}
        try:
            value = readers[self.value_type](text)
        except ValueError as error:
            raise ValueError(f"{self.name} is {text!r}: give {self._range_text()}") from error
        return self.check(value)

    def _dollars(self, text: str) -> str | int:
        """Return the amount that a bare number of dollars is; other text as it is."""
        if not _DOLLARS.fullmatch(text):
            return text
        if float(text) > DOLLARS_TYPED_MAX:
            whole = f"for this number of nano-dollars type '{text} nano-dollars'"
            raise ValueError(f"{self.name} is {text!r}: give dollars, at most {DOLLARS_TYPED_MAX:,}; {whole}")
        return dollars(text)

    def check(self, value: Any) -> Any:
        """Return the value as it is stored, when it may be.

        Raises:
            ValueError: it may not; one line says what to give.
        """
        typed = self._typed(value)
        if self.check_value is None or typed is None:
            return typed
        try:
            return self._typed(self.check_value(typed))
        except Exception as error:
            # An error of another package's check of a wrong value must not end a worker that reads its settings.
            raise ValueError(f"{self.name}: {_one_line(error)}") from error

    def _typed(self, value: Any) -> Any:
        if value is None:
            if not self.optional:
                raise ValueError(f"{self.name} cannot be none: give {self._range_text()}")
            return None
        if self.unit == NANO_DOLLARS_UNIT and isinstance(value, Decimal | str):
            value = amount_of(value, f"{self.name} is")
        if self.value_type in ("int", "float"):
            numeric = isinstance(value, int | float) and not isinstance(value, bool)
            if not numeric or (self.value_type == "int" and value % 1 != 0):
                raise ValueError(f"{self.name} is {value!r}: give {self._range_text()}")
            if abs(value) > _LARGEST[self.value_type]:
                raise ValueError(f"{self.name} is larger than any database holds: give {self._range_text()}")
            if not self.minimum <= value <= self.maximum:
                raise ValueError(f"{self.name} is {value:g}: give {self._range_text()}")
            return int(value) if self.value_type == "int" else float(value)
        if self.value_type == "string" and not isinstance(value, str):
            raise ValueError(f"{self.name} is {value!r}: give {self._range_text()}")
        if self.value_type == "json":
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError, RecursionError) as error:
                raise ValueError(
                    f"{self.name} cannot be written as JSON ({error}): give {self._range_text()}"
                ) from error
        return value

    def _range_text(self) -> str:
        kinds = {"int": "a whole number", "float": "a number", "string": "text", "json": "a JSON value"}
        if self.value_type not in ("int", "float"):
            return kinds[self.value_type]
        least, most = f"{self.minimum:,.10g}", f"{self.maximum:,.10g}"
        bounds = f", {least} to {most}" if self.maximum < math.inf else f", {least} or more"
        if self.minimum == -math.inf:
            bounds = f", {most} or less" if self.maximum < math.inf else ""
        none = ", or none" if self.optional else ""
        return f"{kinds[self.value_type]}{f' of {self.unit}' if self.unit else ''}{bounds}{none}"


def _one_line(error: Exception) -> str:
    """Return the message of a check on one line."""
    from pydantic_core import ValidationError

    if isinstance(error, ValidationError):
        found = [(".".join(map(str, item["loc"])), item["msg"]) for item in error.errors(include_url=False)]
        message = "; ".join(f"{where}: {what}" if where else what for where, what in found)
    else:
        message = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return " ".join(message.split())[:MESSAGE_CHARACTERS_MAX]


_LIMITS: dict[str, tuple[str, str, str, float]] = {
    "max_spawn_depth": ("generations", "largest spawn_depth of any task of a new lineage", "submit, schedules", 0),
    "max_tasks": ("tasks", "tasks that a new lineage may ever create", "submit, schedules", 1),
    "max_fan_out": ("tasks", "children that one task may ever create", "submit, schedules", 0),
    "max_shape": ("keys", "keys of one shape in a lineage, for kinds with trap", "spawn guard", 1),
    "retries_per_minute": ("retries", "retries of a lineage in a minute; one more is put off", "settling", 1),
    "schedule_seconds": ("seconds", "between slots of a schedule that names no times", "schedules", 1),
    "max_chain_depth": ("times", "how often a new task may continue itself", "submit, spawn", 0),
    "call_seconds": ("seconds", "one provider or HTTP call", "pipelines", 0.001),
    "call_retries": ("retries", "of one provider or HTTP call", "pipelines", 0),
    "task_seconds": ("seconds", "from a new task's first claim to its end", "submit, spawn", 0.001),
    "lineage_seconds": ("seconds", "from a new lineage's first availability to its end", "submit, schedules", 0.001),
    "invocation_seconds": ("seconds", "wall clock of one handler call", "worker", 0.001),
    "invocation_items": ("items", "that one handler call may take on", "pipelines", 1),
    "invocation_concurrency": ("calls", "that one handler call has in flight at once", "pipelines", 1),
    "max_attempts": ("attempts", "of a new task, the first run included", "submit, spawn", 1),
    "max_cost": ("nano-dollars", "that a new lineage may spend; once passed, its calls end", "reserve, charge", 0),
    "soft_cost": ("nano-dollars", "soft ceiling of the reservations of a new lineage", "reserve", 0),
    "blob_bytes_max": ("bytes", "of one blob", "blobs", 1),
    "lineage_blob_bytes_max": ("bytes", "of all blobs of a lineage", "blobs", 1),
    "payload_bytes_max": ("bytes", "of a payload", "submit, spawn", 1),
    "pipeline_state_bytes_max": ("bytes", "of a pipeline_state", "checkpoint", 1),
}
"""Unit, description, reader and minimum of the limits; the model has their defaults."""


def _limit_settings() -> list[Setting]:
    found = []
    for item in fields(Limits):
        default = getattr(BALANCED, item.name)
        text = str(item.type)
        if "int" not in text and "float" not in text:
            continue
        unit, description, reader, minimum = _LIMITS.get(item.name, ("", "a limit", "engine", 0))
        found.append(
            Setting(
                LIMITS_PREFIX + item.name, "int" if "int" in text else "float", default, unit, description, reader,
                minimum, optional="None" in text,
            )
        )  # fmt: skip
    return found


_OTHERS = (
    Setting("worker.lease_seconds", "float", LEASE_SECONDS, "seconds", "time that a claim holds without a heartbeat",
            "worker, at the next claim", 1, 86_400),
    Setting("worker.heartbeat_seconds", "float", HEARTBEAT_SECONDS, "seconds",
            "between heartbeats, at most a third of the lease", "worker", 0.1, 28_800),
    Setting("worker.poll_seconds", "float", POLL_SECONDS, "seconds", "longest time between two looks of an idle worker",
            "worker", 0.01, 3_600),
    Setting("maintenance.sweep_seconds", "float", SWEEP_SECONDS, "seconds",
            "between rounds of maintenance that found nothing to do", "maintenance, schedules", 0.01, 3_600),
    Setting("maintenance.retention_days", "float", RETENTION_DAYS, "days",
            "time for which an ended lineage is kept, then pruned", "maintenance", 0.01, 36_500, optional=True),
    Setting(PATH_HOLD_SETTING, "float", PATH_HOLD_SECONDS_MAX, "seconds",
            "a task that comes back later than this gives its place on its path up", "settling", 0, 30 * 86_400),
    Setting(RESOURCE_PAUSE_SETTING, "float", RESOURCE_PAUSE_SECONDS_MAX, "seconds",
            "longest pause of a resource that a server asks for", "settling", 1, 30 * 86_400),
    Setting(DAY_SETTING, "int", None, "nano-dollars", "spent and reserved on one UTC day; once passed, its calls end",
            "reserve, charge", optional=True),
    Setting(DAY_SOFT_SETTING, "int", None, "nano-dollars", "soft ceiling of the reservations of a UTC day",
            "reserve", optional=True),
    Setting(GLOBAL_SETTING, "int", None, "nano-dollars", "spent and reserved in all; once passed, all calls end",
            "reserve, charge", optional=True),
    Setting(GLOBAL_SOFT_SETTING, "int", None, "nano-dollars", "soft ceiling of all reservations", "reserve",
            optional=True),
)  # fmt: skip

_MONITOR = {
    "seconds": ("seconds", "between looks of the monitor, over all workers", 1),
    "demands_max": ("demands", "for one kind and key of a lineage, without an alert; a kind may set its own", 0),
    "key_demands_max": ("demands", "for one key of a lineage whatever the kind, without an alert", 0),
    "depth_max": ("generations", "largest spawn_depth without an alert", 0),
    "quiet_seconds": ("seconds", "an alert is resolved after this time without a new finding", 1),
    "window_seconds": ("seconds", "how far back task time-outs and failed lineages are counted", 60),
    "chain_runs": ("runs", "the newest of a schedule, looked at for chains at their limit", 1),
    "failed_runs": ("runs", "of a schedule that failed in a row, from which on there is an alert", 1),
    "chain_ends_max": ("runs", "of these that stopped at max_chain_depth with work left, without an alert", 0),
    "timeouts_max": (
        "tasks",
        "of a kind, or of all, ended by their own deadline within the window, without an alert",
        0,
    ),
    "failed_share_max": ("share", "of lineages that ended within the window and failed, without an alert", 0),
    "failed_of_min": ("lineages", "that ended, from which on the share counts", 1),
    "failed_max": ("lineages", "that failed within the window, without an alert, whatever their share", 0),
    "errors_share_max": ("share", "of a schedule's newest invocations that ended in an error, without an alert", 0),
    "errors_of_min": ("invocations", "from which on the share counts", 1),
    "lost_max": ("attempts", "of a kind, or of all, lost within the window, without an alert", 0),
    "budget_share": ("share", "of a budget of tasks, depth, cost or time, from which on there is an alert", 0.5),
    "budget_of_min": ("tasks", "limits of tasks (and of depth) from which on a share of them counts", 1),
    "grace_seconds": ("seconds", "without a live lease, or waiting for what is gone, without an alert", 0),
    "storm_max": ("retries", "of a lineage put off between two looks, without an alert", 0),
    "errors_max": ("invocations", "of these that ended in an error, without an alert, whatever their share", 0),
}

_ALERTS = {
    "cooldown_seconds": ("seconds", "an alert that fires again so soon after it resolved is not sent again", 0),
    "repeat_seconds": (
        "seconds",
        "between two notices of a firing alert that is not acknowledged; none: sent once",
        60,
    ),
    "attempts_max": ("attempts", "to send a notice, before it is given up", 1),
    "each_look_max": ("alerts", "that one look tells of one by one; further ones are summed up", 1),
}


def _alert_settings() -> list[Setting]:
    return [
        Setting(f"alerts.{name}", "int" if isinstance(default, int) else "float", default, *_ALERTS[name][:2],
                "monitor, notices", _ALERTS[name][2], optional=name == "repeat_seconds")
        for name, default in NoticeRules()._asdict().items()
    ]  # fmt: skip


def _address(value: str) -> str:
    """Return a base of links, checked: people follow them."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError(
            f"{value!r} is not a valid address: give one such as https://ramet.example.org, without user or query"
        )
    return value.rstrip("/")


def _policies(value: Any) -> Any:
    """Fields of a Retry by kind, checked."""
    if not isinstance(value, dict) or not all(isinstance(fields, dict) for fields in value.values()):
        raise ValueError('give an object such as {"page": {"base_seconds": 5}, "*": {"cap_seconds": 600}}')
    for kind, given in value.items():
        try:
            Retry(**given)
        except TypeError:
            known = ", ".join(item.name for item in fields(Retry))
            raise ValueError(f"the fields of {kind!r} are not all numbers for {known}") from None
    return value


_RETRIES = Setting(RETRY_SETTING, "json", {}, "", "replaces fields of the retry policy, by kind; * for all kinds",
                   "workers; attempts: submit, spawn", check_value=_policies)  # fmt: skip

_DASHBOARD = Setting(LINK_SETTING, "string", None, "", "where people reach the dashboard: links to alerts begin so",
                     "alerts", optional=True, check_value=_address)  # fmt: skip


def _monitor_settings() -> list[Setting]:
    return [
        Setting(f"monitor.{name}", "int" if isinstance(default, int) else "float", default,
                *_MONITOR.get(name, ("", "of the monitor", 0))[:2], "monitor", _MONITOR.get(name, ("", "", 0))[2])
        for name, default in MonitorLimits()._asdict().items()
    ]  # fmt: skip


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (*_limit_settings(), *_OTHERS, *_monitor_settings(), *_alert_settings(), _DASHBOARD, _RETRIES)
}
"""The engine's own settings, by name."""
