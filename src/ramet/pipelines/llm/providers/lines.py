"""A streamed file line by line, with no more than one line in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

LINE_BYTES_MAX = 32 * 1024 * 1024


async def lines_of(parts: AsyncIterator[bytes], *, bytes_max: int = LINE_BYTES_MAX) -> AsyncIterator[bytes | None]:
    """The lines, without their ends and without blank ones; None in the place of one that is longer than that."""
    held, too_long = bytearray(), False
    async for part in parts:
        *ended, rest = part.split(b"\n")
        for end in ended:
            line, skipped = bytes(held) + end, too_long
            held.clear()
            too_long = False
            if skipped or len(line) > bytes_max:
                yield None
            elif line.strip():
                yield line.strip()
        held += rest
        if len(held) > bytes_max:
            held.clear()
            too_long = True
    if too_long:
        yield None
    elif held.strip():
        yield bytes(held).strip()
