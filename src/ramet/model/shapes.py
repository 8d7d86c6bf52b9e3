"""The shape of a key: what endless pages that a program makes up have in common (DESIGN §5, check 8).

A calendar without end, a link that adds a segment at every hop, a session id in every URL: each page has a key of its
own, so no cycle and no duplicate is ever seen. Their shape repeats. What a generator varies is folded: digits, dates,
ids, upper case, values of parameters, segments that repeat; what an author writes stays, so that ten thousand articles
with names of their own have ten thousand shapes. An honest site's numbered pages fold too: that is why the bound is a
setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import unquote

from ramet.model.keys import bounded_key

PARTS_SHOWN_MAX = 8
"""Deeper paths share the shape of their beginning, names of hosts with more labels that of their end."""
_PARTS_READ_MAX = 24

_URL = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_HOST = re.compile(r"(\[[^]]*\]|[^:]*)(:\d+)?")
_GLOBAL = 0b001
"""The first bits of IPv6 addresses on the internet, in which the last 64 bits are the owner's to choose."""
_MONTHS = "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august"
_MONTH = "|".join(sorted([*_MONTHS.split(), "september", "october", "november", "december"], key=len, reverse=True))
_LETTER = r"[^\W\d_]"
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_HEX = re.compile(r"(?<![^\W_])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,}(?![^\W_])")
_TOKEN = re.compile(rf"(?<![^\W_])(?=[^\W_]*\d{_LETTER}*\d)(?=[^\W_]*{_LETTER})[^\W_]{{16,}}(?![^\W_])")
_DIGITS = re.compile(r"\d+")
_NAMED_MONTH = re.compile(rf"(?<=#)([-_. ])(?:{_MONTH})(?![^\W_])|(?<![^\W_])(?:{_MONTH})([-_. ])(?=#)")
_DATE = re.compile(r"#(?:[-_.:, t]+#)+z?")
_ESCAPED_AGAIN = re.compile(r"\A(?:amp(?:;|%3B))+", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@lru_cache(maxsize=4_096)
def shape_of(key: str) -> str:
    """The shape of a canonical key: of a URL the host, path pattern and names of parameters; of a text its pattern.

    Digits and dates become ``#``, ids (UUIDs, long hexadecimal, long tokens of letters with digits) ``*``; segments
    that repeat, alone or in a cycle, become ``(a)+``; letters are lower case; of the query only the sorted names stay.
    Deterministic, at most ``KEY_LENGTH_MAX`` characters.
    """
    url = _URL.match(key)
    if url is None:
        return bounded_key(_path(key))
    host, path, query = url[1], url[2], url[3]
    names = sorted({_name(part.partition("=")[0]) for part in query.split("&") if part}) if query else []
    return bounded_key(f"{_host(host)}/{_path(path)}" + (f"?{'&'.join(names)}" if names else ""))


_COUNTED = re.compile(r"(.*)=(\d{1,15})", re.DOTALL)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def allowed_shapes(texts: Iterable[Any]) -> dict[str, int | None]:
    """Shapes that a person named, each with how many keys of it a lineage may spawn; None for any number.

    A text is a shape as ``ramet blocks`` shows it (``x.example/a/#``), the same behind a scheme, or the address of a
    page of that shape; with ``=N`` behind it, at most N. A text with both a scheme and parameters has no such number.

    Raises:
        ValueError: it is no text, or empty.
    """
    found: dict[str, int | None] = {}
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"the shape {text!r} is not valid: give one such as https://x.example/a/#")
        given, most = text.strip(), None
        counted = _COUNTED.fullmatch(given)
        if counted and not (_SCHEME.match(given) and "?" in given):
            given, most = counted[1], int(counted[2])
        bare = _SCHEME.sub("", given, count=1)
        # A shape has marks that no address has at these places; anything else is a key of that shape.
        found[bounded_key(bare.lower().rstrip("/")) if "#" in bare or "*" in bare else shape_of(given)] = most
    return found


def _host(host: str) -> str:
    """The host without what its owner has any number of: numbered names, ports, addresses of an IPv6 network."""
    found = _HOST.fullmatch(host.lower())
    if found is None:
        return host.lower()
    name, port = found[1], ":#" if found[2] else ""
    labels = name.split(".")
    if name.startswith("["):
        return _network(name) + port
    if len(labels) < 3 or labels[-1][:1].isdigit():
        return name + port
    below = _cycles_folded([*map(_folded, labels[-2 - _PARTS_READ_MAX : -2])], ".")
    if len(labels) - 2 > _PARTS_READ_MAX or len(below) > PARTS_SHOWN_MAX:
        below = ["...", *below[-PARTS_SHOWN_MAX:]]
    return ".".join([*below, *labels[-2:]]) + port


def _network(name: str) -> str:
    """An IPv6 address; of one on the internet the network, since its owner has all addresses of that."""
    try:
        number = int(IPv6Address(name[1:-1]))
    except ValueError:
        return name
    if number >> 125 != _GLOBAL:
        return name
    return f"[{':'.join(f'{number >> shift & 0xFFFF:x}' for shift in (112, 96, 80, 64))}:*]"


def _path(path: str) -> str:
    segments = [segment for segment in path.split("/", _PARTS_READ_MAX + 1) if segment]
    cut = len(segments) > _PARTS_READ_MAX
    shown = _cycles_folded([_segment(segment) for segment in segments[:_PARTS_READ_MAX]], "/")
    if cut or len(shown) > PARTS_SHOWN_MAX:
        shown = [*shown[:PARTS_SHOWN_MAX], "..."]
    return "/".join(shown)


def _segment(segment: str) -> str:
    folded = _folded(segment)
    return "#" if re.fullmatch(_MONTH, folded) else folded


def _name(name: str) -> str:
    """The name of a parameter; a site that escapes its links once more at every hop adds another ``amp;`` to it."""
    return _folded(_ESCAPED_AGAIN.sub("", name))


def _folded(text: str) -> str:
    """One segment or name, without what a generator varies."""
    text = unquote(text, errors="replace") if "%" in text else text
    text = _CONTROL.sub("_", text.lower())
    text = _TOKEN.sub("*", _HEX.sub("*", _UUID.sub("*", text)))
    return _DATE.sub("#", _NAMED_MONTH.sub(r"\1#\2", _DIGITS.sub("#", text)))


def _cycles_folded(parts: Sequence[str], mark: str) -> list[str]:
    """Neighbours that repeat, alone or as a group, once: a/a/a is (a)+, a/b/a/b is (a/b)+.

    Args:
        mark: what stands between two parts.
    """
    folded, at = [], 0
    while at < len(parts):
        period, times = _repetition(parts, at)
        part = mark.join(parts[at : at + period])
        folded.append(f"({part})+" if times > 1 else part)
        at += period * times
    return folded


def _repetition(segments: Sequence[str], at: int) -> tuple[int, int]:
    """(length, times) of the shortest group that repeats from here on; (1, 1) where none does."""
    for period in range(1, (len(segments) - at) // 2 + 1):
        group, times = segments[at : at + period], 1
        while segments[at + period * times : at + period * (times + 1)] == group:
            times += 1
        if times > 1:
            return period, times
    return 1, 1
