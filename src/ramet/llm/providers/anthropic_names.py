"""The ``custom_id`` of a batch's requests: what was asked, and under what submit key.

Anthropic keeps no metadata with a batch, and shows no more of it than these names, in its results. They have 64
characters of ``A-Z a-z 0-9 - _`` at most: 43 carry the request's key, 21 a digest of the submit key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

from ramet.llm.errors import Refused

KEY_CHARACTERS = 43
MARK_CHARACTERS = 21
_KEY = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_-]{64}")


def mark_of(submit_key: str) -> str:
    """The same for the same submit key; 126 bits."""
    return _text(hashlib.sha256(submit_key.encode()).digest())[:MARK_CHARACTERS]


def name_of(key: str, mark: str) -> str:
    """The ``custom_id`` of a request.

    Raises:
        Refused: the key is no 64 hexadecimal digits.
    """
    if _KEY.fullmatch(key) is None:
        raise Refused("the request's key is no 64 hexadecimal digits", "invalid_key")
    return _text(bytes.fromhex(key)) + mark


def read_name(name: object) -> tuple[str, str] | None:
    """The key and the mark in a ``custom_id``; None for one that is not ours."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return None
    try:
        key = base64.urlsafe_b64decode(name[:KEY_CHARACTERS] + "=")
    except binascii.Error:
        return None
    return key.hex(), name[KEY_CHARACTERS:]


def _text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
