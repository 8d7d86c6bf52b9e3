"""How senior a position is, by the words of its title, then of its text, then by the years that are asked for."""

from __future__ import annotations

import re
from enum import StrEnum

from ramet.jobs.text.windows import around


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
    r"|\bperformance reviews\b|\bleading a (?:small|large|growing|high)[\w, -]{0,30}team\b",
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
