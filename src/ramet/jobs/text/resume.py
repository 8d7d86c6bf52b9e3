"""A profile from the text of a resume, by rules: what it names, how long, at which level. A person corrects it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ramet.jobs.text.experience import seniority_of
from ramet.jobs.text.places import places_of
from ramet.jobs.text.technologies import find_technologies

CHARACTERS_MAX = 200_000
"""Most characters of a resume that are read."""
REQUIRED_MAX = 8
"""Technologies that are taken for the core of the work."""
TECHNOLOGIES_MAX = 40
TITLES_MAX = 5
_HEAD_LINES = 12
"""Lines at the top in which a person's name and place are looked for."""
_COMPOUND_MIN = 14
"""Characters."""
_SENIOR_YEARS = 8
_JUNIOR_YEARS = 2

_HEADINGS = re.compile(
    r"(?P<work>(?:work|professional|relevant|employment)? ?(?:experience|history)|employment|career(?: history)?"
    r"|berufserfahrung|exp[eé]riences?(?: professionnelles?)?|experiencia(?: (?:laboral|profesional))?)"
    r"|(?P<school>education.{0,25}|academic.{0,25}|studies|ausbildung|studium|formation|formaci[oó]n|educaci[oó]n"
    r"|certifi\w+.{0,25}|courses|publications|awards|volunteer\w*.{0,15}|hobbies|interests|languages|references)"
    r"|(?P<other>(?:technical |core |key )?skills.{0,25}|technologies|tools|projects|summary|profile|objective"
    r"|about(?: me)?|kenntnisse|comp[eé]tences|habilidades|contact)",
    re.IGNORECASE,
)
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero", "feb february februar février febrero", "mar march märz mars marzo",
            "apr april avril abril", "may mai mayo", "jun june juni juin junio", "jul july juli juillet julio",
            "aug august août agosto", "sep sept september septembre septiembre",
            "oct october okt oktober octobre octubre", "nov november novembre noviembre",
            "dec december dez dezember décembre diciembre",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_MOMENT = r"(?:(?P<{0}_word>[^\W\d_]{{3,10}})\.?,?\s+|(?P<{0}_number>\d{{1,2}})[/.])?(?P<{0}_year>(?:19|20)\d\d)"
_TODAY = r"(?P<today>present|now|current(?:ly)?|today|ongoing|heute|aujourd'hui|actualidad|presente|hoy)"
_RANGE = re.compile(
    rf"(?<![\w/.]){_MOMENT.format('from')}\s{{0,3}}(?:-|\u2013|\u2014|to|until|bis|a|à)\s{{0,3}}"
    rf"(?:{_MOMENT.format('to')}|{_TODAY})\b",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(?<![\w.-])(?P<years>\d{1,2})\s?\+?\s(?:years|jahre|ans|años)\b.{0,40}?"
    r"(?:experience|erfahrung|exp[eé]rience|experiencia|building|developing|designing|programming)",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"\b(?:engineer|developer|programmer|architect|scientist|analyst|designer|administrator|consultant|manager|lead"
    r"|researcher|technician|specialist|\w{0,20}entwickler(?:in)?|\w{0,20}ingenieur(?:in)?|d[eé]veloppeu(?:r|se)|ing[eé]nieure?"
    r"|desarrollador[a]?|ingenier[oa]|devops|sre|cto)\b",
    re.IGNORECASE,
)
_LEVEL = re.compile(
    r"\b(?:senior|sr\.?|junior|jr\.?|lead|staff|principal|mid(?:-level)?|intern|working student|werkstudent(?:in)?"
    r"|i{1,3}|iv|[1-5])(?=\s|$|,)\s?",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"\s{2,}|\t|\s[-\u2013\u2014|\u2022@]\s|[,;|\u2022:(]|\sat\s|\sbei\s|\schez\s|\sen\s", re.IGNORECASE
)
_PERSON = re.compile(r"[^\W\d_][\w.'\u2019-]{0,25}(?:\s[^\W\d_][\w.'\u2019-]{0,25}){1,3}")


@dataclass(frozen=True, slots=True)
class ResumeProfile:
    """Profile that a resume gives, with the reason for each field."""

    values: Mapping[str, Any]
    """Values of the profile's fields that were found."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Field -> the text that it was read from, for the person who corrects it."""


def profile_of(text: str, today: datetime.date) -> ResumeProfile:
    """Read a profile in the text of a resume.

    Args:
        today: the end of periods that go on.
    """
    parts = list(_parts(text[:CHARACTERS_MAX]))
    worked = [line for part, line in parts if part == "work"] or [line for part, line in parts if part != "school"]
    head = [line for _, line in parts[:_HEAD_LINES]]
    values: dict[str, Any] = {"name": next((line for line in head if _is_person(line)), "From a resume")}
    reasons: dict[str, str] = {}
    if technologies := _technologies("\n".join(line for _, line in parts)):
        values["technologies"] = technologies
        reasons["technologies"] = "named twice or more: required; once: ok. strike and fail are yours to say"
    if titles := _titles(worked):
        values["titles"] = list(dict.fromkeys(_without_level(title) for title in titles))[:TITLES_MAX]
        reasons["titles"] = f"from {'; '.join(titles[:TITLES_MAX])}"
    years, why = _years([line for part, line in parts if part != "school"], worked, today)
    if years is not None:
        values["experience_years"] = years
        reasons["experience_years"] = why
    level, told = _level(titles[0] if titles else "", years)
    if level is not None:
        values["seniority"] = [level]
        reasons["seniority"] = told
    place = next((place for line in head for place in places_of(line) if place.city and place.country), None)
    if place is not None:
        values["preferred_city"] = place.city
        values["preferred_region"] = place.region or place.country
        values["country"] = place.country
        reasons["country"] = "what may be done only where you may not work is refused; other permits are yours to say"
        reasons["preferred_city"] = "where an office is as good as working from home; leave it empty for none"
        if place.utc_offset is not None:
            values["utc_offset"] = place.utc_offset
    return ResumeProfile(values, reasons)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines that are not empty, each after its part: work, school or other."""
    part = "head"
    for line in text.splitlines():
        plain = line.strip()
        heading = _HEADINGS.fullmatch(plain.strip(" :#*=_-\u2022"))
        if heading is not None:
            part = next(name for name, found in heading.groupdict().items() if found is not None)
        elif plain:
            yield part, plain


def _is_person(line: str) -> bool:
    return bool(_PERSON.fullmatch(line)) and not _ROLE.search(line) and line.lower() not in ("curriculum vitae",)


def _technologies(text: str) -> dict[str, str]:
    counts = find_technologies(text)
    ordered = sorted(counts, key=lambda name: -counts[name])[:TECHNOLOGIES_MAX]
    core = [name for name in ordered if counts[name] > 1][:REQUIRED_MAX]
    return {name: "required" if name in core else "ok" for name in ordered}


def _titles(lines: list[str]) -> list[str]:
    """Return the titles of positions, the newest first, as a resume lists them."""
    found = []
    for line in lines:
        for piece in _BETWEEN.split(_RANGE.sub(" | ", line)):
            words = piece.strip(" -*\u2022.").split()
            # One word alone is a title where it is a compound, as in German.
            if len(words) == 1 and len(words[0]) < _COMPOUND_MIN:
                continue
            if len(line) <= 120 and 0 < len(words) <= 6 and _ROLE.search(piece) and words[0][:1].isupper():
                found.append(" ".join(words))
                break
    return list(dict.fromkeys(found))


def _without_level(title: str) -> str:
    return " ".join(_LEVEL.sub("", title).split()).lower() or title.lower()


def _years(lines: list[str], worked: list[str], today: datetime.date) -> tuple[int | None, str]:
    said = next((int(match["years"]) for line in lines if (match := _SAID.search(line))), None)
    if said is not None and said <= 50:
        return said, "as it says"
    ranges = [one for line in worked for match in _RANGE.finditer(line) if (one := _months(match, today)) is not None]
    months: set[int] = set()
    for first, last in ranges:
        months.update(range(first, last))
    return (round(len(months) / 12), f"periods added up: {len(ranges)}, each month once") if months else (None, "")


def _months(match: re.Match[str], today: datetime.date) -> tuple[int, int] | None:
    """Return the months of a period, counted from year 0, the end excluded; None for an impossible one."""
    now = today.year * 12 + today.month
    first = _month(match, "from", 1)
    last = now if match["today"] else _month(match, "to", 1) + (1 if _names_month(match, "to") else 0)
    return (first, min(last, now)) if 0 <= min(last, now) - first <= 50 * 12 else None


def _names_month(match: re.Match[str], end: str) -> bool:
    return bool(match[f"{end}_number"]) or (match[f"{end}_word"] or "").lower() in _MONTHS


def _month(match: re.Match[str], end: str, usual: int) -> int:
    number = int(match[f"{end}_number"] or 0) or _MONTHS.get((match[f"{end}_word"] or "").lower(), usual)
    return int(match[f"{end}_year"]) * 12 + min(max(number, 1), 12)


def _level(title: str, years: int | None) -> tuple[str | None, str]:
    level, word = seniority_of(title, "", None) if title else (None, None)
    if level is not None and word is not None and level.value != "unknown":
        return level.value, f"by {title}"
    if years is None:
        return None, ""
    by_years = "senior" if years >= _SENIOR_YEARS else "junior" if years < _JUNIOR_YEARS else "mid"
    return by_years, f"by {years} years"
