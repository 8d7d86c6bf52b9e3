"""The canonical form of an http or https URL (DESIGN §5, last paragraph).

Folded are spellings that servers in practice cannot tell apart, and parts that change from visit to visit without
changing the page. A twin that is missed costs a fetch, which the lineage's limits bound; of two pages that are taken
for one the second is lost for ever. So in doubt two URLs stay different.

The host mapping follows UTS #46 as the installed `idna` knows it, without transitional processing.
"""

import re
import unicodedata
from collections.abc import Collection
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import unquote_to_bytes

import idna

__all__ = ["SESSION_PARAMETERS", "TRACKING_PARAMETERS", "URL_LENGTH_MAX", "InvalidUrl", "canonical_url"]

URL_LENGTH_MAX = 8_000
"""Characters of a raw URL; a longer one is refused."""

TRACKING_PARAMETERS = frozenset({
    "_branch_match_id", "_ga", "_gl", "_hsenc", "_hsmi", "_kx", "_openstat", "dclid", "dicbo", "ef_id",
    "epik", "fb_action_ids", "fb_action_types", "fbclid", "gad_campaignid", "gad_source", "gbraid", "gclid",
    "gclsrc", "gh_src", "hsctatracking", "igsh", "igshid", "irclickid", "lever-source", "lever-source[]",
    "li_fat_id", "mc_cid", "mc_eid", "mkt_tok", "ml_subscriber", "ml_subscriber_hash", "msclkid",
    "mtm_campaign", "mtm_content", "mtm_keyword", "mtm_medium", "mtm_source", "oly_anon_id", "oly_enc_id",
    "piwik_campaign", "piwik_keyword", "piwik_kwd", "pk_campaign", "pk_content", "pk_keyword", "pk_kwd",
    "pk_medium", "pk_source", "rb_clickid", "rdt_cid", "s_kwcid", "sc_cid", "srsltid", "tblci",
    "trk_contact", "trk_msg", "ttclid", "twclid", "vero_conv", "vero_id", "wbraid", "wickedid", "yclid",
    "ysclid",
})  # fmt: skip
"""Query parameters that say where a visitor came from. Not `ref` or `source`: those often name a page."""

SESSION_PARAMETERS = frozenset({
    "asp.net_sessionid", "cfid", "cftoken", "jsessionid", "oscsid", "phpsessid", "sessid", "session_id",
    "sessionid", "sid", "xtcsid", "zenid",
})  # fmt: skip
"""Query and path parameters that say which visit this is."""

_NOISE_PARAMETERS = frozenset(
    {name.replace("[", "%5b").replace("]", "%5d") for name in TRACKING_PARAMETERS | SESSION_PARAMETERS}
)
_NOISE_PREFIXES = ("utm_", "__hs", "hsa_", "aspsessionid")

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_PATH_PLAIN = frozenset(_UNRESERVED + "!$&'()*+,=:@")
_NAME_PLAIN = frozenset(_UNRESERVED + "!$'()*,:@/?")
_VALUE_PLAIN = _NAME_PLAIN | {"="}
# A `;` in the raw text passes, so that path parameters can be seen; an encoded one is data and stays encoded.
_PATH_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|[^\w.~!$&'()*+,=:@/;-]", re.ASCII)
_NAME_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|[^\w.~!$'()*,:@/?;-]", re.ASCII)
_VALUE_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|[^\w.~!$'()*,:@/?;=-]", re.ASCII)

_SPLIT = re.compile(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.ASCII | re.IGNORECASE)
_REFUSED = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_IPV4_NUMBER = re.compile(r"(?:0x([0-9a-f]*)|0([0-7]+)|(0|[1-9][0-9]*))")

# Most links are canonical as they are: a plain name, no port, no escape, no query.
_CANONICAL = re.compile(
    r"https?://(?!xn--|[^/]{254}|[^/]*\.xn--)(?:[a-z0-9_-]{1,63}\.){0,126}[a-z][a-z0-9_-]{0,62}"
    r"(?:/|(?:/(?!\.\.?(?:/|\Z))[\w.~!$&'()*+,=:@-]+)+)",
    re.ASCII,
)


class InvalidUrl(ValueError):
    """The text is not an http or https URL that can be brought to a canonical form; the message says what to do.

    The message is one line and shows nothing of the part before an `@`.
    """


def canonical_url(url: str, *, keep: Collection[str] = (), drop_www: bool = False) -> str:
    """Return the one spelling that all twins of an http or https URL share. Idempotent for equal options.

    - Scheme, host: lower case, UTS #46 to A-labels, percent-decoded; user name and password, the default
      port and one trailing dot go; numeric IPv4 forms become four decimals, IPv6 is compressed (RFC 5952).
      http and https stay different. `drop_www` cuts leading `www.` labels while a name with a dot remains.
    - Path: dot segments are resolved, then empty segments and trailing slashes go (`/b`, `/b/` and `//b` are
      one: most servers fold them, and a template that adds a slash per hop is a common loop); the root is
      `/`.
    - Path parameters (`;name=value`, an empty `;`, a session's bare `;jsessionid`) go; any other `;text` is
      part of the name (`/wiki/Steins;Gate`) and becomes `%3Btext`.
    - Escapes: what may stand plainly does, everything else is UTF-8, percent-encoded, upper case. Letters are
      not recomposed: NFC and NFD spellings of a path stay different, as they do on servers.
    - Query: `+` is a space; tracking and session parameters go; `a=` is `a`; sorted by name, equal names in
      their given order, which some servers heed. An empty query goes.
    - Fragment: goes, `#!` included, since no server ever sees it.

    `keep` names query and path parameters, in any case, that must stay.

    Raises InvalidUrl: no host, another scheme, control characters, backslash, lone surrogates, more than
    URL_LENGTH_MAX characters, a host or port that cannot exist. TypeError: `keep` is one string.
    """
    if isinstance(keep, str):
        raise TypeError(f'keep must be a collection of names: write keep=("{keep}",)')
    if _CANONICAL.fullmatch(url) and len(url) <= URL_LENGTH_MAX and not (drop_www and "://www." in url):
        return url
    return _normalised(url, frozenset(_escaped_name(name).lower() for name in keep), drop_www)


def _normalised(url: str, keep: frozenset[str], drop_www: bool) -> str:
    if len(url) > URL_LENGTH_MAX:
        raise InvalidUrl(f"the URL has {len(url):,} characters: {URL_LENGTH_MAX:,} is the most, shorten it")
    url = url.strip(" ")
    if refused := _REFUSED.search(url):
        where = f"{refused[0]!a} at position {refused.start()}"
        raise InvalidUrl(f"the URL has the character {where}: remove or percent-encode it")
    parts = _SPLIT.match(url)
    if parts is None:
        raise InvalidUrl("the URL has another scheme or none: give an absolute one with http:// or https://")
    scheme = parts[1].lower()
    query = _query(parts[4], keep) if parts[4] else ""
    return f"{scheme}://{_authority(parts[2], scheme, drop_www)}{_path(parts[3], keep)}{query}"


def _authority(authority: str, scheme: str, drop_www: bool) -> str:
    host = authority.rpartition("@")[2]
    end = host.find("]") + 1 if host.startswith("[") else 0
    name, colon, port = host[end:].partition(":")
    if end:
        if name:
            raise InvalidUrl("the URL has text between ']' and its port: give the address alone in brackets")
        name = _ipv6(host[1 : end - 1])
    else:
        name = _host(name)
        while drop_www and name.startswith("www.") and "." in name[4:]:
            name = name[4:]
    if not colon or not port:
        return name
    if not (port.isascii() and port.isdigit() and len(port) <= 20 and int(port) <= 65_535):
        raise InvalidUrl("the URL's port cannot exist: give a number from 0 to 65535, or none")
    number = int(port)
    return name if number == (443 if scheme == "https" else 80) else f"{name}:{number}"


def _host(raw: str) -> str:
    """Return the ASCII form of a host name; a host whose last label is a number is an IPv4 address or nothing."""
    host = raw
    try:
        if "%" in host:
            host = unquote_to_bytes(host).decode()
        if not host.isascii():
            host = idna.uts46_remap(host, std3_rules=False)
    except (UnicodeDecodeError, idna.IDNAError):
        raise _no_such_host(raw) from None
    host = host.lower().removesuffix(".")
    if not host:
        raise InvalidUrl("the URL has no host: give an absolute one such as https://example.org/page")
    labels = [_label(label, raw) for label in host.split(".")]
    last = labels[-1]
    if last.isdigit() or _IPV4_NUMBER.fullmatch(last):
        return _ipv4(labels, raw)
    host = ".".join(labels)
    if len(host) > 253:
        raise _no_such_host(raw)
    return host


def _label(label: str, raw: str) -> str:
    """One label as letters, digits, hyphens and underscores, as lenient as browsers: emoji and `a_b` pass."""
    try:
        if label.startswith("xn--"):
            decoded = label[4:].encode("ascii").decode("punycode")
            # Only the A-label of a mapped name is that name's twin; any other encodes no name at all.
            if decoded.isascii() or idna.uts46_remap(decoded, std3_rules=False) != decoded:
                raise _no_such_host(raw)
            label = decoded
        if not label.isascii():
            if unicodedata.category(label[0]).startswith("M"):
                raise _no_such_host(raw)
            label = "xn--" + label.encode("punycode").decode("ascii")
    except (UnicodeError, idna.IDNAError):
        raise _no_such_host(raw) from None
    if not _LABEL.fullmatch(label):
        raise _no_such_host(raw)
    return label


def _ipv4(labels: list[str], raw: str) -> str:
    """Dotted decimals of one to four numbers, decimal, octal or hexadecimal; the last fills what is left."""
    numbers = []
    for label in labels:
        match = _IPV4_NUMBER.fullmatch(label)
        if match is None:
            raise _no_such_host(raw)
        hexadecimal, octal, decimal = match.groups()
        if decimal is not None:
            numbers.append(int(decimal))
        else:
            numbers.append(int(octal, 8) if octal else int(hexadecimal or "0", 16))
    *heads, tail = numbers
    if len(heads) > 3 or any(number > 255 for number in heads) or tail >= 256 ** (4 - len(heads)):
        raise _no_such_host(raw)
    for index, number in enumerate(heads):
        tail += number << 8 * (3 - index)
    return ".".join(str(tail >> shift & 255) for shift in (24, 16, 8, 0))


def _ipv6(text: str) -> str:
    # Written out here because `str(IPv6Address)` changed between Python versions and keys are stored.
    try:
        if "%" in text:
            raise AddressValueError
        number = int(IPv6Address(text))
    except AddressValueError:
        raise InvalidUrl(f"the URL's IPv6 host is {text[:60]!a}: give an address, without a zone") from None
    groups = [f"{number >> shift & 0xFFFF:x}" for shift in range(112, -16, -16)]
    runs = re.finditer(r"(?:\b0(?::|\Z))+", ":".join(groups))
    longest = max(runs, key=lambda run: run[0].count("0"), default=None)
    if longest is None or longest[0].count("0") < 2:
        return f"[{':'.join(groups)}]"
    first = longest.string[: longest.start()].count(":")
    after = first + longest[0].count("0")
    return f"[{':'.join(groups[:first])}::{':'.join(groups[after:])}]"


def _no_such_host(raw: str) -> InvalidUrl:
    return InvalidUrl(f"the URL's host is {raw[:80]!a}, which cannot exist: give a host name or an IP address")


def _path(raw: str, keep: frozenset[str]) -> str:
    path = _escaped(raw, _PATH_ESCAPE, _PATH_PLAIN)
    segments: list[str] = []
    for segment in path.split("/")[1:]:
        name = _without_parameters(segment, keep) if ";" in segment else segment
        if name == "..":
            if segments:
                segments.pop()
        elif name != ".":
            segments.append(name)
    # Empty segments go last: a `..` takes one away with it, which is what a browser sends.
    return "/" + "/".join(filter(None, segments))


def _without_parameters(segment: str, keep: frozenset[str]) -> str:
    name, *parameters = segment.split(";")
    for parameter in parameters:
        key, equals, _ = parameter.partition("=")
        key = key.lower()
        if key in keep:
            name += f";{parameter}"
        elif parameter and not equals and key not in SESSION_PARAMETERS:
            name += f"%3B{parameter}"
    return name


def _query(raw: str, keep: frozenset[str]) -> str:
    pairs: list[tuple[str, str]] = []
    for piece in raw.replace("+", "%20").split("&"):
        raw_name, _, raw_value = piece.partition("=")
        name, value = _escaped_name(raw_name), _escaped(raw_value, _VALUE_ESCAPE, _VALUE_PLAIN)
        folded = name.lower()
        noise = folded in _NOISE_PARAMETERS or folded.startswith(_NOISE_PREFIXES)
        if (name or value) and (not noise or folded in keep):
            pairs.append((name, value))
    pairs.sort(key=lambda pair: pair[0])
    query = "&".join(f"{name}={value}" if value else name for name, value in pairs)
    return f"?{query}" if query else ""


def _escaped_name(name: str) -> str:
    return _escaped(name, _NAME_ESCAPE, _NAME_PLAIN)


def _escaped(text: str, escape: re.Pattern[str], plain: frozenset[str]) -> str:
    """Decode each escape of a plain character, upper-case the others, encode what may not stand as it is."""
    if not escape.search(text):
        return text

    def replaced(match: re.Match[str]) -> str:
        found = match[0]
        if len(found) == 3:
            character = chr(int(found[1:], 16))
            return character if character in plain else found.upper()
        return "".join(f"%{byte:02X}" for byte in found.encode())

    return escape.sub(replaced, text)
