"""The rows of vendors: those that ship with the package, and before them those of the user's own file.

A row says where a vendor's boards are (their addresses, and what pages load from the vendor), how sure such an address
is, where its description comes from, and how a board is read. Its expressions know these words: ``{token}``,
``{tenant}``, ``{site}``, ``{instance}``, ``{region}`` are groups with a usual pattern, ``{locale}``, ``{language}``,
``{careers}``, ``{end}`` and ``{is}`` stand for expressions. They are matched without regard to case.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ramet.jobs.boards.instruction import Instruction, Selector, is_valid
from ramet.jobs.config.config_file import Document, read_document, shown

FILES = ("vendors.yaml", "suites.yaml", "aggregators.yaml")
"""Files of the package: boards of employers, suites of large employers, lists of many companies' openings."""
FILE_VARIABLE = "RAMET_JOBS_VENDORS"
"""Names the user's own file; without it that is ``ramet/vendors.yaml`` in ``$XDG_CONFIG_HOME`` or ``~/.config``."""

FILLED = frozenset("token host label apex tenant site instance region url page selectors embedded domain".split())
"""Variables of a board that may be known before its row says more (``variables``)."""
_WHEN_READ = frozenset({"offset", "page"})
_PLACEHOLDER = re.compile(r"\{([a-z_]{1,40})\}")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_CAREERS = r"(?:careers?|jobs?|join|karriere|recruitment|talents?|vacatures|werkenbij|work)\."
_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "token": r"(?P<token>[^/]{1,150})",
        "site": r"(?P<site>[^/]{1,150})",
        "tenant": r"(?P<tenant>[^/]{1,100})",
        "instance": r"(?P<instance>[^/.]{1,63})",
        "region": r"(?P<region>\.eu)",
        # Two letters alone may be a site of Workday too.
        "locale": r"(?:/[a-z]{2}[-_][a-z]{2}(?=/)|/[a-z]{2}(?=/(?!jobs?(?:/|$)|details/|login)[^/]))?",
        "language": r"(?:/[a-z]{2}(?:[-_][a-z]{2})?(?=/))?",
        "end": r"(?:/|$)",
        "careers": _CAREERS,
        "is": r"""["']?\s{0,5}[:=]\s{0,5}["']""",
    }
)
_LABELS = {**_WORDS, "token": r"(?P<token>[a-z0-9-]{1,63})", "tenant": r"(?P<tenant>[a-z0-9-]{1,63})"}


def expression(text: str, words: Mapping[str, str] = _WORDS) -> str:
    """Return a regular expression with its words written out.

    Raises:
        ValueError: it is not a valid one.
    """
    written = re.sub(r"\{([a-z]{2,10})\}", lambda match: words.get(match[1], match[0]), text)
    try:
        re.compile(written)
    except re.error as error:
        raise ValueError(f"{text!r} is not a valid regular expression: {error}") from error
    return written


def label_expression(text: str) -> str:
    """Return the same for the labels of a host, whose words have no dots."""
    return expression(text, _LABELS)


Expression = Annotated[str, AfterValidator(expression)]
Labels = Annotated[str, AfterValidator(label_expression)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class VendorAddress(_Shape):
    """One kind of address of a vendor. As a text: ``{token}.example.com/jobs``, its domain's last two labels."""

    domain: str
    labels: Labels = ""
    """Expression for the whole of the host before the domain."""
    path: Expression = ""
    """Expression for the beginning of the path."""
    parameter: str = ""
    """The query's parameter that has the token."""
    query: dict[str, str] = Field(default_factory=dict)
    """Variable -> its parameter in the query. An address without one of them does not match."""
    board: str | None = None
    """The board's address for people, where it is not the row's."""
    keeps: tuple[str, ...] | None = None
    """Parts of the board's identity beside the token, where they are not the row's."""


class OwnSite(_Shape):
    """How a vendor lays out the addresses of a site on the company's own domain."""

    host: Expression = ""
    path: Expression
    keeps: tuple[str, ...] = ("host",)


class VendorElement(_Shape):
    """An element that a vendor's script puts a board into."""

    selector: Selector
    attribute: str = ""
    """It has the board's name, or its host."""


class Loaded(_Shape):
    """File that a site on a company's own domain loads from the vendor that made it."""

    host: str = ""
    """End of the host of a script, a style sheet or a picture; empty: any."""
    path: str = ""
    """The beginning of its path."""
    feed: str = ""
    """The path of the site's feed, where that is what is read."""


def _address(value: Any) -> Any:
    """Return the parts of an address that is written as one text."""
    if not isinstance(value, str):
        return value
    host, _, path = value.removeprefix("https://").partition("/")
    labels = host.split(".")
    literal = [re.sub(r"\\([{}])", r"\1", re.escape(text)) for text in (".".join(labels[:-2]), path)]
    return {
        "domain": ".".join(labels[-2:]),
        "labels": literal[0],
        "path": f"/{literal[1]}{'' if path.endswith('/') else '{end}'}" if path else "",
    }


Confident = Literal["high", "medium", "low"]


class Vendor(Instruction):
    """Common part of all boards of a vendor: an instruction with variables to fill in."""

    vendor: str = ""
    kind: str = ""
    """Its kind in detection, where that is not the row's name."""
    hosts: tuple[str, ...] = ()
    """Its hosts, with ``*``. Of several rows of one kind, the one that has the board's host is taken."""
    paths: tuple[str, ...] = ()
    """Its addresses on these hosts, with ``*``: path and query. None: all of them."""
    region: str | None = None
    """Value that detection must have found as ``region`` for this row to be taken."""
    host: str | None = None
    """The board's host, where it was found on another one."""
    in_pages: bool = True
    """Whether a link to it in a company's pages may be the company's board."""
    own_domains: bool = False
    """A board may be on a host of the company's own."""
    variables: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """More variables to fill in, each with the first of these that is known."""
    needs: tuple[str, ...] = ()
    """Variables of a board that must be known."""
    roots: dict[str, str] = Field(default_factory=dict)
    """Name of an XML root element -> the response path, for feeds that turn out to be such a list."""
    otherwise: str | None = None
    """The row that is tried where a board does not answer in the shape of this one."""

    confidence: Confident = "low"
    """The most that can be said before the board has answered: high where a list call without a key exists, or the
    vendor itself names its rule; the others have to be tried."""
    enabled: Confident | None = None
    """Confidence in scraping it without a person's consent, where that is less."""
    source: Literal["recorded", "documented", "described", "own"] = "own"
    """Origin of its shape: answers that were recorded, the vendor's documentation, descriptions by others that
    were not checked, the user's own file."""
    note: str = ""
    """Notes for people: terms, limits."""
    board: str = "https://{host}/"
    """The board's address for people."""
    keeps: tuple[str, ...] = ()
    """Parts of a board's identity beside the token: ``host``, ``site``, ``tenant``, ``instance``, ``region``."""
    addresses: tuple[Annotated[VendorAddress, BeforeValidator(_address)], ...] = ()
    parameters: tuple[str, ...] = ()
    """Parameters in addresses of a company's own pages, by which the vendor's script finds the opening."""
    own_sites: tuple[OwnSite, ...] = ()
    elements: tuple[VendorElement, ...] = ()
    scripts: tuple[Expression, ...] = ()
    """Expressions for the settings of the vendor's script in a page."""
    loads: tuple[Loaded, ...] = ()


@cache
def vendors() -> Mapping[str, Vendor]:
    """Return every row by its name; those of the user's file first, and in place of the package's of the same name.

    Raises:
        InputError: the user's file is not valid, on one line.
    """
    own = own_rows(own_file())
    shipped = {name: row for name, row in _shipped().items() if name not in own}
    return MappingProxyType(own | shipped)


@cache
def _shipped() -> dict[str, Vendor]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # As fast as there is one.
    rows: dict[str, Any] = {}
    for file in FILES:
        text = (resources.files("ramet.jobs.boards") / file).read_text(encoding="utf-8")
        rows |= loader(text).get_single_data() or {}
    return {name: Vendor.model_validate({"vendor": name, "kind": name, **row}) for name, row in rows.items()}


def own_file() -> Path:
    """Return where the user's own rows are."""
    given = os.environ.get(FILE_VARIABLE)
    if given:
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".config") / "ramet" / "vendors.yaml"


def own_rows(file: Path) -> dict[str, Vendor]:
    """Return the rows of a user's file; none where there is no such file, unless the environment names it.

    Raises:
        InputError: the file is not valid: one line with its place and what to give.
    """
    if not os.environ.get(FILE_VARIABLE) and not file.exists():
        return {}
    document = read_document(file)
    rows = {name: _own_row(document, name, row) for name, row in document.value.items()}
    for name, row in rows.items():
        if row.otherwise is not None and row.otherwise not in rows and row.otherwise not in _shipped():
            raise document.error((name, "otherwise"), f"{name}: otherwise names {row.otherwise}, which is not a row")
    return rows


def _own_row(document: Document, name: str, row: Any) -> Vendor:
    if not _NAME.fullmatch(name):
        raise document.error((name,), f"{shown(name)} is not a valid name of a vendor: use a to z, 0 to 9 and _")
    if not isinstance(row, dict):
        raise document.error((name,), f"{name} is {shown(row)}: give its fields below it, such as `type: json`")
    try:
        made = Vendor.model_validate({"vendor": name, "kind": name, **row})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        path = [str(part) for part in first["loc"] if "[" not in str(part)]
        field = ".".join([name, *path])
        if first["type"] == "extra_forbidden":
            close = get_close_matches(path[-1], Vendor.model_fields, n=1)
            advice = f"did you mean {close[0]}?" if close else "the guide on jobs lists them"
            raise document.error((name, *path), f"{field} is not a field of a vendor: {advice}") from None
        message = first["msg"].removeprefix("Value error, ")
        raise document.error((name, *path), f"{field} is {shown(first['input'])}: {message}") from None
    if wrong := misfits(made):
        raise document.error((name,), f"{name}: {wrong[0]}")
    return made


def misfits(vendor: Vendor) -> list[str]:
    """Return the errors that keep a row from ever giving a board that can be read, a line each."""
    example = {"token": "any", "url": vendor.url.replace("{url}", "https://any.example")}
    found = [f"give {missing}" for missing in is_valid(vendor.model_copy(update=example))]
    if not (vendor.addresses or vendor.parameters or vendor.own_sites or vendor.loads or vendor.hosts):
        found.append("nothing leads to it: give addresses, such as `addresses: ['{token}.example.com']`")
    told = {name for one in vendor.addresses for name in (*one.query, *re.compile(one.labels + one.path).groupindex)}
    known = FILLED | told | vendor.variables.keys() | _WHEN_READ
    unknown = [name for name in _PLACEHOLDER.findall(vendor.url) if name not in known]
    found += [
        f"its url names {{{name}}}, which is not known of a board: take one of {', '.join(sorted(known))}"
        for name in dict.fromkeys(unknown)
    ]
    return found


@cache
def own_vendor_domains() -> frozenset[str]:
    """Return the domains in the user's own rows: they are boards, and no companies' websites."""
    rows = [row for row in vendors().values() if row.source == "own"]
    return frozenset(one.domain for row in rows for one in row.addresses)


@cache
def _by_kind() -> Mapping[str, tuple[Vendor, ...]]:
    kinds: dict[str, list[Vendor]] = {}
    for row in vendors().values():
        kinds.setdefault(row.kind, []).append(row)
    return {kind: tuple(rows) for kind, rows in kinds.items()}


def rows_of(kind: str) -> tuple[Vendor, ...]:
    """Return the rows of a kind, in their order."""
    return _by_kind().get(kind, ())


def main_row(kind: str) -> Vendor | None:
    """Return the row whose values hold for a whole kind: the one of its name, else its first."""
    rows = rows_of(kind)
    return next((row for row in rows if row.vendor == kind), rows[0] if rows else None)
