"""What an article is once its page has been read, whatever it was written in."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADING = re.compile(r"^(={2,6})[ \t]*(\S.*?)[ \t]*\1[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of an article's text.

    Attributes:
        heading: its heading; empty for the lead.
        level: 1 for the lead, 2 to 6 as MediaWiki counts headings.
        text: plain text, stripped; never empty.
    """

    heading: str
    level: int
    text: str


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
    """

    title: str
    key: str
    sections: tuple[Section, ...]
    categories: tuple[str, ...] = ()
    description: str = ""
    links: tuple[str, ...] | None = None
    revision: str = ""
    url: str = ""

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
    sections = [Section("", 1, parts[0].strip())]
    for marks, heading, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        sections.append(Section(heading, len(marks), body.strip()))
    return tuple(section for section in sections if section.text)
