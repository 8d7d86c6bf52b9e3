"""What `examples/sentry.py` uses of sentry-sdk, for tests: writes what it is given as JSON lines, and sends nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def note(**fields: Any) -> None:
    """Add a line to the file that the test named."""
    with Path(os.environ["RAMET_TEST_SENTRY"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(fields) + "\n")


def init() -> None:
    """As the SDK's: once a process."""
    note(call="init")


def flush(timeout: float) -> None:
    """As the SDK's: waits until everything is sent."""
    note(call="flush", timeout=timeout)


class Scope:
    """Tags, level and transaction of what is reported within it."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}

    def set_transaction_name(self, name: str) -> None:
        """As the SDK's."""
        self._fields["transaction"] = name

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """As the SDK's."""
        self._fields["tags"] = dict(tags)

    def set_level(self, level: str) -> None:
        """As the SDK's."""
        self._fields["level"] = level

    def capture_exception(self, error: BaseException) -> None:
        """As the SDK's: reports it with the scope's fields."""
        note(call="capture", type=type(error).__name__, **self._fields)


@contextmanager
def isolation_scope() -> Iterator[Scope]:
    """As the SDK's: a scope of its own for one request."""
    yield Scope()
