"""A page as its wiki renders it, from HTML to the sections that wikitext gives.

MediaWiki closes what it opens, so tags are read one after the other, and no tree is built: broken HTML costs time in
proportion to its length, and gives some text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ramet.wiki.pages import HeadingPath, Section
from ramet.wiki.wikitext.plain_text import CELL, clean, decode_entities, tidy

_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_LINE = "\r"
"""Mark of the end of a line; several after each other are one. No clean text has this character."""
_PARAGRAPHS = frozenset("p table h1 h2 h3 h4 h5 h6 blockquote figure pre hr".split())
_LINES = frozenset("address article aside caption center dd details div dl dt figcaption li ol section tr ul".split())
_CELLS = frozenset({"td", "th"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_UNREAD_TAGS = frozenset("audio button form input noscript object script select style svg template title video".split())
_UNREAD_CLASSES = frozenset(
    "ambox authority-control bandeau-container catlinks hatnote homonymie mbox-small metadata mw-cite-backlink"
    " mw-editsection mw-empty-elt mw-indicators mw-jump-link mw-kartographer-map mw-references-wrap mwe-math-element"
    " noprint portalbox reference references reflist shortdescription side-box sidebar sistersitebox stub taxobox toc"
    " vertical-navbox".split()
)
_UNREAD_BEGINNINGS = ("infobox", "navbox")
_UNREAD_IDS = frozenset({"coordinates", "toc", "catlinks"})

_ATTRIBUTES = r"""(?>(?:[^"'>]++|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*)"""
_TOKEN = re.compile(
    rf"<(?:!--.*?(?:-->|\Z)|(?P<end>/?)(?P<name>[a-z][a-z0-9]*+)(?P<attributes>{_ATTRIBUTES})>?)",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""(?<![\w-])(class|id|style|alt|alttext)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""", re.IGNORECASE)
_RUN = re.compile(r"[ \r\n]++")
_STYLED = re.compile(r"\{\\(?:display|text)style (.*)\}", re.DOTALL)
_BLANKS = re.compile(r"[ \t\n\r\f]+")
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)


def rendered_sections(html: str) -> tuple[Section, ...]:
    """Return the lead and the sections that have text, in reading order.

    Left out is what wikitext does not give either: infoboxes, boxes that lead elsewhere, references, edit links, notes
    about the page. A formula is its TeX. Tables, lists and captions are as `plain_text.plain` writes them.
    """
    return tuple(_Reader().sections(clean(html)))


class _Reader:
    """State of reading: the elements that are open, and the present section so far."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()
        self._unread: int | None = None
        """Number of open elements at the one whose content is not read; None: all are read."""
        self._formula = False
        self._pieces: list[str] = []
        self._heading: tuple[str, int, str] = ("", 1, "")
        self._path = HeadingPath()

    def sections(self, html: str) -> Iterator[Section]:
        """Read a page from its start to its end."""
        at = 0
        for token in _TOKEN.finditer(html):
            self._text(html[at : token.start()])
            at = token.end()
            name = (token["name"] or "").lower()
            if token["end"]:
                self._close(name)
            elif name and (found := self._begin(name, token["attributes"])) is not None:
                yield found
        self._text(html[at:])
        if found := self._section():
            yield found

    def _text(self, text: str) -> None:
        if text and self._unread is None:
            text = text if self._counts["pre"] else _BLANKS.sub(" ", text)
            self._pieces.append(decode_entities(text))

    def _begin(self, name: str, attributes: str) -> Section | None:
        found = None
        found_in = _ATTRIBUTE.finditer(attributes) if attributes else ()
        stated = {one[1].lower(): one[2] or one[3] or "" for one in found_in}
        if self._unread is not None:
            self._show_formula(stated)
        elif name in _HEADINGS:
            found = self._section()
        else:
            self._pieces.append(_before(name))
        if name in _VOID or attributes.endswith("/"):
            return found
        self._open.append(name)
        self._counts[name] += 1
        if self._unread is None and _is_unread(name, stated):
            self._unread = len(self._open)
            self._formula = "mwe-math-element" in stated.get("class", "")
        return found

    def _close(self, name: str) -> None:
        """End an element, and what was left open in it; one that is not open ends nothing."""
        last = "" if self._counts[name] else name
        while last != name:
            last = self._open.pop()
            self._counts[last] -= 1
            if self._unread is not None:
                self._unread = None if len(self._open) < self._unread else self._unread
            elif last in _HEADINGS:
                self._enter(int(last[1]))
            else:
                self._pieces.append(_before(last) if last not in _CELLS else "")

    def _enter(self, level: int) -> None:
        heading = " ".join("".join(self._pieces).replace(CELL, " ").split())
        self._pieces = []
        level = max(level, 2)
        self._heading = (heading, level, self._path.enter(level, heading))

    def _section(self) -> Section | None:
        text = tidy(_RUN.sub(_break, "".join(self._pieces)))
        self._pieces = []
        heading, level, path = self._heading
        return Section(heading, level, text, path) if text else None

    def _show_formula(self, stated: dict[str, str]) -> None:
        text = " ".join(decode_entities(stated.get("alttext") or stated.get("alt") or "").split())
        if self._formula and text:
            styled = _STYLED.fullmatch(text)
            self._pieces.append(styled[1].strip() if styled else text)
            self._formula = False


def _is_unread(name: str, stated: dict[str, str]) -> bool:
    classes = stated.get("class", "").split()
    return (
        name in _UNREAD_TAGS
        or stated.get("id") in _UNREAD_IDS
        or not _UNREAD_CLASSES.isdisjoint(classes)
        or any(one.startswith(_UNREAD_BEGINNINGS) for one in classes)
        or _HIDDEN.search(stated.get("style", "")) is not None
    )


def _before(name: str) -> str:
    """Return the text that parts an element from what is before it, and after it."""
    if name in _CELLS:
        return CELL
    if name in _PARAGRAPHS:
        return "\n\n"
    if name == "br":
        return "\n"
    return _LINE if name in _LINES else ""


def _break(run: re.Match[str]) -> str:
    """Return a run of blanks as newlines, one for any number of ends of lines, or as a space."""
    newlines = run[0].count("\n")
    return "\n" * newlines or ("\n" if _LINE in run[0] else " ")
