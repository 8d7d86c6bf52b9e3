"""Canonical, versioned keys: what a task is about, in the one spelling that all its twins share (DESIGN §5).

Cycle and duplicate checks (I3, I4) compare keys as text, so every key comes from one of these functions.
All are pure, refuse with `InvalidKey`, and return at most KEY_LENGTH_MAX characters.
"""

import json
import math
import re
import unicodedata
from collections.abc import Collection, Mapping
from hashlib import sha256

from ramet.model.urls import InvalidUrl, canonical_url

__all__ = [
    "KEY_LENGTH_MAX",
    "KEY_VERSION",
    "InvalidKey",
    "PlaceKey",
    "bounded_key",
    "json_key",
    "shown_key",
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

    Payloads that are equal as JSON have one key: tuples are arrays, and numbers are equal by value (`1.0` is
    `1`), while `true` is not `1`. Strings are taken as they are, without NFC. An empty payload is `{}`.

    Raises InvalidKey: NaN or an infinity, a name that is no string, a value that JSON does not have, NUL or
    lone surrogates, more than PAYLOAD_DEPTH_MAX levels (a payload that contains itself).
    """
    text = json.dumps(
        _json_value(payload, "payload", 0),
        ensure_ascii=False,
        allow_nan=False,
        sort_keys=True,
        separators=(",", ":"),
    )
    return bounded_key(text)


def shown_key(key: str) -> str:
    """A stored key as people read it: that of a payload that is no object is the payload itself, `why` for
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
    """A copy of `value` made of JSON's own types, where equal numbers are spelt alike."""
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
