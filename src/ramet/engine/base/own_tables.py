"""Statements on a program's own tables: what of them may run in the engine's transactions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ramet.model.numbers import INTEGER_BITS_MAX, INTEGER_DIGITS_MAX
from ramet.model.text import check_text

_CHANGES = r"(?:INSERT|UPDATE|DELETE|REPLACE)\b(?!\s+OR\s+ROLLBACK)"
_WRITES_ROWS = re.compile(rf"\s*(?:WITH\b|{_CHANGES})", re.IGNORECASE)
_READS_OR_WRITES_ROWS = re.compile(rf"\s*(?:WITH\b|SELECT\b|{_CHANGES})", re.IGNORECASE)


def check_own(verb: str, sql: str, parameters: Sequence[Any], *, reads: bool = False) -> tuple[Any, ...]:
    """The parameters of a statement that may run; ``reads`` lets SELECT through as well.

    Raises:
        ValueError: the statement touches the engine's own tables, or is of another sort; or a text cannot be stored.
        TypeError: a parameter is not None, a boolean, number, text or bytes.
    """
    if "ramet_" in sql.lower():
        raise ValueError(f"{verb} is for your own tables: tables named ramet_* belong to the engine")
    # BEGIN, COMMIT and their like would end the transaction of everybody who settles at the same time.
    if not (_READS_OR_WRITES_ROWS if reads else _WRITES_ROWS).match(sql):
        sorts = "a SELECT, INSERT, UPDATE, DELETE or REPLACE" if reads else "an INSERT, UPDATE, DELETE or REPLACE"
        raise ValueError(f"{verb} takes {sorts} (not OR ROLLBACK), by itself")
    check_text(f"the statement of {verb}", sql)
    for value in parameters:
        # What a database driver would adapt in this process cannot travel to the one that writes.
        if not isinstance(value, str | bytes | int | float | None):
            raise TypeError(f"{verb} cannot store a {type(value).__name__}: give text, bytes, a number or None")
        if isinstance(value, str):
            check_text(f"a parameter of {verb}", value)
        elif isinstance(value, int) and value.bit_length() > INTEGER_BITS_MAX:
            raise ValueError(f"a parameter of {verb} has over {INTEGER_DIGITS_MAX} digits: give text instead")
    return tuple(parameters)
