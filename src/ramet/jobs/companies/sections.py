"""Which headings of a company's pages stand over what, and the text below them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ramet.jobs.companies.outline import LABEL_LENGTH_MAX, Section, is_prose

HEADINGS = {
    "about": re.compile(
        r"^(?:about(?: us| the company)?|about [\w.&' -]{1,30}|who we are|what we do|our (?:story|company|history)"
        r"|company|company (?:profile|blurb|overview|description)|über uns|wer wir sind|qui sommes[- ]nous.{0,20}"
        r"|à propos.{0,40}|quiénes somos|sobre nosotros|sobre nós|chi siamo|over ons|om oss|o nas)$",
        re.IGNORECASE,
    ),
    "mission": re.compile(
        r"\b(?:mission|vision|purpose|leitbild|misión|visión|missione|missie|missão)\b|why we exist", re.IGNORECASE
    ),
    "culture": re.compile(
        r"\b(?:values|culture|principles|life at|working (?:at|with|here)|how we work|what we (?:believe|value)"
        r"|why (?:work|join|you.ll love|us\b)|work with us|our people|diversity|(?:unsere )?werte|unternehmenskultur"
        r"|kultur|nos valeurs|culture d.entreprise|valores|cultura|valori|waarden|cultuur)\b",
        re.IGNORECASE,
    ),
    "work": re.compile(
        r"^(?:remote (?:status|work|culture|policy)|remote[- ]first.{0,40}|benefits(?: (?:and|&) perks)?"
        r"|perks(?: (?:and|&) benefits)?|what we offer)$",
        re.IGNORECASE,
    ),
    "offices": re.compile(
        r"\b(?:offices?|locations?|where we are|find us|visit us|headquarters|hq|head office|standorte|bureaux"
        r"|oficinas)\b",
        re.IGNORECASE,
    ),
}
"""Field -> headings above it. `work` stands in for `culture` where there is nothing better."""

_SECTIONS_BELOW_MAX = 12


def below(sections: Sequence[Section], field: str, length_max: int) -> Iterator[str]:
    """The texts below each heading of a field, in reading order; entries of lists are joined by ``; ``.

    Args:
        length_max: characters of a text, at most.
    """
    pattern = HEADINGS[field]
    for place, section in enumerate(sections):
        if section.heading and pattern.search(section.heading):
            yield from _cut(_lines(sections, place), length_max)
        else:
            yield from _cut(_after_label(section.lines, pattern), length_max)


def lines_below(sections: Sequence[Section], pattern: re.Pattern[str]) -> Iterator[str]:
    """The lines below every heading that matches as a whole."""
    for place, section in enumerate(sections):
        if section.heading and pattern.fullmatch(section.heading.strip(" :")):
            yield from _lines(sections, place)


def first_prose(sections: Sequence[Section], count: int, length_max: int) -> str:
    """The first few sentences of a page about somebody, as lines; what a heading says is on something else is not."""
    others = [pattern for field, pattern in HEADINGS.items() if field != "about"]
    lines: list[str] = []
    for section in sections:
        if any(pattern.search(section.heading) for pattern in others):
            continue
        lines.extend(section.prose)
        if len(lines) >= count:
            break
    return _joined(lines[:count], length_max)


def _lines(sections: Sequence[Section], place: int) -> list[str]:
    """The lines of a section, and of those below it that have smaller headings."""
    section = sections[place]
    lines = list(section.lines)
    for smaller in sections[place + 1 : place + 1 + _SECTIONS_BELOW_MAX]:
        if smaller.level <= section.level:
            break
        lines.append(f"{smaller.heading}: {' '.join(smaller.lines)}" if smaller.lines else smaller.heading)
    return [line for line in lines if line]


def _after_label(lines: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    """The sentences behind a line that reads like a heading but is marked as none."""
    for place, line in enumerate(lines[:-1]):
        if len(line) <= LABEL_LENGTH_MAX and pattern.search(line) and is_prose(lines[place + 1]):
            found = []
            for text in lines[place + 1 :]:
                if not is_prose(text):
                    break
                found.append(text)
            return found
    return []


def _cut(lines: Sequence[str], length_max: int) -> Iterator[str]:
    prose = [line for line in lines if is_prose(line)]
    # Values are often a list of a few words each.
    text = _joined(prose, length_max) if prose else "; ".join(lines)[:length_max]
    if text:
        yield text


def _joined(lines: Sequence[str], length_max: int) -> str:
    text = "\n".join(lines)
    if len(text) <= length_max:
        return text
    head = text[:length_max]
    end = max(head.rfind(". "), head.rfind("\n"), head.rfind("! "))
    return head[: end + 1].strip() if end > length_max // 2 else head.rstrip()
