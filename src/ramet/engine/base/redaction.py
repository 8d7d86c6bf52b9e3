"""Secrets are kept out of what is stored and logged of an error (docs/guides/security.md).

A handler's error may repeat anything: a header, an address, a line of source. What can be known to be secret is taken
out: the values of environment variables whose names say so, and passwords in addresses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

HIDDEN = "***"
VALUE_CHARACTERS_MIN = 8
"""Shorter values are words that occur everywhere."""
_SECRET_WORDS = frozenset(
    "APIKEY AUTHORIZATION CREDENTIAL CREDENTIALS DSN KEY KEYS PASS PASSPHRASE PASSWD PASSWORD PGPASSWORD SECRET "
    "SECRETS TOKEN TOKENS".split()
)
_SECRET_PREFIXES = ("RAMET_ALERT_",)
_USER = re.compile(r"(?<=://)([^\s/:@'\"]*):[^\s/'\"]*(?=@)")


def secrets(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Values of the environment that must not be shown, the longest first."""
    found = {
        value
        for name, value in environment.items()
        if len(value) >= VALUE_CHARACTERS_MIN
        and (name.upper().startswith(_SECRET_PREFIXES) or not _SECRET_WORDS.isdisjoint(name.upper().split("_")))
    }
    return iter(sorted(found, key=len, reverse=True))


def redacted(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text with ``***`` for every secret that is known, and for passwords in addresses."""
    for secret in secrets(environment):
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return _USER.sub(rf"\1:{HIDDEN}", text) if "://" in text else text
