"""Identifiers: UUID version 7, so that ids made one after the other sort one after the other."""

from __future__ import annotations

import os
import time


def new_id() -> str:
    """A fresh UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    chance = int.from_bytes(os.urandom(10), "big")
    head = f"{milliseconds & 0xFFFF_FFFF_FFFF:012x}"
    third = 0x7000 | (chance >> 68) & 0x0FFF
    fourth = 0x8000 | (chance >> 54) & 0x3FFF
    return f"{head[:8]}-{head[8:]}-{third:04x}-{fourth:04x}-{chance & 0xFFFF_FFFF_FFFF:012x}"
