"""When two listings are one: by address, by company with title and place, and nearly by text.

The board's own number of a listing comes before all of these; who saves it looks at that. Texts that are nearly equal
never make two listings one, they only warn.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b, sha256
from urllib.parse import urlsplit, urlunsplit

from ramet import InvalidKey, text_key, url_key
from ramet.jobs.matching.words import fold
from ramet.jobs.settings import ListingSettings
from ramet.jobs.text.company_names import company_name_key

_DEFAULTS = ListingSettings()

_VISITS = frozenset(
    "ref referer referrer refid source src trk trackingid recommended_by jobboardsource in_iframe iframe hashed "
    "lever-origin lever-via gh_source applysource jvs rx_campaign rx_source rx_job rx_medium rx_group nl ss "
    "width height bga needsredirect jan1offset jun1offset".split()
)
"""Parameters of boards that say where a visitor came from and how the page is framed, beside those that
:func:`ramet.url_key` knows. On a page of one listing they never name it; ``gh_jid``, ``jobId``, ``token`` do."""
_LAST_PARTS = frozenset({"apply", "application", "apply-now"})
"""Last parts of an address below that of a listing: the form to apply for it."""
_NO_ADDRESS = "no address:"
_GREENHOUSE = re.compile(r"(?:boards|job-boards)(?:\.eu)?\.greenhouse\.io")
_GREENHOUSE_PATH = re.compile(r"/([^/]+)/jobs/(\d+)")
_WORKDAY_LOCALE = re.compile(r"/[a-z]{2}-[A-Za-z]{2}(?=/)")


@lru_cache(maxsize=2_048)
def listing_key(url: str) -> str:
    """Return the one spelling that all addresses of a listing's page share; at most as long as a key may be.

    Remembered: a task asks for its own several times.

    Beside what :func:`ramet.url_key` folds: http is https, ``www.`` goes, as do parameters of visits, the form to
    apply below the page, Workday's locale, and Greenhouse's second name. Parameters that name the listing stay
    (``gh_jid``, ``jobId``). A text that is not a valid address keeps a key of its own. Never raises.
    """
    text = url.strip()
    if text.startswith("http://"):
        text = f"https://{text.removeprefix('http://')}"
    try:
        return url_key(_without_visits(url_key(text, drop_www=True)))
    except (InvalidKey, ValueError):
        printable = "".join(filter(str.isprintable, text))
        return text_key(f"{_NO_ADDRESS} {printable.removeprefix(_NO_ADDRESS).strip()}")


def fingerprint(company: str | None, title: str, location: str | None) -> str:
    """Return a mark that the same opening has on two boards: 32 hex digits.

    Returns:
        Empty when the company or the title is not known: such listings are never one.
    """
    name, what = company_name_key(company), _words(title)
    if not name or not what:
        return ""
    place = " ".join(sorted(set(_words(location or "").split())))
    return sha256(f"{name}\n{what}\n{place}".encode("utf-8", "replace")).hexdigest()[:32]


def text_hash(text: str, text_min: int = _DEFAULTS.near_text_min) -> int:
    """Return a number of 64 bits, signed, of which nearly equal texts share most bits.

    Every three words that follow each other vote on each bit. Their bits are side by side in one large integer,
    which makes this quick.

    Returns:
        0 for a text of at most ``text_min`` characters: it says too little.
    """
    if len(text) <= text_min:
        return 0
    words = _words_of(text[:_CHARACTERS_MAX].casefold())[:_WORDS_MAX]
    if len(words) < 3:
        return 0
    # 64 bits a word side by side in one integer; of every three words the first is turned by two bits, the second by
    # one.
    lanes = len(words) - 2
    one = int.from_bytes(b"".join(map(_MARKS.__getitem__, words)), "little")
    two = _turned(one, len(words))
    drawn = (_turned(two, len(words)) ^ two >> 64 ^ one >> 128) & ((1 << 64 * lanes) - 1)
    rows = drawn.to_bytes(8 * lanes, "little")
    ones = int.from_bytes(b"\x01" * lanes, "little")
    half = lanes / 2
    bits = 0
    for byte in range(8):
        column = int.from_bytes(rows[byte::8], "little")
        for bit in range(8):
            if (column >> bit & ones).bit_count() > half:
                bits |= 1 << 8 * byte + bit
    return bits - (1 << 64) if bits >> 63 else bits


def near(a: int, b: int, bits: int = _DEFAULTS.near_bits) -> bool:
    """Return whether two texts are nearly equal by their numbers; never, where one of them is 0."""
    if a == 0 or b == 0:
        return False
    return ((a ^ b) & _ALL_BITS).bit_count() <= bits


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SPACED = bytes(code if chr(code).isalnum() or chr(code) == "_" or code > 127 else 32 for code in range(256))
"""Table of bytes in which each ASCII character that is not part of a word is a space."""
_CHARACTERS_MAX = 200_000
"""Most characters of a text that are compared."""
_WORDS_MAX = 50_000
"""Most words that are compared: a lane of 16 bits counts at most 65,535 votes."""
_ALL_BITS = (1 << 64) - 1


class _Marks(dict[bytes, bytes]):
    """64 random bits of a word."""

    def __missing__(self, word: bytes) -> bytes:
        if len(self) >= _MARKS_REMEMBERED:
            self.clear()
        found = self[word] = blake2b(word, digest_size=8).digest()
        return found


_MARKS_REMEMBERED = 50_000
_MARKS = _Marks()


def _words_of(text: str) -> list[bytes]:
    """Return the matches of ``\\w+``, in UTF-8; a table of bytes finds them in half the time."""
    for character in set(_NOT_ASCII.findall(text)):
        if not character.isalnum():
            text = text.replace(character, " ")
    return text.encode().translate(_SPACED).split()


def _turned(lanes: int, count: int) -> int:
    """Turn every lane of 64 bits left by one."""
    lowest = int.from_bytes(b"\x01\0\0\0\0\0\0\0" * count, "little")
    last = lanes & lowest << 63
    return (lanes ^ last) << 1 | last >> 63


def _words(text: str) -> str:
    folded = fold(text).replace("¶", " ")
    return " ".join("".join(c if c.isalnum() or c in "+#" else " " for c in folded).split())


def _without_visits(url: str) -> str:
    parts = urlsplit(url)
    path, host = parts.path, parts.netloc
    # As they are written: decoding and encoding again could make one of two.
    pairs = [pair for pair in parts.query.split("&") if pair and pair.partition("=")[0].lower() not in _VISITS]
    head, _, last = path.rpartition("/")
    if last.lower() in _LAST_PARTS and head:
        path = head
    if _GREENHOUSE.fullmatch(host) and (found := _GREENHOUSE_PATH.fullmatch(path)):
        host = host.replace("job-boards", "boards")
        pairs = [pair for pair in pairs if pair != f"gh_jid={found[2]}"]
    if host.endswith((".myworkdayjobs.com", ".myworkdaysite.com")):
        path = _WORKDAY_LOCALE.sub("", path, count=1) if _WORKDAY_LOCALE.match(path) else path
    return urlunsplit((parts.scheme, host, path, "&".join(pairs), ""))
