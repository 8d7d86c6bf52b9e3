"""What the stand-in knows, and what a call needs of the server that it came to."""

from __future__ import annotations

import itertools
import socket
import threading
from collections import deque
from pathlib import Path
from typing import Any, Protocol

from ramet.llm.testing.batches import Batches
from ramet.llm.testing.files import Files
from ramet.llm.testing.journal import Journal
from ramet.llm.testing.limiter import Limiter
from ramet.llm.testing.responses import Responses
from ramet.llm.testing.script import Faults, Script

REMEMBERED_MAX = 10_000


class World:
    """All that the stand-in knows, for one script."""

    def __init__(self, script: Script, folder: Path) -> None:
        """Nothing was asked yet."""
        self.script = script
        self.journal = Journal()
        self.faults = Faults(script)
        self.limiter = Limiter(script.requests_per_minute, script.tokens_per_minute)
        self.files = Files(folder)
        self.responses = Responses(script, self.journal)
        self.batches = Batches(script, self.journal, self.files)
        self.numbers = itertools.count(1)
        self.calls: deque[dict[str, Any]] = deque(maxlen=REMEMBERED_MAX)
        """The last calls: ``method``, ``path``, ``headers`` (lower case), ``answered`` (a status or a fault)."""
        self.statuses: deque[str] = deque(maxlen=REMEMBERED_MAX)
        """The last states of responses and batches that were shown."""


class Running(Protocol):
    """The part of a running stand-in that its calls use."""

    world: World
    stopping: threading.Event

    def begin(self, script: Script) -> None:
        """Forget everything and follow another script."""
        ...


def hang_up(connection: socket.socket) -> None:
    """End a connection, whatever was on its way."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # The client was faster.
        return
