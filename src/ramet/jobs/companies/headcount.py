"""How many people work for a company: as its pages put it, and as a number.

Counts of users, customers and contributors stand on the same pages, so a number counts only beside a word that says
who works there, and a plain "people" only where nobody else can be meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ramet.jobs.companies_settings import CompanySettings

EMPLOYEES_MAX = 5_000_000
"""No company has more."""

_GROUPED = r"\d{1,3}(?:[,.\u2019' ]\d{3}){1,2}(?!\d|[,.]\d)"
_NUMBER = rf"(?<![\w$€£.,/#])\+?(?P<least>(?>{_GROUPED}|\d{{1,7}}(?:\.\d)?[ ]?k(?!\w)|\d{{1,7}}(?!\d|[,.]\d)))"
_MOST = rf"(?:\s{{0,2}}(?:-|\u2013|\u2014|to|and)\s{{0,2}}(?P<most>{_GROUPED}|\d{{1,7}}[ ]?k?(?!\w)))?"
_COUNT = rf"{_NUMBER}{_MOST}(?P<plus>\s?\++| plus)?+"

_ADJECTIVES = (
    r"(?:\s(?:full-time|full time|part-time|talented|passionate|dedicated|amazing|skilled|experienced|remote|global"
    r"|worldwide|current|happy|creative|brilliant|highly|great|internal|strong|diverse|technical|total|active)){0,3}"
)
_STAFF = (
    r"(?:employees|team[ -]?mates|team members|staff(?: members)?|coworkers|co-workers|colleagues|workers|associates"
    r"|full-timers|FTEs?|professionals|experts|consultants|engineers and \w{1,20}"
    r"|Mitarbeiter(?:innen|nden?|:innen|\*innen)?|Mitarbeitende[nr]?|Besch\u00e4ftigte[nr]?|Kolleg\w{0,10}"
    r"|collaborateurs|salari\u00e9s|empleados|trabajadores|dipendenti|medewerkers|anst\u00e4llda|ansatte|funcion\u00e1rios)"
)
_WITH_STAFF = re.compile(
    rf"{_COUNT}(?:{_ADJECTIVES}\s{_STAFF}"
    r"|[- ](?:person|people|member|strong) (?:team|company|startup|crew|agency|firm))\b",
    re.IGNORECASE,
)

_BEFORE_PEOPLE = (
    r"(?:(?:we are|we're|we have|we've grown to|grown to|team of|made up of|consists of|employs?|employing|company of"
    r"|workforce of|staff of|headcount of|headcount:?|crew of|family of|group of)"
    r"(?: now| today| currently)?"
    r"(?: a| an| over| more than| about| around| approximately| roughly| nearly| almost| some| fewer than| less than"
    r"| up to| at least| just| well over| close to| between| a global team of| a team of){0,3}\s)"
)
_PEOPLE = r"(?:people|persons|folks|humans|members|developers|engineers|makers|individuals|specialists)"
_TEAM_OF = re.compile(
    rf"{_BEFORE_PEOPLE}~?{_COUNT}(?!\s?%){_ADJECTIVES}(?:\s{_PEOPLE}|-people|-person|\b)", re.IGNORECASE
)
_PEOPLE_THERE = re.compile(
    rf"{_COUNT}{_ADJECTIVES}\s(?:people|persons)\b(?=(?P<after>[^.!?\n]{{0,40}}))", re.IGNORECASE
)
_WORK_THERE = re.compile(
    r"^\s?(?:[.,;]|$|strong\b|work(?:ing)?\b|in \d|in (?:\w+ ){0,2}(?:countries|offices|locations)\b|across|worldwide"
    r"|globally|and growing|around the (?:world|globe)|on (?:our|the) team|at \w|from \d|located|based|spread)",
    re.IGNORECASE,
)
_SERVED = re.compile(
    r"\b(?:help(?:s|ed|ing)?|serv(?:e|es|ed|ing)|reach(?:es|ed|ing)?|for|by|million|billion|impact(?:s|ed|ing)?|teach"
    r"|taught|fed|feed|train(?:s|ed|ing)?|connect(?:s|ed|ing)?|enabl(?:e|es|ed|ing)|to|bring(?:s|ing)?|lives of)"
    r"(?: over| more than| about| around| nearly| almost| some){0,2}\s{0,2}$",
    re.IGNORECASE,
)
_OTHERS_BEFORE = re.compile(
    r"\b(?:help(?:s|ed|ing)?|serv(?:e|es|ed|ing)|reach(?:es|ed|ing)?|(?:trusted|used|loved) by|for|support(?:s|ed|ing)?"
    r"|manag(?:e|es|ing)|lead(?:s|ing)?|oversee(?:ing)?|supervis(?:e|ing)|mentor(?:ing)?|part of|in|within|with)"
    r"(?: over| more than| about| around| nearly| almost| some| a| an| our| the| cross-functional| small){0,3}"
    r"\s{0,2}\Z",
    re.IGNORECASE,
)
_OTHERS_AFTER = re.compile(r"[ ](?:\w{1,20} ){0,2}?(?:use|using|rely|relies|trust|benefit|love)\b", re.IGNORECASE)
_BARE = re.compile(
    rf"^(?:(?:over|more than|about|around|approximately|approx\.?|roughly|nearly|almost|some|fewer than|less than|up to"
    rf"|at least|currently|between|its|well over|<|>|~|\u2248)\s{{0,2}}){{0,3}}{_COUNT}(?!\s?%)"
    r"(?!\s(?:million|billion|users?|customers?|clients?|downloads?|contributors?|countries|offices|members|students))",
    re.IGNORECASE,
)
_GREW = re.compile(r"\bfrom\s$", re.IGNORECASE)
_WORDS = {
    word: number
    for number, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
        " eighteen nineteen twenty".split(),
        start=2,
    )
}
_TEAM_OF_WORD = re.compile(
    rf"\b(?:team|company|crew|staff) of (?:about |around |just |only )?({'|'.join(_WORDS)})\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Headcount:
    """How many, as a page puts it."""

    text: str
    """As it is shown: ``51-200 employees``, ``1,200+ employees``."""
    employees: int
    """One number for it: the middle of a range."""


def headcount_of(text: str) -> Headcount | None:
    """How many work for a company, by the first statement in a text that is plainly about that."""
    for pattern in (_WITH_STAFF, _TEAM_OF):
        for found in pattern.finditer(text):
            if not _is_of_others(found) and (headcount := _headcount(found)):
                return headcount
    for found in _PEOPLE_THERE.finditer(text):
        before = text[max(0, found.start() - 40) : found.start()]
        if _WORK_THERE.search(found["after"]) and not _SERVED.search(before) and (headcount := _headcount(found)):
            return headcount
    if word := _TEAM_OF_WORD.search(text):
        number = _WORDS[word[1].lower()]
        return Headcount(f"{number} employees", number)
    return None


def headcount_in(line: str) -> Headcount | None:
    """How many, where it is known that the line tells it: behind a label or below a heading."""
    if found := headcount_of(line):
        return found
    bare = _BARE.search(line.strip().lstrip("*-\u2022[( "))
    return _headcount(bare) if bare else None


def size_category(employees: int, settings: CompanySettings) -> str:
    """``large``, ``medium`` or ``small``."""
    if employees >= settings.size_large:
        return "large"
    return "small" if employees < settings.size_small else "medium"


def _is_of_others(found: re.Match[str]) -> bool:
    """Whether the words around it say that these work elsewhere, or in one team of many."""
    text = found.string
    return bool(_OTHERS_BEFORE.search(text, max(0, found.start() - 40), found.start())) or bool(
        _OTHERS_AFTER.match(text, found.end())
    )


def _headcount(found: re.Match[str]) -> Headcount | None:
    least, most = _number(found["least"]), _number(found["most"])
    if least is None or (most is not None and most < least):
        return None
    # "In 2015 employees": a year alone is no count.
    if most is None and not found["plus"] and _YEAR.fullmatch(found["least"]):
        return None
    if most is not None and _GREW.search(found.string[max(0, found.start() - 6) : found.start()]):
        least, most = most, None
    employees = least if most is None else (least + most) // 2
    if not 0 < employees <= EMPLOYEES_MAX:
        return None
    shown = f"{least:,}" + (f"-{most:,}" if most is not None else "+" if found["plus"] else "")
    return Headcount(f"{shown} employees", employees)


def _number(text: str | None) -> int | None:
    if not text:
        return None
    if text.lower().endswith("k"):
        return round(float(text[:-1].strip()) * 1000)
    digits = re.sub(r"\D", "", text)
    return int(digits) if digits else None
