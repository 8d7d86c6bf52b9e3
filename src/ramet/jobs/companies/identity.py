"""Which company it is: its website as one address, and the key of its record."""

from __future__ import annotations

import ipaddress
import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from ramet import InvalidKey, url_key
from ramet.jobs.companies.hosts import BUILDER_DOMAINS, PATH_SITES, Role, role_of
from ramet.jobs.errors import InputError
from ramet.jobs.text.company_names import company_name_key

if TYPE_CHECKING:
    from tldextract import TLDExtract

PAGES = ("", "about", "about-us", "company", "careers")
"""Pages of a website that are looked at; the first is its home page."""

RESERVED = ("example", "test")
"""Top-level domains that are reserved for documents and tests; own servers use them."""
NAME_PREFIX = "name:"
"""Beginning of the key of a company without a website."""

_SHOWN_MAX = 80
_LENGTH_MAX = 2_000
# "acme.com:8443" is a host and a port, "mailto:jane" is a scheme.
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]{0,20}):(?!\d)")
_HINT = "give the company's own website, as in https://acme.com"


def website_of(text: str) -> str:
    """Return the website to which an address, or the name of a host, belongs.

    Returns:
        ``https://host/``, the host in lower case and in ASCII. A path is kept only where it names the site on a host
        that many share.

    Raises:
        InputError: the text is not a public address, or it is the address of a job board or a directory.
    """
    parts = _parts(text)
    host, domain = _named(parts, text)
    role = role_of(host, domain, parts.path)
    if role is Role.BOARD:
        raise InputError(f"{_shown(text)} is {role}, no company's website: add it as a source, or {_HINT}")
    if role is not None:
        raise InputError(f"{_shown(text)} is {role}, no website of one: {_HINT}")
    return f"https://{host}/{_path_kept(host, parts.path)}"


def company_id_of(website: str | None, name: str | None) -> str:
    """Return the key of a company's record: its registered domain, or else its name.

    A website that is none of a company's (a page on a directory, say) is passed over where there is a name.

    Returns:
        ``acme.com``, ``acme.github.io`` or ``sites.google.com/view/acme``; ``name:acme`` without a website.

    Raises:
        InputError: neither is of use; the line says what is wrong with the website, where there is one.
    """
    key = company_name_key(name)
    if website and website.strip():
        try:
            parts = urlsplit(website_of(website))
        except InputError:
            if not key:
                raise
        else:
            path = parts.path.strip("/")
            return f"{parts.hostname}/{path}" if path else _site(parts.hostname or "")
    if not key:
        raise InputError(f"a company needs a website or a name: {_HINT}")
    return NAME_PREFIX + key


def company_urls(website: str) -> list[str]:
    """Return the pages that are looked at, home first.

    Args:
        website: as :func:`website_of` gives it.
    """
    base = website.rstrip("/") + "/"
    return [base + page for page in PAGES]


def _parts(text: str) -> SplitResult:
    address = text.strip()
    if not address:
        raise InputError(f"there is no address: {_HINT}")
    if len(address) > _LENGTH_MAX or any(c.isspace() or not c.isprintable() for c in address):
        raise InputError(f"{_shown(text)} is not a valid address: {_HINT}")
    if scheme := _SCHEME.match(address):
        if scheme[1].lower() not in {"http", "https"}:
            raise InputError(f"{_shown(text)} is not a valid address of a web page: {_HINT}")
    else:
        address = "https://" + address.lstrip("/")
    try:
        if "@" in urlsplit(address).netloc:
            raise InputError(f"{_shown(text)} has a user's name or mail address in it: {_HINT}")
        parts = urlsplit(url_key(address))
        port = parts.port
    except InvalidKey as error:
        raise InputError(f"{_shown(text)} is not a valid address: {error}") from None
    except ValueError:
        raise InputError(f"{_shown(text)} is not a valid address: {_HINT}") from None
    if port is not None:
        raise InputError(f"{_shown(text)} has a port, which no company's website has: {_HINT}")
    return parts


def _named(parts: SplitResult, text: str) -> tuple[str, str]:
    """Return the host, and its registered domain."""
    host = (parts.hostname or "").rstrip(".")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        raise InputError(f"{_shown(text)} is the address of a machine, no name: {_HINT}")
    domain = _suffixes().extract_str(host, include_psl_private_domains=False).top_domain_under_public_suffix
    if not domain:
        raise InputError(f"{_shown(text)} has no public name of a host in it: {_HINT}")
    return host, domain


def _site(host: str) -> str:
    """Return the name that has one owner: the registered domain, or the host below a builder of sites."""
    found = _suffixes().extract_str(host)
    if found.is_private and (found.domain in {"", "www"}):
        found = _suffixes().extract_str(host, include_psl_private_domains=False)
    domain = found.top_domain_under_public_suffix
    if domain in BUILDER_DOMAINS:
        below = host.removesuffix(domain).rstrip(".").removeprefix("www.")
        if below not in {"", "www"}:
            return f"{below.rpartition('.')[2]}.{domain}"
    return domain


def _path_kept(host: str, path: str) -> str:
    for name, count in PATH_SITES.items():
        if host == name or host.endswith("." + name):
            parts = [part for part in path.split("/") if part]
            return "".join(f"{part}/" for part in parts[:count]) if len(parts) >= count else ""
    return ""


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…")


@cache
def _suffixes() -> TLDExtract:
    # Here, since it brings in a whole HTTP client (0.1 s). Only the list in the package is used: nothing is fetched.
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, extra_suffixes=RESERVED, include_psl_private_domains=True)
