"""Reading JSON values that somebody else wrote: one that is odd is shown, and hides no other.

What comes in is checked (:mod:`ramet.engine.base.json_text`); what is stored, or on its way already, is read as it is.
"""

from __future__ import annotations

import json
from typing import Any

from ramet.model.numbers import INTEGER_DIGITS_MAX


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text. A whole number of more digits than Python reads becomes text.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= INTEGER_DIGITS_MAX else digits
