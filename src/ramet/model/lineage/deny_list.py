"""The deny list: hosts, domains and patterns of keys that nothing is created for (DESIGN §5, check 7)."""

from __future__ import annotations

import re
from enum import StrEnum
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

from ramet.model.keys import KEY_LENGTH_MAX, bounded_key
from ramet.model.urls import InvalidUrl, canonical_url

_HOST = re.compile(r"[a-z][a-z0-9+.-]*://(\[[^\]]*\]|[^/:?#]*)", re.IGNORECASE)
_BEGINNING = re.compile(r"(https?://[^/?#*\s]+)(/.*)?", re.IGNORECASE | re.DOTALL)
"""A URL whose host has no wildcards."""
_ADDRESS = re.compile(r"\[.*\]|[0-9.]+")


class EntryType(StrEnum):
    """Things that an entry of the deny list can cover."""

    HOST = "host"
    """Exactly this host."""
    DOMAIN = "domain"
    """This host and every one below it."""
    PATTERN = "pattern"
    """Every canonical key that it matches: ``*`` is any text, ``?`` any one character, all else itself."""


class InvalidEntry(ValueError):
    """Raised by ``client.stop``: the entry cannot be on the deny list; the message is one line and says what to do."""


class StopEntry(NamedTuple):
    """One entry of the deny list."""

    entry_type: str
    value: str
    reason: str | None
    added_by: str
    added_at: float
    """Unix seconds."""

    def __str__(self) -> str:
        """In words, with the reason where there is one."""
        return f"{self.entry_type} {self.value}" + (f" ({self.reason})" if self.reason else "")


def entry_value(entry_type: str, value: str) -> str:
    """Return the value of an entry in the form in which keys are compared with it.

    Raises:
        InvalidEntry: no such type, no host, or a domain that is a whole top-level domain.
    """
    if entry_type not in list(EntryType):
        raise InvalidEntry(f"no entry type {entry_type!r}: give one of {', '.join(EntryType)}")
    if entry_type == EntryType.PATTERN:
        return _pattern(value)
    text = value.strip()
    if "/" in text or "@" in text:
        raise InvalidEntry(f"{value!a} is not a valid {entry_type}: give the name alone, as in example.com")
    try:
        host = host_of(canonical_url(f"http://{text.removeprefix('*.')}/"))
    except InvalidUrl as error:
        raise InvalidEntry(f"{value!a} is not a valid {entry_type}: {error}") from None
    if not host or host_of(f"http://{text}/") != text:
        raise InvalidEntry(f"{value!a} is not a valid {entry_type}: give the name alone, without a port")
    if text.startswith("*.") and entry_type == EntryType.HOST:
        raise InvalidEntry(f"{value!a} is not a host: give it as the domain {host}")
    if entry_type == EntryType.DOMAIN and ("." not in host or _ADDRESS.fullmatch(host)):
        raise InvalidEntry(
            f"{host} is not a domain that has others below it: give it as a host, or a name such as a.{host}"
        )
    return host


def _pattern(value: str) -> str:
    if not value or len(value) > KEY_LENGTH_MAX:
        raise InvalidEntry(f"a pattern has 1 to {KEY_LENGTH_MAX} characters: this one has {len(value)}")
    if not value.strip("*?"):
        raise InvalidEntry(f"the pattern {value} would stop everything: give something that keys contain")
    if re.search(r"[\x00\ud800-\udfff]", value):
        raise InvalidEntry("the pattern has a character that no key has: remove it")
    return _as_url(value)


def _as_url(pattern: str) -> str:
    """Return a pattern that begins like a URL as keys of that host do; one without ``*`` and ``?`` as the key of the
    URL.
    """
    found = _BEGINNING.fullmatch(pattern)
    if found is None:
        return pattern
    try:
        if "*" not in pattern and "?" not in pattern:
            return bounded_key(canonical_url(pattern))
        return canonical_url(found[1]).removesuffix("/") + found[2]
    except InvalidUrl:
        return pattern


def host_of(url: str) -> str | None:
    """Return the host of a canonical URL, without its port; None where there is none."""
    found = _HOST.match(url)
    return (found[1] or None) if found else None


def names_above(host: str) -> list[str]:
    """Return the host and every domain above it: what an entry of type domain may say to cover it."""
    if _ADDRESS.fullmatch(host):
        return [host]
    labels = host.split(".")
    return [".".join(labels[at:]) for at in range(len(labels))]


@lru_cache(maxsize=1_024)
def _expression(pattern: str) -> re.Pattern[str]:
    # A bracket is taken literally: keys of URLs contain them. The library's own translation does not backtrack.
    return re.compile(translate(pattern.replace("[", "[[]")))


def matches(pattern: str, key: str) -> bool:
    """Whether a canonical key is covered by an entry of type pattern."""
    return _expression(pattern).match(key) is not None
