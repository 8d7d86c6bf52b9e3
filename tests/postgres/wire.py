"""The PostgreSQL protocol as far as one must read it to see a COMMIT go by and its answer come back.

Both directions consist of messages: a type byte, a length of four bytes that counts itself, a body. Only what a
client says first has no type: the start-up message, a request for encryption, or a request to cancel.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

LENGTH = struct.Struct("!I")
CANCEL, SSL, GSS = 80877102, 80877103, 80877104
"""What stands in place of a protocol version in the first message."""

_COMMIT = re.compile(rb"(?:^|;)\s*(?:COMMIT|END)\b", re.IGNORECASE)


class Message(NamedTuple):
    """One whole message."""

    type: bytes
    """Empty for what a client says first."""
    body: bytes
    raw: bytes
    """As it came, to be sent on."""

    @property
    def code(self) -> int:
        """Of a first message: which one it is."""
        return int(LENGTH.unpack_from(self.body)[0])


class Messages:
    """Cuts a stream into messages, however its bytes arrive."""

    def __init__(self, *, begins: bool) -> None:
        """``begins`` for the client's direction, whose first messages have no type."""
        self._buffer = bytearray()
        self._begins = begins

    def feed(self, data: bytes) -> Iterator[Message]:
        """Everything that is complete now."""
        self._buffer += data
        while (message := self._next()) is not None:
            if self._begins and message.code not in (SSL, GSS):
                self._begins = False
            yield message

    def _next(self) -> Message | None:
        start = 0 if self._begins else 1
        if len(self._buffer) < start + LENGTH.size:
            return None
        end = start + int(LENGTH.unpack_from(self._buffer, start)[0])
        if len(self._buffer) < end:
            return None
        raw = bytes(self._buffer[:end])
        del self._buffer[:end]
        return Message(raw[:start], raw[start + LENGTH.size :], raw)


class Commits:
    """Watches what one client says, and knows which message has the server commit."""

    def __init__(self) -> None:
        self._statements: dict[bytes, bytes] = {}
        """By name, of those that are prepared."""
        self._portals: dict[bytes, bytes] = {}

    def said(self, message: Message) -> bytes | None:
        """The statement of a message that is a COMMIT: a simple query that holds one, or the execution of one."""
        statement = b""
        if message.type == b"Q":
            statement = message.body
        elif message.type == b"P":
            name, prepared, _ = message.body.split(b"\0", 2)
            self._statements[name] = prepared
        elif message.type == b"B":
            portal, name, _ = message.body.split(b"\0", 2)
            self._portals[portal] = self._statements.get(name, b"")
        elif message.type == b"E":
            statement = self._portals.get(message.body.partition(b"\0")[0], b"")
        return statement if _COMMIT.search(statement) else None


def committed(message: Message) -> bool:
    """Whether a message of the server says that a COMMIT is done (and not that it ended as a rollback)."""
    return message.type == b"C" and message.body == b"COMMIT\0"


def failed(message: Message) -> bool:
    """Whether a message of the server is an error, or a COMMIT that ended as a rollback."""
    return message.type == b"E" or (message.type == b"C" and message.body == b"ROLLBACK\0")
