"""Large values beside the rows: how they are named, and what form they had (DESIGN §8)."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from ramet.model.task.task import Json

REFERENCE = "$blob"
"""The key that marks a JSON object as a reference to a blob; its value is the content's SHA-256."""


class NewBlob(NamedTuple):
    """Content to keep, under its name."""

    sha256: str
    """64 hexadecimal digits."""
    content: bytes


def blob_of(content: bytes | str | Json) -> tuple[NewBlob, str]:
    """The blob of a value, and its form: ``bytes``, ``text`` (UTF-8) or ``json``."""
    if isinstance(content, bytes | bytearray | memoryview):
        raw, form = bytes(content), "bytes"
    elif isinstance(content, str):
        raw, form = content.encode(), "text"
    else:
        raw, form = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(), "json"
    return NewBlob(hashlib.sha256(raw).hexdigest(), raw), form


def value_of(content: bytes, form: str) -> bytes | str | Json:
    """The value that a blob was made of."""
    if form == "bytes":
        return content
    text = content.decode()
    return text if form == "text" else json.loads(text)
