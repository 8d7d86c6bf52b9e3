"""Character references of HTML as MediaWiki reads them: with their semicolon, and into nothing that cannot be kept."""

from __future__ import annotations

import re
from html.entities import html5

_REFERENCE = re.compile(r"&(?:#([0-9]{1,10})|#[xX]([0-9a-fA-F]{1,8})|([A-Za-z][A-Za-z0-9]{1,31}));")
_REPLACEMENT = "\ufffd"


def decode_entities(text: str) -> str:
    """Replace `&amp;`, `&#233;` and `&#xE9;` by what they stand for, once.

    A name that HTML does not know stays as it is. A number that is no character of a text (NUL and other control
    characters, surrogates, above U+10FFFF) becomes U+FFFD.
    """
    return _REFERENCE.sub(_decoded, text) if "&" in text else text


def _decoded(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return html5.get(f"{name};", reference[0])
    number = int(decimal) if decimal else int(hexadecimal, 16)
    if number in (9, 10, 13):
        return chr(number)
    if number < 0x20 or 0x7F <= number <= 0x9F or 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
        return _REPLACEMENT
    return chr(number)
