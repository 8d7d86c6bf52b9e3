"""The instruction for one board, from the row of its vendor."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import ValidationError

from ramet.jobs.boards.instruction import Instruction, is_valid
from ramet.jobs.boards.vendor_rows import Vendor, main_row, rows_of, vendors
from ramet.jobs.detection.findings import DetectedBoard
from ramet.jobs.errors import InputError

_EMBEDDED = frozenset({"embedded", "response_path", "fields", "base_url"})
"""Keys of detection for openings in a page's script."""
_PLACEHOLDER = re.compile(r"\{([a-z_]{1,40})\}")
_WHEN_READ = frozenset({"offset", "page"})
"""Variables that an address may still have in it: they are filled in for each page."""
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62})){1,10}(?::[0-9]{1,5})?")
_VALUE = re.compile(r"(?!\.{1,2}\Z)[^\x00-\x1f\x7f/\\?#{}]{1,200}")


def vendor_of_root(root: str) -> Vendor | None:
    """Return the row whose lists have such a root element, with the path to its openings."""
    for vendor in vendors().values():
        if root in vendor.roots:
            return vendor.model_copy(update={"response_path": vendor.roots[root]})
    return None


def instructions_for(found: DetectedBoard) -> list[Instruction]:
    """Return the instructions for a board that detection found: its vendor's row, then those to try where it fails.

    Raises:
        InputError: something that the vendor needs is not known of this board.
    """
    vendor = _vendor_of(found)
    instructions = [instruction_for(found)]
    while vendor.otherwise is not None:
        vendor = vendors()[vendor.otherwise]
        instructions.append(instruction_for(found, vendor=vendor))
    return instructions


def instruction_for(
    found: DetectedBoard, *, company_name: str | None = None, vendor: Vendor | None = None
) -> Instruction:
    """Return the instruction for a board that detection found.

    Args:
        found: of a page that no vendor made, its ``ids`` have ``selectors`` or ``embedded``: as JSON, what detection
            discovered.
        company_name: whose board it is, for openings that do not say.
        vendor: the row to take; None: the one that fits.

    Raises:
        InputError: something that the vendor needs is not known of this board.
    """
    vendor = vendor or _vendor_of(found)
    known = _known(vendor, found)
    discovered = _discovered(found) if "selectors" in vendor.needs else {}
    missing = [name for name in vendor.needs if name not in known and (name != "selectors" or not discovered)]
    if missing:
        raise InputError(
            f"{found.kind}: the {' and the '.join(missing)} cannot be found in {found.url[:200]}: "
            "give the address of the board itself"
        )
    own: dict[str, Any] = {name: getattr(vendor, name) for name in Instruction.model_fields}
    own |= {
        "url": _filled(vendor.url, known),
        "base_url": None if vendor.base_url is None else _filled(vendor.base_url, known),
        "token": found.token,
        "ids": {name: value for name, value in known.items() if name not in ("token", "url", "label", "apex")},
        "company_name": company_name,
    }
    if vendor.name is not None and vendor.name.url is not None:
        own["name"] = vendor.name.model_copy(update={"url": _filled(vendor.name.url, known)})
    try:
        made = Instruction.model_validate(own | discovered)
    except ValidationError as error:
        raise InputError(f"{found.kind}: {error.errors()[0]['msg']}: {found.url[:200]}") from None
    if wanting := is_valid(made):
        raise InputError(f"{found.kind}: {wanting[0]} is missing for {found.url[:200]}")
    return made


def _discovered(found: DetectedBoard) -> dict[str, Any]:
    """Return the location of the openings of a page without a vendor: in its elements, or in one of its scripts."""
    if selectors := found.ids.get("selectors"):
        return {"selectors": _object(selectors)}
    embedded = _object(found.ids.get("embedded", "{}"))
    if not embedded:
        return {}
    detail = {"url": (embedded.get("fields") or {}).get("url", "url")}
    return {**embedded, "type": "json", "detail": detail} if set(embedded) <= _EMBEDDED else {}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _vendor_of(found: DetectedBoard) -> Vendor:
    rows, main = rows_of(found.kind), main_row(found.kind)
    if main is None:
        raise InputError(f"{found.kind} is not a board that is known: {', '.join(sorted(vendors()))}")
    host, region = _host_of(found.url), found.ids.get("region")
    path = found.url.partition("://")[2].removeprefix(host)
    for row in rows:
        if _is_of(host, row) and (not row.paths or any(fnmatchcase(path, pattern) for pattern in row.paths)):
            return row
        if region is not None and row.region == region:
            return row
    return main


def _known(vendor: Vendor, found: DetectedBoard) -> dict[str, str]:
    """Return the variables that may be filled in: the token, the host, and whatever else names the board."""
    known = {name: value for name, value in found.ids.items() if _VALUE.fullmatch(value)}
    known["url"] = found.url
    if found.token and _VALUE.fullmatch(found.token):
        known["token"] = found.token
    host, own = known.pop("host", "").lower(), _host_of(found.url)
    if not host and _is_of(own, vendor):
        host = own
    if not host and vendor.host is not None:
        host = _filled(vendor.host, known).lower()
    if not _HOST.fullmatch(host):
        host = own if vendor.own_domains else ""
    if host:
        known |= {"host": host, "label": host.partition(".")[0], "apex": ".".join(host.rsplit(".", 2)[-2:])}
    for name, templates in vendor.variables.items():
        filled = (_filled(template, known) for template in templates)
        value = next((value for value in filled if _VALUE.fullmatch(value)), None)
        if value is not None:
            known[name] = value
    return known


def _filled(template: str, known: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in known or name in _WHEN_READ:
            return match[0]
        return known[name] if name in ("url", "host") else quote(known[name], safe="")

    return _PLACEHOLDER.sub(value, template)


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).netloc.rpartition("@")[2]).lower()
    except ValueError:
        return ""


def _is_of(host: str, vendor: Vendor) -> bool:
    return any(fnmatchcase(host, pattern) for pattern in vendor.hosts)
