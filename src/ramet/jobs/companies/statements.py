"""Single statements of a company's text: since when, from where, in what business, and to what end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ramet.jobs.settings import CompanySettings

LABELS = {
    "founded": re.compile(r"(?:founded|established|year founded|founding year|gegründet|fondée en|fundada)", re.I),
    "headquarters": re.compile(
        r"(?:headquarters?|head ?office|hq|hq location|corporate headquarters|hauptsitz|firmensitz|siège social|sede"
        r"(?: central)?)",
        re.I,
    ),
    "industry": re.compile(r"(?:industry|industries|sector|branche|secteur|sector de actividad)", re.I),
    "size": re.compile(
        r"(?:company size|team size|employees|number of employees|headcount|size|staff|mitarbeiter(?:zahl)?"
        r"|unternehmensgröße|effectif)",
        re.I,
    ),
}
"""Words before a value, or in the heading above it, by field."""

_VALUE_MAX = 80
_YEAR = r"(?P<year>1[6-9]\d\d|20\d\d)"
_MONTH = r"(?:(?:\d{1,2}(?:st|nd|rd|th)? )?[A-Z][a-z]{2,8}\.?,? (?:\d{1,2},? )?)?"
_FOUNDED = re.compile(
    r"\b(?:[Ff]ounded|[Ee]stablished|[Ii]ncorporated|[Ss]tarted|[Ll]aunched|[Bb]orn|[Bb]egan|[Cc]reated|[Ff]ormed"
    r"|[Gg]egründet|[Ff]ondée?|[Ff]undad[ao]|EST\.?|[Ee]st\.)"
    rf"(?: by [^.\n]{{1,60}}?)?(?: (?:back|way back))?,?(?: (?:in|on|im Jahre?|en|since))? ?~?{_MONTH}{_YEAR}\b"
)
_FOUNDED_PLACE = re.compile(
    rf"\b(?:[Ff]ounded|[Ee]stablished|[Ss]tarted) in (?:[A-Z][\w.,' -]{{1,40}}?),? in {_MONTH}{_YEAR}\b"
)
_FOUNDING = re.compile(
    rf"\b[Ss]ince (?:its|our|the company's) (?:founding|foundation|inception|birth|launch) in {_YEAR}\b"
)
_YEAR_FIRST = re.compile(rf"\b{_YEAR} (?:(?:von|in|durch) [^.\n]{{1,60}}? )?(?:gegründet|founded|established)\b")
_BIRTHDAY = re.compile(rf"\bbirthday is {_MONTH}{_YEAR}\b")

_NAME = r"(?:(?:St|Ste|Ft|Mt|Pt)\. ?)?[A-ZÀ-ÖØ-Þ](?:(?:\.[A-Z])+\.?|[\w'\u2019-]{0,30}+)"
_LINKS = r"(?:de|la|del|do|am|of|and|den|upon)(?![\w'])"
_PLACE = rf"(?P<place>(?:the )?{_NAME}(?:(?:, ?| )(?:{_NAME}|{_LINKS})){{0,6}})"
_IN = r"(?:[Dd]owntown |[Ss]unny |beautiful )?"
_COMPANY_IS = (
    r"\b(?:company|firm|agency|startup|studio|team|[Ww]e(?:'re| are)|corporation|provider|consultancy|platform"
    r"|business)(?: is| are)?(?: now)?"
)
_HEADQUARTERS = (
    re.compile(rf"\b[Hh]ead-?quartered (?:in|out of|at) {_IN}{_PLACE}"),
    re.compile(
        r"\b(?:[Hh]eadquarters?|[Hh]ead [Oo]ffice|HQ|[Hh]auptsitz|[Ss]iège social|[Ss]ede)"
        r"(?: (?:is|are|was|ist|est))?(?: \w{1,12}ly| still| now)?(?: (?:based|located|situated))?"
        rf" (?:in|out of|at|à|en) {_IN}{_PLACE}"
    ),
    re.compile(rf"\b(?:[Hh]eadquarters?|HQ): ?{_PLACE}"),
    re.compile(rf"^[-*• ]{{0,4}}(?P<place>{_NAME}(?:(?:, ?| ){_NAME}){{0,3}}) (?:HQ|[Hh]eadquarters)\b", re.MULTILINE),
    re.compile(rf"{_COMPANY_IS} based (?:in|out of) {_IN}{_PLACE}"),
    re.compile(rf"\b[Bb]ased out of {_PLACE}"),
)
_NO_PLACES = frozenset(
    """
    the our a an its my no main corporate global world company regional group remote earth europe asia africa north
    south latin multiple various several they we this
    """.split()
)
"""First words of names that are not cities."""

_WHAT = r"\b(?:is|are) (?:an?|the|one of the) (?P<what>[\w&/+-]{2,30}(?: [\w&/+-]{1,30}){0,6}?) "
_IS_A = (
    re.compile(_WHAT + r"(?:company|startup|start-up|firm|agency|corporation|consultancy|studio|bank|retailer)\b"),
    re.compile(_WHAT + r"(?:platform|provider|marketplace|service)\b"),
)
_PRAISE = re.compile(
    r"^(?:(?:[A-Z]\w{1,20}[ -]based|based"
    r"|[\w']{1,12}'s|world|leading|largest|biggest|global|worldwide|international|fast-growing|fastest|growing"
    r"|award-winning|premier|top|top-rated|best|first|only|new|young|small|large|big|modern|innovative|independent"
    r"|privately|publicly|private|public|held|owned|family-owned|profitable|bootstrapped|venture-backed|early-stage"
    r"|[Rr]emote(?:-\w{1,12})?|[Dd]istributed|fully|[Aa]merican|[Bb]ritish|[Gg]erman|[Ff]rench|[Ii]ndian|[Uu]krainian"
    r"|[Ss]wedish|[Cc]anadian|[Ee]uropean|US|UK|U\.S|and|most|trusted|popular|powerful|pioneering|established"
    r"|full-service|well-known|successful|the|of|unique|next-generation)[ ,]{1,2})*"
)
_NO_BUSINESS = frozenset(
    "company startup business good great product different real team open personable welcoming kind certified".split()
)

_MISSION = re.compile(r"\b(?:[Oo]ur|[Tt]he company's|[Ii]ts|[Oo]n an?|[Ww]ith the) (?:mission|vision|purpose)\b")
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s|$)|\n")
_SENTENCE_MAX = 400


def founded_in(text: str) -> str | None:
    """Return the year of the founding, from the first sentence that tells it."""
    for pattern in (_FOUNDED, _FOUNDED_PLACE, _FOUNDING, _YEAR_FIRST, _BIRTHDAY):
        if found := pattern.search(text):
            return found["year"]
    return None


def year_in(line: str) -> str | None:
    """Return a year, where it is known that the line tells one."""
    found = re.search(rf"(?<!\d){_YEAR}(?!\d)", line[:_VALUE_MAX])
    return found["year"] if found else None


def headquarters_in(text: str) -> str | None:
    """Return the place of the head office as it is written, at most 80 characters."""
    for pattern in _HEADQUARTERS:
        for found in pattern.finditer(text):
            place = found["place"].strip(" ,-").removesuffix(" and").removesuffix(" of").strip(" ,")
            if place.split()[0].lower().rstrip(",") not in _NO_PLACES and len(place) <= _VALUE_MAX:
                return place
    return None


def industry_in(text: str) -> str | None:
    """Return the company's business: the words before "company" where it describes itself, without praise."""
    for pattern in _IS_A:
        for found in pattern.finditer(text):
            what = _PRAISE.sub("", found["what"] + " ").strip().removesuffix(" and")
            if what.lower() not in _NO_BUSINESS and 3 <= len(what) <= _VALUE_MAX:
                return what
    return None


def mission_in(text: str) -> str | None:
    """Return the first sentence that says what its mission is."""
    found = _MISSION.search(text)
    if not found:
        return None
    start = max(0, found.start() - _SENTENCE_MAX // 2)
    before = [end.end() for end in _SENTENCE_ENDS.finditer(text, start, found.start())]
    after = _SENTENCE_ENDS.search(text, found.end(), found.end() + _SENTENCE_MAX)
    sentence = text[before[-1] if before else start : after.end() if after else found.end() + _SENTENCE_MAX].strip()
    # "Our mission" alone is a heading.
    return sentence if len(sentence) > len(found[0]) + 10 else None


def labelled(lines: Iterable[str]) -> dict[str, str]:
    """Values that stand behind a label, on its line (``Founded: 2012``) or on the next, by field."""
    values: dict[str, str] = {}
    waiting: str | None = None
    for line in lines:
        if waiting and len(line) <= _VALUE_MAX and not line.endswith(":"):
            values.setdefault(waiting, line)
        waiting = None
        label, colon, value = line[: 2 * _VALUE_MAX].partition(":")
        if len(label) > 30:
            continue
        name = next((name for name, words in LABELS.items() if words.fullmatch(label.strip(" *-•"))), None)
        if name and colon and 0 < len(value.strip()) <= _VALUE_MAX:
            values.setdefault(name, value.strip())
        elif name and not value.strip():
            waiting = name
    return values


EMPLOYEES_MAX = 5_000_000
"""No company has more."""

_GROUPED = r"\d{1,3}(?:[,.\u2019' ]\d{3}){1,2}(?!\d|[,.]\d)"
_NUMBER = rf"(?<![\w$€£.,/#])\+?(?P<least>(?>{_GROUPED}|\d{{1,7}}(?:\.\d)?[ ]?k(?!\w)|\d{{1,7}}(?!\d|[,.]\d)))"
_MOST = rf"(?:\s{{0,2}}(?:-|\u2013|\u2014|to|and)\s{{0,2}}(?P<most>{_GROUPED}|\d{{1,7}}[ ]?k?(?!\w)))?"
_COUNT = rf"{_NUMBER}{_MOST}(?>(?P<plus>\s?\++| plus)?)"

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
_YEAR_NUMBER = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Headcount:
    """Number of employees, as a page puts it."""

    text: str
    """Text to show: ``51-200 employees``, ``1,200+ employees``."""
    employees: int
    """One number for it: the middle of a range."""


def headcount_of(text: str) -> Headcount | None:
    """Return the number of employees, from the first statement in a text that is plainly about that."""
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
    """Return the number of employees in a line that is known to tell it: behind a label or below a heading."""
    if found := headcount_of(line):
        return found
    bare = _BARE.search(line.strip().lstrip("*-\u2022[( "))
    return _headcount(bare) if bare else None


def size_category(employees: int, settings: CompanySettings) -> str:
    """Return ``large``, ``medium`` or ``small``."""
    if employees >= settings.size_large:
        return "large"
    return "small" if employees < settings.size_small else "medium"


def _is_of_others(found: re.Match[str]) -> bool:
    """Return whether the words around it say that these work elsewhere, or in one team of many."""
    text = found.string
    return bool(_OTHERS_BEFORE.search(text, max(0, found.start() - 40), found.start())) or bool(
        _OTHERS_AFTER.match(text, found.end())
    )


def _headcount(found: re.Match[str]) -> Headcount | None:
    least, most = _number(found["least"]), _number(found["most"])
    if least is None or (most is not None and most < least):
        return None
    # "In 2015 employees": a year alone is not a count.
    if most is None and not found["plus"] and _YEAR_NUMBER.fullmatch(found["least"]):
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
