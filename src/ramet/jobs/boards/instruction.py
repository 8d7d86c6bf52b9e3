"""Paths into the answer of a board. A path never fails: a missing value is an empty one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

_STEP = re.compile(r"(?P<name>[^\[\].]*)(?P<each>\[(?:(?P<key>[^\[\]=]+)=(?P<value>[^\[\]]*))?\])?")
TEXT_MAX = 1_000_000
"""Characters of one value that are looked at."""


class Step(NamedTuple):
    """One part of a path."""

    name: str
    each: bool
    key: str
    value: str


@lru_cache(maxsize=4096)
def parsed_path(path: str) -> tuple[Step, ...]:
    """Return the steps of a path.

    Raises:
        ValueError: it is none.
    """
    if not path:
        return ()
    steps = []
    for part in path.split("."):
        match = _STEP.fullmatch(part)
        if match is None or (not match["name"] and not match["each"]):
            raise ValueError(f"no path: {path!r}: names with a dot between, [] or [key=value] behind a list")
        steps.append(Step(match["name"], match["each"] is not None, match["key"] or "", match["value"] or ""))
    return tuple(steps)


def values_at(value: Any, path: str) -> Sequence[Any]:
    """Return all values that a path leads to, in order; null is left out."""
    found = [value]
    for step in parsed_path(path):
        found = [one for each in found for one in _step(each, step)]
        if not found:
            break
    return [one for one in found if one is not None]


def _step(value: Any, step: Step) -> Iterator[Any]:
    if step.name == "*":
        if isinstance(value, dict):
            yield from value.values()
        return
    inner = value
    if step.name:
        if isinstance(value, dict):
            inner = value.get(step.name)
        elif isinstance(value, list) and step.name.isdecimal() and len(step.name) < 9:
            at = int(step.name)
            inner = value[at] if at < len(value) else None
        else:
            return
    if not step.each:
        yield inner
        return
    for one in inner if isinstance(inner, list) else [] if inner is None else [inner]:
        if not step.key or (isinstance(one, dict) and text_at(one, step.key) == step.value):
            yield one


def text_of_value(value: Any) -> str:
    """Return a single value as text: a flag is ``true`` or ``false``; objects, lists and infinite numbers are empty."""
    if isinstance(value, str):
        return value[:TEXT_MAX]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(10**40) < value < 10**40 else ""
    if isinstance(value, float):
        # The text of a whole number has no point, so that an identifier is the same however it was written.
        if not math.isfinite(value):
            return ""
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dict):
        return text_of_value(value.get("#text")) if "#text" in value else ""
    return ""


def text_at(value: Any, path: str) -> str:
    """Return the first text that is not empty where a path leads to; empty: there is none."""
    for one in values_at(value, path):
        text = text_of_value(one).strip()
        if text:
            return text
    return ""


def texts_at(value: Any, path: str) -> list[str]:
    """Return all texts that are not empty where a path leads to."""
    return [text for one in values_at(value, path) if (text := text_of_value(one).strip())]


PLACES_BY = "; "


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def stored(self) -> dict[str, Any]:
        """Return the values for JSON, without defaults."""
        return self.model_dump(mode="json", exclude_defaults=True)


def _checked_path(path: str) -> str:
    parsed_path(path)
    return path


def _checked_pattern(pattern: str) -> str:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    if groups < 1:
        raise ValueError("a match needs a group: it is what is taken")
    return pattern


@lru_cache(maxsize=1024)
def _checked_selector(selector: str) -> str:
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError

    css = selector.partition("@")[0].strip()
    try:
        if css not in ("", "."):
            LexborHTMLParser("<p>").css(css)
    except SelectolaxError as error:
        raise ValueError(f"no CSS selector: {selector[:100]!r}") from error
    return selector


def _list(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Path = Annotated[str, AfterValidator(_checked_path)]
Pattern = Annotated[str, AfterValidator(_checked_pattern)]
Selector = Annotated[str, AfterValidator(_checked_selector)]
"""CSS; ``@name`` behind it takes an attribute, nothing before it the entry itself."""
Markup = Literal["html", "escaped", "text"]


def _part(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class Part(_Shape):
    """A piece of a longer text, under its heading where it has one."""

    text: Path
    title: Path | None = None
    heading: str = ""
    """Heading above it on the vendor's own pages, where the answer has no title for it."""
    each: Path = ""
    """Path to the objects, each of which has such a text; empty: the opening itself has it."""
    markup: Markup = "html"
    """``escaped``: markup whose tags are written as character references; ``text``: no markup at all."""


class Amounts(_Shape):
    """A salary in numbers."""

    minimum: Path
    maximum: Path
    currency: Path | None = None
    period: Path | None = None
    divide: int = Field(default=1, ge=1)
    """Divisor of the numbers (100 where they are in cents)."""


class PlacePaths(_Shape):
    """Paths to the parts of a place; of a tuple the first that has something."""

    city: Annotated[tuple[Path, ...], BeforeValidator(_list)] = ()
    region: Annotated[tuple[Path, ...], BeforeValidator(_list)] = ()
    country: Annotated[tuple[Path, ...], BeforeValidator(_list)] = ()


class Rule(_Shape):
    """One way to find a field."""

    path: Path | None = None
    all: tuple[Path, ...] = ()
    join: tuple[Path, ...] = ()
    each: Path = ""
    by: str = ", "
    template: str | None = None
    parts: tuple[Annotated[Part, BeforeValidator(_part)], ...] = ()
    amounts: Amounts | None = None
    place: PlacePaths | None = None
    """A place in parts, of every object of ``each``; they stay fields up to the reading of the posting."""
    match: Pattern | None = None
    map: dict[str, str] = Field(default_factory=dict)
    """Text that was found, in lower case -> its replacement; a text that is not in it counts as absent."""
    markup: Markup = "html"
    """Markup of a description that is found by a path."""


def _rules(value: Any) -> Any:
    rules = value if isinstance(value, list | tuple) else [value]
    return tuple({"path": rule} if isinstance(rule, str) else rule for rule in rules)


Rules = Annotated[tuple[Rule, ...], BeforeValidator(_rules)]


class Skip(_Shape):
    """Openings that are left out, though the board lists them."""

    path: Path
    values: tuple[str, ...]
    """Lower case; ``true`` and ``false`` of a flag."""


class Paging(_Shape):
    """Request of the next page."""

    by: Literal["offset", "page", "token", "link"]
    parameter: str = ""
    """Parameter of the address or, of a POST, of its body (there with dots for what is inside). Empty: the address has
    ``{offset}`` or ``{page}`` in it."""
    size: int = Field(default=100, ge=1)
    """Openings of a page, as asked for. A page that has fewer is the last one, where no total is given."""
    first: int | None = Field(default=None, ge=0)
    """Number of the first page, 1 if not given; or of the first opening, 0 if not given."""
    path: Path | None = None
    """Path to the token or the address of the next page."""
    selector: Selector | None = None
    """Selector of the link to the next page, in a page."""
    total_on_first: bool = False
    """The total is right on the first page only."""
    most: int | None = None
    """The board shows no more than this, whatever its total says."""


class Detail(_Shape):
    """Request of the rest of an opening."""

    url: Rules
    """Address of the rest: a path or a template."""
    shorter: int = Field(default=1, ge=1)
    """A description with fewer characters than these is a teaser: the rest has to be fetched."""
    type: Literal["json", "html"] = "html"
    """``html``: the page of the posting, read as any page of a posting."""
    embedded: str | None = None
    """JSON in the posting's page, as that of an instruction."""
    response_path: Path = ""
    fields: dict[str, Rules] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)


class Name(_Shape):
    """Place at which the board gives its own name."""

    url: str | None = None
    """None: with the list."""
    path: Path | None = None
    selector: Selector = "title"
    """Selector in a page, where there is no path."""
    match: Pattern | None = None


class Selectors(_Shape):
    """Selectors of the openings of a page and of their fields."""

    item: Annotated[Selector, Field(min_length=1)]
    fields: dict[str, Annotated[tuple[Selector, ...], BeforeValidator(_list)]]
    """Field -> the selectors of which the first that fits is taken. A name with ``_`` before it is for rules."""


class Instruction(_Shape):
    """How one board is read. All addresses are whole: nothing is left to fill in but pages and openings."""

    type: Literal["json", "rss", "xml", "html", "jsonld"]
    vendor: str
    url: str
    token: str | None = None
    ids: dict[str, str] = Field(default_factory=dict)
    """Values that templates of an opening's addresses may name, beside the opening's own fields."""
    method: Literal["GET", "POST"] = "GET"
    body: dict[str, Any] | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    embedded: str | None = None
    """JSON in a page: the CSS selector of its script (``script#id``), or the text right before the value."""
    response_path: Path = ""
    total_path: Path | None = None
    fields: dict[str, Rules] = Field(default_factory=dict)
    selectors: Selectors | None = None
    skip: tuple[Skip, ...] = ()
    paging: Paging | None = None
    detail: Detail | None = None
    base_url: str | None = None
    """Address to which relative ones are relative; None: the page that has them."""
    name: Name | None = None
    company_path: Path | None = None
    """Path to the company's name, where the list gives it once for all of its openings."""
    company_name: str | None = None
    """Owner of the board, for openings that do not say."""
    company_from: Literal["title"] | None = None
    """``title``: the text before the first colon of a title is the company."""
    newest_first: bool = False
    """The list begins with what was posted last, so that pages without anything new end a run."""
    conditional: bool = True
    """The board may be asked whether anything changed (ETag, Last-Modified)."""
    allow_empty: bool = False
    """A page without any opening is right. An answer with an empty list always is."""
    empty_is_unknown: bool = False
    """The vendor answers an empty list for a board that it does not have."""

    @classmethod
    def of(cls, stored: Any) -> Self:
        """Return the instruction that was stored.

        Raises:
            pydantic.ValidationError: it is not an instruction.
        """
        return cls.model_validate(stored)


def is_valid(instruction: Instruction) -> list[str]:
    """Return what is missing to read it: nothing where it has an address, and a token, a base address or selectors."""
    missing = []
    if not instruction.url.lower().startswith(("http://", "https://")):
        missing.append("a url that begins with http:// or https://")
    if instruction.type == "html" and (instruction.selectors is None or not instruction.selectors.item):
        missing.append("selectors of the openings on the page")
    if instruction.type == "html" and instruction.selectors is not None:
        missing += [
            f"a selector of the {name}" for name in ("title", "url") if name not in instruction.selectors.fields
        ]
    if instruction.type in ("json", "xml") and not (instruction.token or instruction.base_url or instruction.ids):
        missing.append("a token or a base_url")
    if instruction.type in ("json", "xml"):
        missing += [f"where the {name} is (fields)" for name in ("title", "url") if name not in instruction.fields]
    return missing
