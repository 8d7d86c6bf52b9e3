"""A page as its headings and what stands below each, without a tree: as :func:`text_of` reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ramet.jobs.text.markup import text_of

HEADING_LENGTH_MAX = 120
"""Characters. A longer line is prose, whatever its element."""
LABEL_LENGTH_MAX = 40
"""Characters of a line that may be a label without being marked as a heading."""
PROSE_LENGTH_MIN = 60
"""Characters of a line that is a sentence and no entry of a menu."""

_MARK = "\ufdd0"
"""Stands before a heading's level while the page is made to text. A noncharacter: no text has it."""
_HEADING_TAG = re.compile(r"<h([1-6])(?=[\s/>])(?:[^\"'>]++|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*+>?", re.IGNORECASE)
_APART_NAMES = ("nav", "footer", "form", "template", "noscript", "dialog")
_APART = re.compile(rf"<({'|'.join(_APART_NAMES)})(?=[\s/>])", re.IGNORECASE)
_ENDS = {name: re.compile(rf"</{name}\b[^>]*+>?", re.IGNORECASE) for name in _APART_NAMES}
_NOT_ABOUT_THEM = re.compile(
    r"\b(?:cookies?|javascript|browser|subscribe|newsletter|privacy policy|terms of (?:use|service)|all rights reserved"
    r"|sign up|log in|captcha|consent|einwilligung)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the lines up to the next."""

    heading: str
    """Empty for what stands before the first."""
    level: int
    """1 to 6; 0 before the first heading."""
    lines: tuple[str, ...]

    @property
    def prose(self) -> tuple[str, ...]:
        """The lines that are sentences about somebody, no menus and no notices of cookies."""
        return tuple(line for line in self.lines if is_prose(line))


def outline(html: str) -> list[Section]:
    """The page's sections in reading order. Menus, forms and footers are left out."""
    return list(_sections(_marked(without(html, *_APART_NAMES))))


def page_text(html: str) -> str:
    """All text of a page but its menus and forms: a line per block. Its footer, often an address, is in it."""
    return text_of(without(html, "nav", "form", "template", "noscript", "dialog"))


def is_prose(line: str) -> bool:
    """Whether a line is a sentence that may speak of the company."""
    return len(line) >= PROSE_LENGTH_MIN and " " in line[:PROSE_LENGTH_MIN] and not _NOT_ABOUT_THEM.search(line[:400])


def without(html: str, *names: str) -> str:
    """The markup without these elements. One that is not closed stays: it would take the rest of the page with it."""
    kept: list[str] = []
    at = 0
    open_ended: set[str] = set()
    for opened in _APART.finditer(html):
        name = opened[1].lower()
        if opened.start() < at or name not in names or name in open_ended:
            continue
        closed = _ENDS[name].search(html, opened.end())
        if closed is None:
            open_ended.add(name)
            continue
        kept.append(html[at : opened.start()])
        at = closed.end()
    kept.append(html[at:])
    return "\n".join(kept) if len(kept) > 1 else html


def _marked(html: str) -> Iterable[str]:
    return text_of(_HEADING_TAG.sub(rf"\g<0>{_MARK}\1 ", html.replace(_MARK, ""))).split("\n")


def _sections(lines: Iterable[str]) -> Iterator[Section]:
    heading, level = "", 0
    below: list[str] = []
    # The text of a heading may stand in a block of its own, one line below its mark.
    pending = 0
    for line in lines:
        text = line
        if line.startswith(_MARK):
            if heading or below:
                yield Section(heading, level, tuple(below))
            level, text = int(line[1]), line[2:].strip()
            heading, below = "", []
            pending = level
        if not text:
            continue
        if pending and len(text) <= HEADING_LENGTH_MAX:
            heading = text.replace(_MARK, "")
        else:
            below.append(text)
        pending = 0
    if heading or below:
        yield Section(heading, level, tuple(below))
