"""The third pass of the text: links give way to what they show, pictures to their captions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ramet.wiki.wikitext.marks import GONE
from ramet.wiki.wikitext.site import CATEGORIES, Site
from ramet.wiki.wikitext.titles import TITLE_BYTES_MAX, namespace_number

# Of `]]]` the last two close: `[[File:x|[http://y z]]]`.
_TOKEN = re.compile(r"\[\[(?!\[)|\]\](?!\](?!\]))")
_TITLE = re.compile(r"[^\[\]{}|<>\n]++(?=\||\]\])")
_FILES = (6, -2)
_NESTED_MAX = 8
"""Pictures whose captions have pictures; one within another is all that people write."""
_LINE_START_MAX = 200
_OPTION = re.compile(r"[^\W\d]++=.*|[0-9]{0,5}x?[0-9]{1,5} ?px|[^\W\dA-Z][^\WA-Z]*+(?:-\w++)*+|", re.DOTALL)
_IN_BRACKETS = re.compile(r"[ _]*[(\uff08][^()]*[)\uff09]\s*$")


@dataclass(slots=True)
class _Open:
    start: int
    """In the text, after the brackets."""
    piece: int
    """Number of pieces before its content."""
    namespace: int | None
    title: str


def with_labels(text: str, site: Site) -> str:
    """`text` with each `[[...]]` replaced by what a reader sees of it; brackets that make no link go.

    A category's link, and another language's on a line of its own, show nothing. A picture shows its caption in a
    paragraph of its own where it stands at the start of a line, else nothing, as icons do.
    """
    pieces: list[str] = []
    opened: list[_Open] = []
    at = 0
    for token in _TOKEN.finditer(text):
        pieces.append(text[at : token.start()])
        at = token.end()
        if token[0] == "]]":
            if opened:
                link = opened.pop()
                content = "".join(pieces[link.piece :])
                del pieces[link.piece :]
                pieces.append(_shown(link, content, text, at, site))
            continue
        if opened and opened[-1].namespace not in _FILES:
            opened.pop()  # only a picture's caption can hold a link
        title = _TITLE.match(text, at)
        if title is not None:
            if len(opened) == _NESTED_MAX:
                del opened[0]
            opened.append(_Open(at, len(pieces), _namespace(title[0], site), title[0]))
    pieces.append(text[at:])
    return "".join(pieces)


def _namespace(title: str, site: Site) -> int | None:
    """None for an article and another wiki. A colon before it makes a plain link of a picture or category."""
    prefix, colon, _ = title.partition(":")
    return namespace_number(prefix, site) if colon and prefix.strip() else None


def _shown(link: _Open, content: str, text: str, end: int, site: Site) -> str:
    _, piped, label = content.partition("|")
    if link.namespace in _FILES:
        return _caption(label, text, link.start - 2)
    if link.namespace == CATEGORIES:
        return GONE
    if not piped and _leads_elsewhere(link.title, site) and _alone(text, link.start - 2, end):
        return GONE
    if label.strip(f" {GONE}"):
        return label
    title = (link.title if piped else content).strip().removeprefix(":").strip()
    return _short(title, site) if piped else title


def _short(title: str, site: Site) -> str:
    """What `[[title|]]` shows: no prefix, and no `(explanation)`."""
    prefix, colon, rest = title.partition(":")
    if colon and (namespace_number(prefix, site) is not None or _leads_elsewhere(title, site)):
        title = rest.strip()
    if len(title) > TITLE_BYTES_MAX:
        return title  # it is none
    return _IN_BRACKETS.sub("", title) or title


def _leads_elsewhere(title: str, site: Site) -> bool:
    prefix, colon, _ = title.partition(":")
    return bool(colon) and prefix.strip().casefold() in site.interwiki


def _alone(text: str, start: int, end: int) -> bool:
    return (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end] == "\n")


def _caption(options: str, text: str, start: int) -> str:
    caption = options.rpartition("|")[2].strip()
    if _OPTION.fullmatch(caption):
        return GONE
    line = text.rfind("\n", max(0, start - _LINE_START_MAX), start) + 1
    if (line == 0 and start > _LINE_START_MAX) or text[line:start].strip(f" {GONE}"):
        return GONE
    return f"{caption}\n\n"
