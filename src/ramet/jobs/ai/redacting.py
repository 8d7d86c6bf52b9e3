"""What of a text is nobody's business at a provider of language models."""

from __future__ import annotations

import re

_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_PHONE = re.compile(r"(?<![\w.])(?:\+|\(|00)?\d{1,4}[)]?(?:[ ./()-]{1,2}\d{2,5}){2,4}(?![\w])")
_DATE = re.compile(r"(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d")


def redacted(text: str) -> str:
    """The text without e-mail addresses and phone numbers; dates stay."""
    return _PHONE.sub(_phone, _MAIL.sub("[e-mail]", text))


def _phone(found: re.Match[str]) -> str:
    digits = sum(character.isdigit() for character in found[0])
    return found[0] if digits < 7 or _DATE.fullmatch(found[0]) else "[phone]"
