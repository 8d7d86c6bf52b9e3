"""Characters that stand in a text for what was taken out of it. `clean` sees to it that no page has them."""

from __future__ import annotations

import re

KEPT_START, KEPT_END = "\x02", "\x03"
"""Around the number of a text that is kept as it is, such as a `<nowiki>`'s."""
GONE = "\x04"
"""Where a template or the like was: what it leaves around it is tidied up later."""
CELL = "\x05"
"""Between two cells of a table's row."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without control characters but newlines, and with U+FFFD for what no encoding can express."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))
