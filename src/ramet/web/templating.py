"""Templates: everything is escaped; times, numbers and states look the same on every page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ramet import ProblemCounts, __version__, as_usd, display_key
from ramet.commands.terminal import counted, short_usd, span
from ramet.web.navigation import Entry, badges, shown
from ramet.web.page import Page, Visit


def environment(others: BaseLoader | None = None) -> Environment:
    """Return the templates of the dashboard, and those of products."""
    loader = ChoiceLoader([PackageLoader("ramet.web"), *([] if others is None else [others])])
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {
        "moment": moment, "relative": relative, "span": span, "number": number, "dollars": dollars, "usd": short_usd,
        "counted": counted, "percent": percent, "shown_key": display_key,
    }  # fmt: skip
    made.globals |= {"url": url, "version": __version__, "page_names": page_names}
    made.filters["short_names"] = short_names
    return made


def render(
    visit: Visit, page: Page, context: dict[str, Any], status: int = 200, problems: ProblemCounts | None = None
) -> HTMLResponse:
    """Render the whole page; without ``problems`` its frame shows no counts."""
    products = [Entry(one.first, one.pages.label) for one in visit.request.app.state.products.used]
    frame = {"navigation": shown(products, _paths(visit.request)), "badges": badges(problems)}
    return HTMLResponse(_rendered(visit, page, {**context, **frame}, "base.html"), status_code=status)


async def render_in_frame(visit: Visit, page: Page, context: dict[str, Any], status: int = 200) -> HTMLResponse:
    """Render the whole page, with the counts of problems in its frame."""
    return render(visit, page, context, status, await visit.client.problem_counts())


def render_live(visit: Visit, page: Page, context: dict[str, Any]) -> str:
    """Render only the block ``live``, which changes while the page is open."""
    return _rendered(visit, page, context, "live.html")


def _rendered(visit: Visit, page: Page, context: dict[str, Any], layout: str) -> str:
    about = {"visit": visit, "page": page, "visitor": visit.visitor, "now": visit.now, "place": visit.client.place}
    template = visit.dashboard.templates.get_template(page.template)
    return with_labels(template.render({**about, "layout": layout, **context}))


_TABLE = re.compile(r"<thead>(.*?)</thead>\s*<tbody>(.*?)</tbody>", re.DOTALL)
_HEADING = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
_CELL = re.compile(r"<(td|th)((?: [^>]*)?)>")
_TAG = re.compile(r"<[^>]*>")


def with_labels(html: str) -> str:
    """Give every cell of a table the heading of its column as ``data-label``.

    On a narrow screen a row is a card, in which each value has its label beside it; style sheets cannot look it up.
    Text from outside is escaped, so tags in ``html`` are those of the templates.
    """
    return _TABLE.sub(_labelled_table, html)


def _labelled_table(table: re.Match[str]) -> str:
    labels = [_TAG.sub("", heading).strip() for heading in _HEADING.findall(table[1])]
    rows = table[2].split("<tr")
    return f"<thead>{table[1]}</thead><tbody>{rows[0]}{''.join(_labelled_row(row, labels) for row in rows[1:])}</tbody>"


def _labelled_row(row: str, labels: list[str]) -> str:
    rest = iter(labels)

    def labelled(cell: re.Match[str]) -> str:
        label = "" if "colspan" in cell[2] else next(rest, "")
        return f'<{cell[1]}{cell[2]} data-label="{label}">' if label else cell[0]

    return f"<tr{_CELL.sub(labelled, row)}"


@pass_context
def url(context: Context, name: str, /, **parts: Any) -> str:
    """Return the address of a page by its name; parts that its path does not name become its query, without None.

    Parts of the path are percent-encoded, slashes too, so any id works: people choose those of lineages. ``.`` and
    ``..`` mean something in a path however they are written, and one that ends like the address of a timeline would
    lead there: they go into the query, and the path stays empty there.
    """
    return address_of(context["visit"].request, name, **parts)


def address_of(request: Request, name: str, /, **parts: Any) -> str:
    """Return the same address without a template."""
    given = {key: str(value) for key, value in parts.items() if value is not None}
    path = {key: value for key, value in given.items() if f"{{{key}" in _paths(request).get(name, "")}
    steps = {key: value for key, value in path.items() if value in (".", "..") or value.endswith("/timeline")}
    query = {key: value for key, value in given.items() if key not in path} | steps
    encoded = {key: "" if key in steps else quote(value, safe="") for key, value in path.items()}
    made = str(request.app.url_path_for(name, **encoded))
    return f"{made}?{urlencode(query)}" if query else made


@pass_context
def page_names(context: Context) -> set[str]:
    """Return the names of all pages."""
    return {*_paths(context["visit"].request)}


def _paths(request: Any) -> dict[str, str]:
    return {route.name: route.path for route in request.app.routes if getattr(route, "name", None)}


def moment(when: float | None) -> Markup:
    """Render a moment as ``<time>``: in UTC for machines; a script shows it in the reader's zone."""
    if when is None:
        return Markup("-")
    try:
        at = datetime.fromtimestamp(when, tz=UTC)
    except (OverflowError, OSError, ValueError):
        return Markup("{}").format(f"{when:g}")
    made = Markup('<time datetime="{}">{} UTC</time>')
    return made.format(at.isoformat(timespec="milliseconds"), at.strftime("%Y-%m-%d %H:%M:%S"))


@pass_context
def relative(context: Context, when: float | None) -> Markup:
    """Return the distance of a moment: ``in 12 s``, ``3 min ago``; on one line."""
    if when is None:
        return Markup("-")
    seconds = when - float(context["now"])
    if abs(seconds) < 1:
        return Markup("now")
    words = f"in {span(seconds)}" if seconds > 0 else f"{span(-seconds)} ago"
    return Markup('<span class="when">{}</span>').format(words)


def dollars(nano_dollars: int) -> Markup:
    """Render an amount of money, rounded; its title is the exact one."""
    exact, short = as_usd(nano_dollars), short_usd(nano_dollars)
    if exact == short:
        return Markup("{}").format(short)
    return Markup('<span class="money" title="{}">{}</span>').format(exact, short)


def number(count: float | None) -> str:
    """Format a count with separators of thousands; ``-`` for none."""
    return "-" if count is None else f"{count:,.0f}"


def percent(share: float | None) -> str:
    """Format a share of one in percent; ``-`` for none."""
    return "-" if share is None else f"{share:.1%}"


NAME_CHARACTERS = 48
"""Most characters of the name of a lineage in a list."""
NAME_BEGINNING = 12


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return names for a list: of a long one its beginning, and the part that differs from the names beside it."""
    alphabetic = sorted(set(names))
    shared = dict.fromkeys(alphabetic, 0)
    for one, other in pairwise(alphabetic):
        common = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
        shared[one], shared[other] = max(shared[one], common), max(shared[other], common)
    return {name: _short_name(name, shared[name]) for name in alphabetic}


def _short_name(name: str, shared: int) -> str:
    if len(name) <= NAME_CHARACTERS:
        return name
    room = NAME_CHARACTERS - NAME_BEGINNING - 1
    begin = max(NAME_BEGINNING, min(shared, len(name) - room))
    middle = name[begin : begin + room]
    return f"{name[:NAME_BEGINNING]}…{middle}{'…' if begin + room < len(name) else ''}"
