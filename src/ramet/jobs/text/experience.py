"""How senior a position is, by the words of its title, then of its text, then by the years that are asked for."""

from __future__ import annotations

import re
from enum import StrEnum

from ramet.jobs.text.arrangement import around
from ramet.jobs.text.sections import Part, Section, joined


class Seniority(StrEnum):
    """The steps of a career; interns and beginners are junior, people's managers lead."""

    JUNIOR = "junior"
    MID = "mid"
    SENIOR = "senior"
    STAFF = "staff"
    PRINCIPAL = "principal"
    LEAD = "lead"
    UNKNOWN = "unknown"


SENIOR_YEARS = 8
"""A position that asks for so many years is senior, whatever its title leaves out."""
JUNIOR_YEARS = 1
"""A position that asks for no more is junior."""

_NOBODY = r"nurse|accountant|attorney|writer|reporter|editor|scientist i\b"
# In order: what decides stands first ("Senior Staff Engineer" is staff).
_WORDS: tuple[tuple[Seniority, str], ...] = (
    (Seniority.PRINCIPAL, r"principal|distinguished|(?:senior |sr\.? )?fellow(?! program|ship)"),
    (Seniority.STAFF, rf"(?<!chief of )(?<!technical )(?<!support )staff(?! (?:{_NOBODY}))"),
    (
        Seniority.LEAD,
        r"(?:team|tech|technical|engineering|practice|group|squad|chapter)[- ]?lead(?:er)?|lead(?! gen|s\b|ership)"
        r"|head of|head(?=[,)-])|practice head"
        r"|director|vice president|s?vp|chief \w+ officer|c[tio]o|teamleiter|leiter|leitung|l[ií]der|responsable|jefe"
        r"|tech lead",
    ),
    (Seniority.SENIOR, r"semi[- ]?(?:senior|sr)", ),
    (Seniority.SENIOR, r"senior|sr\.?|s[eê]nior|snr|expert|veteran|advanced|experienced|iii|iv|l[56]|ic[45]"
     r"|architect"),
    (
        Seniority.JUNIOR,
        r"junior|jr\.?|j[uú]nior|intern|internship|entry[- ]level|graduate|new grad|early career|apprentice|trainee"
        r"|associate(?! (?:director|partner|principal"
        r"|manager))|co-?op|werkstudent(?:in)?|working student|praktikant(?:in)?|praktikum|auszubildende[r]?"
        r"|ausbildung|azubi|est[aá]gi(?:o|[aá]rio)|becari[oa]"
        r"|stagiaire|stage|alternance|apprenti|student|university|campus|i|l[12]",
    ),
    (Seniority.MID, r"mid(?![- ]?market)[- ]?(?:level|senior)?|intermediate|ii|l[34]|ic3|pleno|confirm[ée]"),
    (Seniority.LEAD, r"manager(?:in)?|supervisor"),
)  # fmt: skip
_TITLE = [
    (level, re.compile(rf"(?<![\w.#+])(?P<word>{pattern})(?![\w#+])", re.IGNORECASE)) for level, pattern in _WORDS
]
_TITLE[3] = (Seniority.MID, _TITLE[3][1])
_WORKER = re.compile(
    r"(?:product|project|program(?:me)?|account|customer success|community|content|marketing|sales|office|partner"
    r"|relationship|campaign|success|portfolio"
    r"|brand|release|delivery|solutions?|property|category|event|data|case|risk|fund|asset|vendor|channel|growth"
    r"|territory|technical program)s? manager",
    re.IGNORECASE,
)
"""Who manages something, not people."""
_MANAGES = re.compile(
    r"\b(?:engineering|team|development|software|people|hr|general|it|regional|operations?|senior|department|plant"
    r"|store|restaurant|area|shift|security|platform"
    r"|infrastructure|design|research|quality|support|finance|accounting) manager\b|\bmanager,|\bmanager of\b"
    r"|\bdirector\b|\bhead of\b|\bpractice (?:head|lead)\b|\bs?vp\b"
    r"|\bvice president\b|\bchief \w+ officer\b|\bc[tio]o\b|\bteamleiter|\bsupervisor\b|\bteam lead\b",
    re.IGNORECASE,
)
_PEOPLE = re.compile(
    r"\bdirect reports?\b|\bpeople[- ]manag|\b(?:line[- ]manage|managing|manage|lead and manage"
    r"|hire and manage) (?:and \w+ )?(?:a |the |our )?(?:growing |small )?(?:team|group) of\b"
    r"|\bperformance reviews\b|\bleading a (?:small|large|growing|high)[\w, -]{0,30}team\b"
)
_LEVEL = r"(?P<word>senior|sr\.|junior|staff|principal|lead|mid[- ]level|mid[- ]senior|entry[- ]level|intermediate)"
_SENTENCE = re.compile(
    r"\b(?:seeking|looking for|hiring|in our|(?:need|for|are|as) an?) (?:an? |our |the |exceptional |talented |skilled "
    rf"|highly skilled )*{_LEVEL} (?:or \S+ )?"
    r"(?:[\w/+-]+ ){0,3}(?:engineer|developer|architect|scientist|analyst|designer|consultant|administrator"
    r"|programmer|specialist|manager)"
)
_LABEL = re.compile(rf"\b(?:seniority|level|experience level|career level|job level)\s?:\s?{_LEVEL}")
_LEVELS = ("senior", "sr.", "junior", "staff", "principal", "lead", "mid", "entry", "intermediate")
_OF_PEOPLE = ("direct report", "people manag", "people-manag", "team of", "group of", "performance rev", "leading a ")
_OF_TEXT = {
    "senior": Seniority.SENIOR, "sr.": Seniority.SENIOR, "junior": Seniority.JUNIOR, "staff": Seniority.STAFF,
    "principal": Seniority.PRINCIPAL,
    "lead": Seniority.LEAD, "mid-level": Seniority.MID, "mid-senior": Seniority.SENIOR,
    "entry-level": Seniority.JUNIOR, "intermediate": Seniority.MID,
}  # fmt: skip
_SHORT = frozenset("i ii iii iv 2 3 4".split())
_LAST = re.compile(r"[\s,(-](?:i{1,3}|iv|[234])(?=$|\s*[-,(/|\u2013—:])", re.IGNORECASE)


def seniority_of(title: str, text: str, years_min: int | None) -> tuple[Seniority, str | None]:
    """How senior a position is, and the word of the title or text that says so.

    Args:
        text: the description, plain, in lower case.
        years_min: the years of experience that it asks for.

    Returns:
        The word is None where none says so: then the years decide, and without them a position is of the middle, as
        most are whose title is silent. Without a title all is unknown.
    """
    title = title[:300]
    for level, pattern in _TITLE:
        for match in pattern.finditer(title):
            word = match["word"].lower()
            if word in _SHORT and not _LAST.match(title, max(0, match.start() - 1)):
                continue
            if level is Seniority.LEAD and word == "manager" and _WORKER.search(title):
                continue
            return level, word
    told = around(text, _LEVELS, 60, 90)
    for sentence in (_LABEL, _SENTENCE):
        said = sentence.search(told)
        if said is not None:
            word = said["word"].lower()
            return _OF_TEXT[word.replace(" ", "-")], word
    if years_min is not None and years_min >= SENIOR_YEARS:
        return Seniority.SENIOR, None
    if years_min is not None and years_min <= JUNIOR_YEARS:
        return Seniority.JUNIOR, None
    return (Seniority.MID if title.strip() else Seniority.UNKNOWN), None


def is_management(title: str, text: str) -> bool:
    """Whether the position leads people, by its title or by what it does.

    Args:
        text: the description, plain, in lower case.
    """
    title = title[:300]
    if _MANAGES.search(title) and not _WORKER.search(title):
        return True
    return _PEOPLE.search(around(text, _OF_PEOPLE, 80, 80)) is not None


YEARS_MAX = 40
_AROUND = 120
"""Characters of a line, before and after a number of years, that tell what it is."""

_NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11,
    "twelve": 12, "thirteen": 13, "fifteen": 15, "twenty": 20,
}  # fmt: skip
_COUNT = rf"(?:\d{{1,2}}|{'|'.join(_NUMBER_WORDS)})"
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
_SENTENCE_BREAK = re.compile(r"[\n.;!?•]")


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
    clause = _SENTENCE_BREAK.split(after, 1)[0]
    if _PREFERRED.search(before[-50:]) or _PREFERRED.search(clause.partition(",")[0][:80]):
        return False
    sentence = _SENTENCE_BREAK.split(before)[-1]
    if _COMPANY.search(sentence):
        return False
    if _TELLS.search(clause) or _ASKS_BEFORE.search(before):
        return True
    return bool(match["plus"] and match["english"])


def _count(written: str | None) -> int:
    """A number in digits or in words; 0 for none."""
    if not written:
        return 0
    return int(written) if written.isdigit() else _NUMBER_WORDS[written.lower()]
