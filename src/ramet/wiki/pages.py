"""Results of a source: a page as it is written, or the reason why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Markup(StrEnum):
    """Form of a page's text."""

    WIKITEXT = "wikitext"
    PLAIN = "plain"
    """Plain text with `== Heading ==` lines."""


class RefusalReason(StrEnum):
    """Reason why a title leads to no article. Another try gives the same one."""

    NOT_FOUND = "not_found"
    INVALID_TITLE = "invalid_title"
    REDIRECT_LOOP = "redirect_loop"
    ELSEWHERE = "elsewhere"
    """It redirects to another wiki."""
    NOT_AN_ARTICLE = "not_an_article"
    """It is a page of another namespace, or redirects to one."""
    DISAMBIGUATION = "disambiguation"
    UNPARSABLE = "unparsable"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why there is no article. `detail` is one line for a person, which names the title."""

    reason: RefusalReason
    detail: str

    def __str__(self) -> str:
        """`reason: detail`, as it is stored with the failed task."""
        return f"{self.reason}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Page:
    """A page as its source has it, after redirects and normalisation.

    Attributes:
        title: as the source displays it.
        key: its canonical title (`ramet.title_key`); equal keys are the same page.
        markup: how `text` is written.
        text: of the newest revision.
        revision: names this text among the page's: a revision id, or a digest where the source has none.
        aliases: titles of the redirects that were walked from the title asked for to this page, in that order; empty
            if it was asked for under its own title, in whatever spelling.
        categories: names without namespace, hidden ones left out; None: find them in the text.
        links: display titles of articles that it links to; None: find them in the text.
        description: a few words on what it is; may be empty.
        disambiguation: whether the source marks it as one; None: the source cannot tell, look at the text.
        url: where a person reads it; empty if nowhere.
        latitude: of its subject, in degrees, as the source states it; None: look for it in the text.
        longitude: the same.
        wikidata: id of its subject in Wikidata, such as `Q64`; empty if the source does not state it.
        html: as the wiki renders it, if its text is to be read from that; None: from `text`.
    """

    title: str
    key: str
    markup: Markup
    text: str
    revision: str
    aliases: tuple[str, ...] = ()
    categories: tuple[str, ...] | None = None
    links: tuple[str, ...] | None = None
    description: str = ""
    disambiguation: bool | None = None
    url: str = ""
    latitude: float | None = None
    longitude: float | None = None
    wikidata: str = ""
    html: str | None = None


PATH_SEPARATOR = " > "
PATH_LENGTH_MAX = 500


class HeadingPath:
    """The open headings above a place, for a reader that enters them one after the other."""

    def __init__(self) -> None:
        """Begin in the lead."""
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, heading: str) -> str:
        """Return the path of the section that this heading begins, at most `PATH_LENGTH_MAX` characters of its end."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, heading))
        path = PATH_SEPARATOR.join(heading for _, heading in self._open if heading)
        return path if len(path) <= PATH_LENGTH_MAX else path[-PATH_LENGTH_MAX:]


_HEADING = re.compile(r"^(={2,6})[ \t]*(\S.*?)[ \t]*\1[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of an article's text.

    Attributes:
        heading: its heading; empty for the lead.
        level: 1 for the lead, 2 to 6 as MediaWiki counts headings.
        text: plain text, stripped; never empty.
        path: the headings that it is below, and its own, such as `Economy > Army > Overview`; empty for the lead. One
            that has no text of its own is not a section, and is in the paths of those below it.
    """

    heading: str
    level: int
    text: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Article:
    """One article as its source gives it.

    Attributes:
        title: as it is displayed.
        key: its canonical title; equal keys are the same article.
        sections: in reading order, the lead first if there is one; sections without text are left out.
        categories: names, in the source's order, without repeats.
        description: a few words on what it is; may be empty.
        links: display titles of the articles that it links to, without itself and repeats, in order of first mention.
        revision: which text this is, as `Page.revision`.
        url: where a person reads it; empty if nowhere.
        infobox: its name and fields in plain text, as JSON (`wikitext.infobox.Facts`); empty if there is none.
        latitude: of its subject, in degrees; None if it states no place.
        longitude: the same.
        wikidata: as `Page.wikidata`.
    """

    title: str
    key: str
    sections: tuple[Section, ...]
    categories: tuple[str, ...] = ()
    description: str = ""
    links: tuple[str, ...] | None = None
    revision: str = ""
    url: str = ""
    infobox: str = ""
    latitude: float | None = None
    longitude: float | None = None
    wikidata: str = ""

    @property
    def lead(self) -> str:
        """The text before the first heading; empty if there is none."""
        return next((section.text for section in self.sections if section.level == 1), "")

    @property
    def text(self) -> str:
        """All of its text, sections separated by blank lines."""
        return "\n\n".join(section.text for section in self.sections)


def split_sections(text: str) -> tuple[Section, ...]:
    """Cut a text at its headings. The lead is kept, however short; what has no text of its own is not."""
    parts = _HEADING.split(text)
    sections, path = [Section("", 1, parts[0].strip())], HeadingPath()
    for marks, heading, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        sections.append(Section(heading, len(marks), body.strip(), path.enter(len(marks), heading)))
    return tuple(section for section in sections if section.text)
