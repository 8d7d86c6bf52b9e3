"""Single statements of a company's text: since when, from where, in what business, and to what end."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
"""What stands before a value, or as a heading above it, by field."""

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
"""First words of what is no city."""

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
    """The year of the founding, by the first sentence that tells it."""
    for pattern in (_FOUNDED, _FOUNDED_PLACE, _FOUNDING, _YEAR_FIRST, _BIRTHDAY):
        if found := pattern.search(text):
            return found["year"]
    return None


def year_in(line: str) -> str | None:
    """A year, where it is known that the line tells one."""
    found = re.search(rf"(?<!\d){_YEAR}(?!\d)", line[:_VALUE_MAX])
    return found["year"] if found else None


def headquarters_in(text: str) -> str | None:
    """Where the head office is: a place as it is written, at most 80 characters."""
    for pattern in _HEADQUARTERS:
        for found in pattern.finditer(text):
            place = found["place"].strip(" ,-").removesuffix(" and").removesuffix(" of").strip(" ,")
            if place.split()[0].lower().rstrip(",") not in _NO_PLACES and len(place) <= _VALUE_MAX:
                return place
    return None


def industry_in(text: str) -> str | None:
    """What business it is in: the words that stand before "company" in what it says it is, without its praise."""
    for pattern in _IS_A:
        for found in pattern.finditer(text):
            what = _PRAISE.sub("", found["what"] + " ").strip().removesuffix(" and")
            if what.lower() not in _NO_BUSINESS and 3 <= len(what) <= _VALUE_MAX:
                return what
    return None


def mission_in(text: str) -> str | None:
    """The first sentence that says what its mission is."""
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
