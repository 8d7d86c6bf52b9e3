"""Payloads and results as JSON text: nothing that JSON does not have, and no more of it than is kept."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ramet.model.values import INTEGER_DIGITS_MAX, InvalidText

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class PayloadTooLarge(ValueError):
    """Raised by submits, spawns and results: it is over the limit; keep large things elsewhere and pass a reference."""


def json_text(what: str, value: Any, bytes_max: int, adapter: TypeAdapter[Any] | None = None) -> str:
    """Return a value as JSON text.

    Args:
        what: it is, for messages.
        value: anything that pydantic writes as JSON.
        bytes_max: the longest that it may be, in UTF-8.
        adapter: of the value's type, if it has one.

    Raises:
        InvalidText: it holds NaN, an infinity, a lone surrogate, itself, or a whole number that no reader takes.
        PayloadTooLarge: it is too long.
    """
    from pydantic_core import PydanticSerializationError, to_json

    try:
        # The adapter's own verb goes through its options first, which takes as long again.
        raw = to_json(value) if adapter is None else adapter.serializer.to_json(value)
    except (PydanticSerializationError, RecursionError) as error:
        if "surrogates not allowed" in str(error):
            raise InvalidText(f"{what} holds half a character (a lone surrogate): leave it out") from None
        raise InvalidText(f"{what} cannot be written as JSON: {' '.join(str(error).split())[:200]}") from None
    if len(raw) > bytes_max:
        raise PayloadTooLarge(
            f"{what} has {len(raw)} bytes, over {bytes_max}: "
            "put the large part into a blob, ramet.Blob.of(...) or ctx.blob(...), and pass that"
        )
    if _may_hold_no_number(raw, value, adapter):
        raise InvalidText(f"{what} holds NaN or an infinity, which JSON does not have: give None or text instead")
    if len(raw) > INTEGER_DIGITS_MAX and _LONG_NUMBER.search(raw) and not _readable(raw):
        raise InvalidText(f"{what} holds a whole number of over {INTEGER_DIGITS_MAX} digits: give text instead")
    return raw.decode()


_LONG_NUMBER = re.compile(rb"(?<![0-9])[0-9]{%d}" % (INTEGER_DIGITS_MAX + 1))
"""More digits in a row than a number may have, which text may."""


def _readable(raw: bytes) -> bool:
    from pydantic_core import from_json

    try:
        from_json(raw)
    except ValueError:
        return False
    return True


def _may_hold_no_number(raw: bytes, value: Any, adapter: TypeAdapter[Any] | None) -> bool:
    """Return whether a float among it is not a number. Such a one is written as a word, or in a typed value as null."""
    if b"NaN" in raw or b"Infinity" in raw:
        from pydantic_core import from_json

        try:
            from_json(raw, allow_inf_nan=False)
        except ValueError:
            return True
    return adapter is not None and b"null" in raw and _odd(adapter.dump_python(value))


def _odd(value: object) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if value is None or isinstance(value, str | int):  # Most are; an abstract class costs more to ask.
        return False
    if isinstance(value, Mapping):
        return any(map(_odd, value.values()))
    return isinstance(value, list | tuple | set | frozenset) and any(map(_odd, value))
