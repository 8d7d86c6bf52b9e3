"""Canonical, versioned keys: what a task is about, in the one spelling that all its twins share (DESIGN §5).

Cycle and duplicate checks (I3, I4) compare keys as text, so every key comes from one of these functions.
All are pure, refuse with `InvalidKey`, and return at most KEY_LENGTH_MAX characters.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import unquote

from ramet.model.urls import InvalidUrl, canonical_url

__all__ = [
    "KEY_LENGTH_MAX",
    "KEY_VERSION",
    "InvalidKey",
    "PlaceKey",
    "bounded_key",
    "json_key",
    "display_key",
    "text_key",
    "title_key",
    "url_key",
]

KEY_VERSION: int = 1
"""Stored beside each key; any change of a result here raises it. Keys of two versions do not compare."""

KEY_LENGTH_MAX: int = 512
"""Characters. At most 2,048 bytes of UTF-8, which fits an index entry of every supported database."""

PAYLOAD_DEPTH_MAX: int = 100
"""Levels of nesting of a payload that is made into a key."""

_DIGEST_MARK = "~sha256:"
_PAYLOAD = '{"payload":'
_HEAD_LENGTH = KEY_LENGTH_MAX - len(_DIGEST_MARK) - sha256().digest_size * 2
_BOUNDED_URL = re.compile(rf"https?://[a-z0-9._:\[\]-]+/[\w.~!$&'()*+,=:@/?;%-]*{_DIGEST_MARK}[0-9a-f]{{64}}", re.ASCII)
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_TITLE_REFUSED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# Copied along with a title from right-to-left pages, invisible, and part of no title.
_DIRECTION_MARKS = re.compile(r"[\u200e\u200f\u202a-\u202e]")


class InvalidKey(ValueError):
    """Raised by submits, spawns and the key functions: it cannot be a key. The message says what to do."""


class PlaceKey(str):
    """A key that names a place: a URL or the title of a page. Made by :func:`url_key` and :func:`title_key`.

    Text in every other respect. A task whose kind makes such a key is refused below any ancestor of the same key,
    whatever the ancestor's kind (promise I3, DESIGN §1). Text that is derived from one is plain text again.
    """

    __slots__ = ()


def bounded_key(key: str) -> str:
    """Return `key`, or where it is longer than KEY_LENGTH_MAX its head and `~sha256:` with 64 hex digits.

    The digest is of the whole key in UTF-8, so two long keys are equal only when they were equal before.
    Deterministic and idempotent. A key that a caller writes in the shortened form is taken for what it says.

    Raises InvalidKey: a long key has lone surrogates.
    """
    if len(key) <= KEY_LENGTH_MAX:
        return key
    try:
        digest = sha256(key.encode()).hexdigest()
    except UnicodeEncodeError as error:
        raise _unstorable(key[error.start], error.start) from None
    return f"{key[:_HEAD_LENGTH]}{_DIGEST_MARK}{digest}"


def url_key(url: str, *, keep: Collection[str] = (), drop_www: bool = False) -> PlaceKey:
    """Return the key of an http or https URL; `ramet.model.urls.canonical_url` lists the rules.

    `keep` names tracking, session or path parameters, in any case, that tell this kind's pages apart.
    Idempotent for equal options: a key may be given back as a URL.

    Raises InvalidKey: no host, another scheme, control characters, backslash, lone surrogates, over 8,000
    characters, a host or port that cannot exist. TypeError: `keep` is one string.
    """
    # The shortened form may end within an escape or a parameter name, so it cannot pass the rules again.
    if len(url) == KEY_LENGTH_MAX and _BOUNDED_URL.fullmatch(url):
        return PlaceKey(url)
    try:
        return PlaceKey(bounded_key(canonical_url(url, keep=keep, drop_www=drop_www)))
    except InvalidUrl as error:
        raise InvalidKey(str(error)) from None


def title_key(title: str) -> PlaceKey:
    """Return the key of a page title on a wiki: NFC, one space for underscores and whitespace, trimmed.

    The first letter is upper-cased where Unicode maps it to one letter (`ß` and `ŉ` stay, and Georgian
    letters, whose capitals are for headlines only); case elsewhere is kept. A `#fragment` is cut, invisible
    direction marks go. Percent-decoding is NOT done, since `100%25` may be a title: decode a title that
    comes out of a URL before. Idempotent.

    Raises InvalidKey: nothing is left, control characters other than whitespace, lone surrogates.
    """
    text = title.partition("#")[0]
    ascii_only = text.isascii()
    if not ascii_only:
        text = unicodedata.normalize("NFC", _DIRECTION_MARKS.sub("", text))
    text = " ".join(text.replace("_", " ").split())
    if not text:
        raise InvalidKey("the title is empty: give at least one character before any '#'")
    if not text.isprintable() and (refused := _TITLE_REFUSED.search(text)):
        raise _unstorable(refused[0], refused.start())
    first = text[0]
    upper = first.upper()
    if upper != first and len(upper) == 1 and first.title() != first:
        text = upper + text[1:]
        if not ascii_only:
            # A capital can take up the mark after it: i + U+0307 has no composed form, I + U+0307 is U+0130.
            text = unicodedata.normalize("NFC", text)
    return PlaceKey(bounded_key(text))


def text_key(text: str) -> str:
    """Return the key of any other text: NFC without whitespace at its ends. Idempotent. A PlaceKey stays one.

    Raises InvalidKey: nothing is left, NUL, lone surrogates.
    """
    key = unicodedata.normalize("NFC", text).strip()
    if not key:
        raise InvalidKey("the key is empty: give at least one character that is not whitespace")
    if refused := _UNSTORABLE.search(key):
        raise _unstorable(refused[0], refused.start())
    key = bounded_key(key)
    return PlaceKey(key) if isinstance(text, PlaceKey) else key


def json_key(payload: Mapping[str, object]) -> str:
    """Return the key of a payload that came without one: its JSON with sorted names and no spaces, bounded.

    Payloads that are equal as JSON have one key: tuples are arrays, and numbers are equal by value (`1.0` is `1`),
    while `true` is not `1`. Strings are taken as they are, without NFC. An empty payload is `{}`.

    Raises InvalidKey: NaN or an infinity, a name that is not a string, a value that JSON does not have, NUL or lone
    surrogates, more than PAYLOAD_DEPTH_MAX levels (a payload that contains itself).
    """
    text = json.dumps(
        _json_value(payload, "payload", 0), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return bounded_key(text)


def display_key(key: str) -> str:
    """Return a stored key as people read it: for a payload that is not an object it is the payload itself, `why` for
    `{"payload":"why"}`. Every other key is shown as it is stored. For pages and lists only: two keys may look alike.
    """
    if not key.startswith(_PAYLOAD) or not key.endswith("}"):
        return key
    try:
        value = json.loads(key)
    except ValueError:
        return key
    if value.keys() != {"payload"}:
        return key
    return value["payload"] if isinstance(value["payload"], str) else key[len(_PAYLOAD) : -1]


def _json_value(value: object, where: str, depth: int) -> object:
    """Return a copy of `value` made of JSON's own types, where equal numbers are spelt alike."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _json_string(value, where)
    if isinstance(value, int):
        # CPython refuses to print integers of more than 4,300 digits; no store would take one either.
        if value.bit_length() > 4_096:
            raise InvalidKey(f"{_shown(where)} is an integer of over 4,096 bits: give it as a string")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidKey(f"{_shown(where)} is {value}, which JSON does not have: give a finite number or null")
        return int(value) if value.is_integer() else float(value)
    if depth >= PAYLOAD_DEPTH_MAX:
        raise InvalidKey(f"{_shown(where)} is over {PAYLOAD_DEPTH_MAX} levels deep: flatten the payload")
    if isinstance(value, Mapping):
        members = {}
        for name, member in value.items():
            if not isinstance(name, str):
                raise InvalidKey(f"{_shown(where)} has the name {name!a:.40}: give names as strings")
            members[_json_string(name, where)] = _json_value(member, f"{where}.{name}", depth + 1)
        return members
    if isinstance(value, (list, tuple)):
        return [_json_value(member, f"{where}[{i}]", depth + 1) for i, member in enumerate(value)]
    raise InvalidKey(
        f"{_shown(where)} is of type {type(value).__name__}, which JSON does not have: "
        "give null, a boolean, number, string, list or mapping"
    )


def _json_string(text: str, where: str) -> str:
    if refused := _UNSTORABLE.search(text):
        raise InvalidKey(f"{_shown(where)} has the character {refused[0]!a}: remove it")
    return str(text)


def _shown(where: str) -> str:
    return ascii(where)[1:-1][:120]


def _unstorable(character: str, position: int) -> InvalidKey:
    return InvalidKey(f"the key has the character {character!a} at position {position}: remove it")


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
    """Return the shape of a canonical key: of a URL the host, path pattern and names of parameters; of a text its
    pattern.

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
    """Return shapes that a person named, each with the number of keys of it that a lineage may spawn; None for any
    number.

    A text is a shape as ``ramet blocks`` shows it (``x.example/a/#``), the same behind a scheme, or the address of a
    page of that shape; with ``=N`` behind it, at most N. A text with both a scheme and parameters has no such number.

    Raises:
        ValueError: it is not a text, or empty.
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
    """Return the host without what its owner has any number of: numbered names, ports, addresses of an IPv6 network."""
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
    """Return an IPv6 address; of one on the internet the network, since its owner has all addresses of that."""
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
    """Return the name of a parameter; a site that escapes its links once more at every hop adds another ``amp;`` to
    it.
    """
    return _folded(_ESCAPED_AGAIN.sub("", name))


def _folded(text: str) -> str:
    """One segment or name, without what a generator varies."""
    text = unquote(text, errors="replace") if "%" in text else text
    text = _CONTROL.sub("_", text.lower())
    text = _TOKEN.sub("*", _HEX.sub("*", _UUID.sub("*", text)))
    return _DATE.sub("#", _NAMED_MONTH.sub(r"\1#\2", _DIGITS.sub("#", text)))


def _cycles_folded(parts: Sequence[str], mark: str) -> list[str]:
    """Fold neighbours that repeat, alone or as a group: a/a/a is (a)+, a/b/a/b is (a/b)+.

    Args:
        mark: the separator between two parts.
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
