"""How many years of experience a listing asks for."""

from __future__ import annotations

import re

from ramet.jobs.text.sections import Part, Section, joined

YEARS_MAX = 40
_AROUND = 120
"""Characters of a line, before and after a number of years, that tell what it is."""

_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11,
    "twelve": 12, "thirteen": 13, "fifteen": 15, "twenty": 20,
}  # fmt: skip
_COUNT = rf"(?:\d{{1,2}}|{'|'.join(_WORDS)})"
_SPOKEN = re.compile(
    rf"(?<![\w,$€£/-])(?<!\d\.)(?P<low>{_COUNT})(?:\s?\(\d{{1,2}}\+?\))?\s?(?P<plus>\+|or more|plus)?"
    rf"(?:\s?(?:-|\u2013|—|\u2011|to|and|bis|a|à|or)\s?(?P<high>{_COUNT})(?:\s?\(\d{{1,2}}\))?\s?\+?)?"
    rf"[\s-]?(?:\+\s?)?(?:full |or more |plus |additional )?"
    rf"(?:(?P<english>years?|yrs?|yoe)\b|(?P<foreign>jahren?|ans|ann[ée]es|años|anos|anni|jaar|lat|år)\b)",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"experien|expertise|exp\b|background|track record|as an?\b|in an?\b|hands[- ]on|working|building|developing"
    r"|writing|designing|leading"
    r"|managing|shipping|programming|engineering|coding|professional|industry|of (?:\w+ ){0,4}(?:development"
    r"|software)|berufserfahrung|erfahrung"
    r"|expérience|ervaring|doświadczenia|esperienza|erfarenhet",
    re.IGNORECASE,
)
_ASKS_BEFORE = re.compile(
    r"(?:at least|minimum(?: of)?|min\.?|more than|requires?|required|must have|you have|with|experience"
    r"|mindestens|m[ií]nimo|al menos"
    r"|au moins|ten minste|experi[eê]ncia)[\s:,(-]*(?:de |of )?$",
    re.IGNORECASE,
)
_NOT_BEFORE = re.compile(
    r"(?:(?:last|past|next|recent|previous|coming|first|every|within|our|celebrat\w*|for (?:over|more than|nearly"
    r"|almost|the last)?|since"
    r"|durante (?:nossos)?|nossos|there for|up to|after|founded|seit|bereits|in the last|in as little as)\s+(?:the )?"
    r"|\ba |\ban )$",
    re.IGNORECASE,
)
_NOT_AFTER = re.compile(
    r"[\s-]*(?:of (?:history|age|innovation|service|growth|success|operation|existence|tradition|heritage|excellence"
    r"|collective|combined|market"
    r"|paid)|ago|old|in (?:business|operation|a row|existence)|history|contract|term|term\b|anniversary|running|vest"
    r"|warranty|plan|de história"
    r"|de historia|jung|geschichte|d'existence|in the market|on the market|from now|thereafter|cliff|tenure)",
    re.IGNORECASE,
)
_COMPANY = re.compile(
    r"\b(?:we(?:'ve| have)|our (?:company|team|firm|clients|history|founders)|has been|have been helping|the company"
    r"|combined|collectively)\b",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(
    r"\b(?:or|in lieu|alternatively|equivalent combination|master'?s|ph\.?d|doctorate|advanced degree)\b", re.IGNORECASE
)
_PREFERRED = re.compile(r"prefer|ideally|nice to have|a plus|bonus|desir|von vorteil|deseable|desejável", re.IGNORECASE)
_SENTENCE = re.compile(r"[\n.;!?•]")


def years_of(sections: list[Section]) -> tuple[int | None, int | None]:
    """The least and the most years of experience that are asked for; None for what is not said.

    Of several demands (so many years in all, fewer with one tool) the one with the most years counts: who fulfils it
    has had the time for the others. What is said for another degree ("or a master's degree and 2 years"), what is only
    wished for and what tells of the company's own age does not count.
    """
    for parts in ((Part.REQUIRED,), (Part.OTHER, Part.DUTIES), (Part.ABOUT, Part.PREFERRED, Part.OFFERED)):
        found = _demands(joined(sections, *parts))
        if found:
            return max(found, key=lambda years: years[0])
    return None, None


def _demands(text: str) -> list[tuple[int, int | None]]:
    """Every demand, in order: (least, most)."""
    demands: list[tuple[int, int | None]] = []
    for match in _SPOKEN.finditer(text):
        before = text[max(0, match.start() - _AROUND) : match.start()].rpartition("\n")[2]
        after = text[match.end() : match.end() + _AROUND].partition("\n")[0]
        if not _is_demand(match, before, after):
            continue
        if demands and _ALTERNATIVE.search(before):
            continue
        low, high = _count(match["low"]), _count(match["high"])
        if low <= YEARS_MAX:
            demands.append((low, high if low < high <= YEARS_MAX else None))
    return demands


def _is_demand(match: re.Match[str], before: str, after: str) -> bool:
    if _NOT_BEFORE.search(before) or _NOT_AFTER.match(after):
        return False
    clause = _SENTENCE.split(after, 1)[0]
    if _PREFERRED.search(before[-50:]) or _PREFERRED.search(clause.partition(",")[0][:80]):
        return False
    sentence = _SENTENCE.split(before)[-1]
    if _COMPANY.search(sentence):
        return False
    if _TELLS.search(clause) or _ASKS_BEFORE.search(before):
        return True
    return bool(match["plus"] and match["english"])


def _count(written: str | None) -> int:
    """A number in digits or in words; 0 for none."""
    if not written:
        return 0
    return int(written) if written.isdigit() else _WORDS[written.lower()]
