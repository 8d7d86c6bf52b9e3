"""How senior a position is, by the words of its title, then of its text, then by the years that are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache

from ramet.jobs.text.languages import alternatives, is_english, numbers
from ramet.jobs.text.sections import Part, Section, joined
from ramet.jobs.text.word_places import around, searched


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
"""Years of experience from which a position is senior, whatever its title leaves out."""
JUNIOR_YEARS = 1
"""A position that asks for no more is junior."""

_STAFF_OF = (
    r"nurse|accountant|attorney|writer|reporter|editor|scientist i\b|augmentation|meeting|training|development manager"
    r"|services|support|assistant|pharmacist|physician|relations|scheduler"
)
"""Words after "staff" in titles that are not above a senior, and in fields of work."""
_FIELDS_OF_WORK = re.compile(
    r"\b(?:early|late|growth|multi|pre|seed|mid|full)[- ](?:stage|career (?:talent|program|recruit))\b"
    r"|\bstage (?:manager|hand|crew)"
    r"|\badvanced (?:analytics|manufacturing|materials|technolog\w+|practice|research|planning|packaging|systems"
    r"|process"
    r"|nuclear|mobility|air|propulsion|threat|products?|data|engineering|persistent|placement|driver|robotics|energy)\b"
    r"|\bsenior (?:living|care|services|housing|community|communities|center|secured|lending|citizens?|health)\b"
    r"|\bprincipal (?:invest\w+|accounting|protection|trading|component)|\bexpert network\w*|\bstaff augmentation\b"
    r"|\b(?:student|university|campus|graduate|intern(?:ship)?|apprentice(?:ship)?|veterans?|early career"
    r"|entry[- ]level|junior) "
    r"(?:success|affairs|services|loans?|life|housing|recruit\w*|relations|programs?|programme|partnerships?|hiring"
    r"|medical"
    r"|admissions?|engagement|outreach|experience|accounts?|achievement|enrollment|advis\w+|education|ministry"
    r"|health)\b"
    r"|\bexperienced hires?\b|\blead(?:s)? (?:gen\w*|time|nurtur\w+|management|qualification|conversion|track"
    r"|program|scoring)\b"
    r"|\bassociate (?:professor|dean|(?:general )?counsel|(?:vice )?provost|medical|justice|judge|editor|pastor|program"
    r"|brand"
    r"|publisher|chair|chief|research (?:director|scientist)|attorney|veterinarian|dentist)\b|\bfellowship\b"
    r"|\bco[- ]?op(?:erative)? (?:bank|store|society|member)|\bhead(?:count|start|hunt\w*|quarters?)\b|\bheads? up\b",
    re.IGNORECASE,
)
"""Words of a level that are part of the name of a field, a rank or a program."""
_NUMBERED = re.compile(
    r"(?:engineer|developer|analyst|scientist|specialist|technician|administrator|designer|architect|consultant"
    r"|programmer"
    r"|representative|accountant|operator|coordinator|associate|tester|officer|planner|buyer|clerk|level)[ ,-]{1,3}"
    r"(?P<word>[1-6])(?=$|\s*[-,(/|\u2013\u2014:])|\b(?:sde|swe|sdet|mts)[ -]?(?P<grade>[1-6])\b",
    re.IGNORECASE,
)
"""A grade in digits behind an occupation: ``Data Scientist 4``."""
_GRADES = {"1": "JUNIOR", "2": "MID", "3": "SENIOR", "4": "SENIOR", "5": "SENIOR", "6": "SENIOR"}
_EXPERIENCED_YEARS = 3
"""Years of experience from which "associate" in a title is not junior: banks and shops use it for everyone."""
# In order: the word that decides is first ("Senior Staff Engineer" is staff).
_WORDS: tuple[tuple[Seniority, str], ...] = (
    (Seniority.PRINCIPAL, r"principal|distinguished|(?:senior |sr\.? )?fellow(?! program|ship)"),
    (Seniority.STAFF, rf"(?<!chief of )(?<!technical )(?<!support )staff(?! (?:{_STAFF_OF}))"),
    (
        Seniority.LEAD,
        r"(?:team|tech|technical|engineering|practice|group|squad|chapter)[- ]?lead(?:er)?|lead(?! gen|s\b|ership)"
        r"|head of|head(?=[,)-])|practice head"
        r"|head$|senior manager|sr\.? manager|director|vice president|s?vp|chief \w+ officer|c[tio]o|teamleiter|leiter"
        r"|leitung|l[ií]der|responsable|jefe"
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
    (Seniority.LEAD, r"manager(?:in)?|supervisor|superintendent|fore(?:man|woman)"),
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
"""Titles of managers of something other than people."""
_MANAGES = re.compile(
    r"\b(?:engineering|team|development|software|people|hr|general|it|regional|operations?|senior|department|plant"
    r"|store|restaurant|area|shift|security|platform"
    r"|infrastructure|design|research|quality|support|finance|accounting) manager\b|\bmanager,|\bmanager of\b"
    r"|\bdirector\b|\bhead of\b|\bpractice (?:head|lead)\b|\bs?vp\b"
    r"|\bvice president\b|\bchief \w+ officer\b|\bc[tio]o\b|\bteamleiter|\bsupervisor\b|\bteam lead\b",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"\b(?:engineering|team|people|general|regional|district|area|plant|store|restaurant|shift|department|branch"
    r"|hotel|nurse"
    r"|nursing|warehouse|kitchen|bar|assistant general|country|group|practice|development|software|operations?"
    r"|office) manager\b"
    r"|\bmanager of\b|\bmanagers?,? (?:software |data |platform |product )?engineering\b|\bsupervisor\b"
    r"|\bmanagerin\b",
    re.IGNORECASE,
)
"""Titles that alone say that people are led."""
_VERB = (
    r"(?:manag(?:e|es|ing)|supervis(?:e|es|ing)|lead(?:s|ing)?|hir(?:e|ing)|coach(?:es|ing)?|mentor(?:s|ing)?"
    r"|develop(?:ing)?|recruit(?:ing)?|overs(?:ee|ees|eeing))"
)
_TEAM = re.compile(
    r"\bdirect reports?\b|\bpeople[- ]manag|\bline[- ]manag|\bpeople leader|\bperformance (?:reviews?|evaluations)\b"
    rf"|\b{_VERB}(?:,? (?:and |& )?(?:\w+ing|build|grow|train|motivate|inspire|{_VERB})){{0,3}}"
    r" (?:a |the |our |your |an )?(?:[\w-]+ ){0,2}(?:teams?|staff|employees|engineers|analysts|managers)\b"
    r"|\bteam of (?:\d|\w+ (?:engineers|analysts|people|professionals))|\bsupervisory\b",
)
"""Words of a text about a position that leads people."""
_LEADS_NONE = re.compile(
    r"\b(?:no|without|not have) (?:\w+ ){0,2}(?:direct reports?|people[- ]manag\w+|management responsibilit\w+)"
)
_TITLE_AGAIN = 100
"""Characters of a text in which it may have another title: ``Community Health Worker Team Manager``."""
_OF_TEAMS = searched(
    "direct report",
    "people",
    "line manag",
    "line-manag",
    "performance",
    " team",
    " staff",
    "employees",
    "supervis",
)
_PEOPLE = re.compile(
    r"\bdirect reports?\b|\bpeople[- ]manag|\b(?:line[- ]manage|managing|manage|lead and manage"
    r"|hire and manage) (?:and \w+ )?(?:a |the |our )?(?:growing |small )?(?:team|group) of\b"
    r"|\bperformance reviews\b|\bleading a (?:small|large|growing|high)[\w, -]{0,30}team\b"
)
_LEVEL_WORDS = r"senior|sr\.|junior|staff|principal|lead|mid[- ]level|entry[- ]level|intermediate"
_LEVEL = f"(?P<word>{_LEVEL_WORDS})"
_SENTENCE = re.compile(
    r"\b(?:seeking|looking for|hiring|in our|as (?:our|the)(?: next| new)?|(?:need|for|are|as) an?) (?:an? |our |the "
    r"|(?:exceptional|talented|skilled|highly skilled|passionate|experienced|motivated|highly motivated|dynamic|driven"
    rf"|seasoned|dedicated|hands-on|strategic|curious)(?:,? and |, | ))*{_LEVEL}(?:\s?[/|]\s?\w+)? (?:or \S+ )?"
    r"(?:[\w/+-]+ ){0,3}(?:sdet|swe|tester|writer|recruiter|accountant|planner|officer|coordinator"
    r"|engineer|developer|architect|scientist|analyst|designer|consultant|administrator"
    r"|programmer|specialist|manager)"
)
_POSITION = re.compile(
    rf"\bthis is an? {_LEVEL}(?:[- ]level)? (?:[\w-]+ ){{0,2}}(?:role|position|opportunity)\b"
    r"|\b(?P<asked>senior|junior|mid[- ]level)(?:[- ]level)? experience (?:in|with|of|as|working|building)\b"
)
"""Statements of the level of the position, or of the experience that it asks for."""
_BEGINNERS = re.compile(
    r"(?=[fenr])(?:(?<!not )(?<!not for )(?<!no )\bfreshers?\b"
    r"|\bentry[- ]level,? (?:[\w-]+ ){0,2}(?:role|position|opportunity|job|candidates?)\b"
    r"|\bno (?:previous |prior )?(?:professional |work |relevant |industry )?experience (?:is )?"
    r"(?:required|necessary|needed)\b|\b(?:recent|fresh|new) graduates? (?:and|or|&) early[- ]career)"
)
"""True if applicants need no experience."""
_BEGINNING = 300
"""Characters of a text in which it repeats its title."""
_MAY_LEAD = frozenset({"manager", "superintendent"})
_MANAGER = re.compile(r"\bmanager\b", re.IGNORECASE)
_SMALL = r"(?:of|an?|the|our|for|to|with|and|in|team|who|is|as)\b"
_LEVEL_BEFORE = re.compile(
    rf"(?:^|[\s:*#(]){_LEVEL}\)?\s(?:(?!{_LEVEL_WORDS}|{_SMALL})[\w/&-]+[ ,]{{1,2}}|- |\u2013 ){{0,3}}$"
)
_LEVEL_AT_A_BEGINNING = re.compile(rf"(?:^|[\n.!?:]\s{{0,2}}){_LEVEL}\s$")
_GRADE_BEHIND = re.compile(r" (?P<word>i{2,3}|iv|v)(?![\w/])")
_OF_GRADES = {"ii": "MID", "iii": "SENIOR", "iv": "SENIOR", "v": "SENIOR"}
"""A grade behind the title as the text repeats it: ``Controls Specialist II``."""
_PLURAL = re.compile(r"s\b")
_LABEL = re.compile(
    rf"\b(?:seniority(?: level)?|level|experience level|career level|job level)\s?:\s?{_LEVEL}"
    rf"|\b(?:job )?(?:title|role|designation)\s?:\s?(?P<titled>{_LEVEL_WORDS})\b"
    rf"|\bjob title\s?(?P<glued>{_LEVEL_WORDS}) "
)
_LEVELS = searched("senior", "sr.", "junior", "staff", "principal", "lead", "mid", "entry", "intermediate")
_OF_PEOPLE = searched(
    "direct report", "people manag", "people-manag", "team of", "group of", "performance rev", "leading a "
)
_OF_TEXT = {
    "senior": Seniority.SENIOR, "sr.": Seniority.SENIOR, "junior": Seniority.JUNIOR, "staff": Seniority.STAFF,
    "principal": Seniority.PRINCIPAL,
    "lead": Seniority.LEAD, "mid-level": Seniority.MID,
    "entry-level": Seniority.JUNIOR, "intermediate": Seniority.MID,
}  # fmt: skip
_GRADED = re.compile(r"\bmanager i\b", re.IGNORECASE)
"""The lowest grade above that of beginners."""
_SHORT = frozenset("i ii iii iv 2 3 4".split())
_LAST = re.compile(r"[\s,(-](?:i{1,3}|iv|[234])(?=$|\s*[-,(/|\u2013—:])", re.IGNORECASE)


def seniority_of(title: str, text: str, years_min: int | None) -> tuple[Seniority, str | None]:
    """Return how senior a position is, and the word of the title or text that says so.

    Args:
        text: the description, plain, in lower case.
        years_min: the years of experience that it asks for.

    Returns:
        The word is None where none says so: then the years decide, and without them a position is of the middle, as
        most are whose title is silent. Without a title all is unknown.
    """
    title = _FIELDS_OF_WORK.sub(" # ", title[:300])
    for level, pattern in _TITLE:
        for match in pattern.finditer(title):
            word = match["word"].lower()
            if word in _SHORT and not _LAST.match(title, max(0, match.start() - 1)):
                continue
            if (word in _MAY_LEAD and not _leads_people(title, text)) or (word == "i" and _GRADED.search(title)):
                continue
            if level is Seniority.SENIOR and _MANAGER.search(title) and _leads_people(title, text):
                return Seniority.LEAD, "manager"
            if word == "fellow" and "fellowship" in text:
                continue
            if word == "associate" and (years_min or 0) >= _EXPERIENCED_YEARS:
                continue
            return level, word
    grade = _NUMBERED.search(title)
    if grade is not None:
        word = grade["word"] or grade["grade"]
        return Seniority[_GRADES[word]], word
    if not is_english(text):
        for level, pattern in _elsewhere():
            named = pattern.search(title)
            if named is not None:
                return level, named[0].lower()
    told = around(text, _LEVELS, 60, 90)
    repeated = _repeated(title, text)
    if repeated is not None:
        return repeated
    for sentence in (_LABEL, _SENTENCE):
        said = sentence.search(told)
        if said is not None:
            word = next(group for group in said.groups() if group)
            if word.startswith("entry") and (years_min or 0) >= _EXPERIENCED_YEARS:
                continue
            return _OF_TEXT[word.replace(" ", "-")], word
    position = _POSITION.search(told)
    if position is not None:
        word = (position["word"] or position["asked"]).lower()
        return _OF_TEXT[word.replace(" ", "-")], word
    beginners = _BEGINNERS.search(text) if (years_min or 0) <= JUNIOR_YEARS else None
    if beginners is not None:
        return Seniority.JUNIOR, beginners[0]
    if years_min is not None and years_min >= SENIOR_YEARS:
        return Seniority.SENIOR, None
    if years_min is not None and years_min <= JUNIOR_YEARS:
        return Seniority.JUNIOR, None
    return (Seniority.MID if title.strip() else Seniority.UNKNOWN), None


def _repeated(title: str, text: str) -> tuple[Seniority, str] | None:
    """Return the level that the text has with the title's own words: ``Senior Python Developer``, ``Specialist II``."""
    words = title.strip().lower()
    if " " not in words:
        return None
    place = text.find(words, 0, _BEGINNING)
    if place >= 1 and not _PLURAL.match(text, place + len(words)):
        before = _LEVEL_BEFORE.search(text[max(0, place - 60) : place])
        if before is not None:
            return _OF_TEXT[before["word"].replace(" ", "-")], before["word"]
    place = text.find(words)
    while place >= 0:
        begun = _LEVEL_AT_A_BEGINNING.search(text[max(0, place - 30) : place])
        if begun is not None and not _PLURAL.match(text, place + len(words)):
            return _OF_TEXT[begun["word"].replace(" ", "-")], begun["word"]
        grade = _GRADE_BEHIND.match(text, place + len(words))
        if grade is not None:
            return Seniority[_OF_GRADES[grade["word"]]], grade["word"]
        place = text.find(words, place + len(words))
    return None


def _leads_people(title: str, text: str) -> bool:
    """Return whether a manager leads people: by the title alone, or by what the text says of a team."""
    if _WORKER.search(title) or _LEADS_NONE.search(text):
        return False
    return (
        _LEADS.search(title) is not None
        or _LEADS.search(text[:_TITLE_AGAIN]) is not None
        or _TEAM.search(around(text, _OF_TEAMS, 80, 60)) is not None
    )


@cache
def _elsewhere() -> tuple[tuple[Seniority, re.Pattern[str]], ...]:
    """Return the words for each level in other languages, in the order in which they decide."""
    levels = (Seniority.LEAD, Seniority.SENIOR, Seniority.JUNIOR, Seniority.MID)
    return tuple(
        (level, re.compile(rf"(?<!\w)(?:{alternatives('level', str(level))})(?!\w)", re.IGNORECASE)) for level in levels
    )


def is_management(title: str, text: str) -> bool:
    """Return whether the position leads people, by its title or by what it does.

    Args:
        text: the description, plain, in lower case.
    """
    title = title[:300]
    if _MANAGES.search(title) and not _WORKER.search(title):
        return True
    return _PEOPLE.search(around(text, _OF_PEOPLE, 80, 80)) is not None


YEARS_MAX = 20
"""More is the age of a company or a family's history: no work asks for them."""
_AROUND = 120
"""Characters of a line, before and after a number of years, that tell what it is."""

_NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11,
    "twelve": 12, "thirteen": 13, "fifteen": 15, "twenty": 20,
}  # fmt: skip


_UNIT = re.compile(r"[yY](?:[eE][aA][rR]|[rR][sS]?(?![a-z\d_])|[oO][eE]\b)")
_BEFORE_UNIT = 60
"""Characters before the word "years" in which the number is looked for."""


@cache
def _spoken(*, english: bool) -> re.Pattern[str]:
    """Return the expression of a number of years, in English or in the other languages."""
    words = (*_NUMBER_WORDS, *(() if english else numbers()))
    count = rf"(?:\d{{1,2}}|\b(?:{'|'.join(words)}))"
    first = "".join({word[0] for word in words})
    between = "to|and|or" if english else "bis|a|à|tot|do|e|y|o|ou|et|lub|oder"
    units = r"(?P<english>years?|yrs?|yoe)(?-i:(?![a-z\d_]))(?P<foreign>)"
    if not english:
        asian = r"(?:년|年)\s?(?:차\s?)?(?:이상|以上)"
        units = rf"(?P<english>(?!))?(?P<foreign>(?:{alternatives('years', 'units')}|år)\b|{asian})"
    return re.compile(
        rf"(?=[\d{first}])"
        rf"(?:(?<![\d,$€£/-])(?<!\d\.)|(?<=\n-))(?P<low>{count})(?:\s?\(\d{{1,2}}\+?\))?\s?(?P<plus>\+|or more|plus)?"
        rf"(?:\s?(?:-|\u2013|—|\u2011|{between})\s?(?P<high>{count})(?:\s?\(\d{{1,2}}\))?\s?(?P<more>\+)?)?"
        rf"\s{{0,3}}-?(?:\+\s?)?(?:full |or more |plus |additional )?{units}",
        re.IGNORECASE,
    )


def _spoken_in(text: str) -> Iterator[re.Match[str]]:
    """Return every number of years in a text, in order of English first."""
    end = 0
    for unit in _UNIT.finditer(text):
        match = _spoken(english=True).search(text, max(end, unit.start() - _BEFORE_UNIT), unit.end() + 2)
        if match is not None:
            end = match.end()
            yield match
    if not is_english(text.lower()):
        yield from _spoken(english=False).finditer(text)


@cache
def _tells_elsewhere() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the expressions behind and before a number of years of experience in other languages."""
    return (
        re.compile(rf"(?<!\w)(?:{alternatives('years', 'experience')})|경험|경력|経験|经验", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{alternatives('years', 'asks')})[\s:,(-]*(?:de |di |von |van )?$", re.IGNORECASE),
    )


_TELLS = re.compile(
    r"experien|expertise|exp\b|background|track record|as an?\b|in an?\b"
    r"|in (?:similar|comparable|related|relevant)\b|hands[- ]on|working|building|developing"
    r"|writing|designing|leading"
    r"|managing|shipping|programming|engineering|coding|professional|industry|of (?:\w+ ){0,4}(?:development"
    r"|software)|berufserfahrung|erfahrung"
    r"|expérience|ervaring|doświadczenia|esperienza|erfarenhet",
    re.IGNORECASE,
)
_ASKS_BEFORE = re.compile(
    r"(?:at least|minimum(?: of)?|min\.?|more than|requires?|required|must have|you have|with|experience(?: "
    r"(?:ranging|range|level|required|needed|between|from))*(?: ?\([^()]{0,30}\))?"
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
    r"[\s-]*(?:(?:of )?(?:formal |regular |full[- ]time |continuous )*(?:education|schooling|study|studies)\b"
    r"|of (?:history|age|innovation|service|growth|success|operation|existence|tradition|heritage|excellence"
    r"|collective|combined|market"
    r"|paid)|ago|old|in (?:operation|a row|existence"
    r"|business(?! (?:intel|devel|analy|admin|operations|consult|strateg|process|systems|appl|or|and)))"
    r"|history|contract|term|term\b|anniversary|running|vest"
    r"|warranty|plan|de história"
    r"|de historia|jung|geschichte|d'existence|in the market|on the market|from now|thereafter|cliff|tenure|exercise)",
    re.IGNORECASE,
)
_COMPANY = re.compile(
    r"\b(?:we(?:'ve| have)|our (?:company|team|firm|clients|history|founders)|has been|have been helping|the company"
    r"|combined|collectively)\b",
    re.IGNORECASE,
)
_COMPANY_AFTER = re.compile(
    r"[,;] (?:we|our|the (?:company|firm|group)|\w+ (?:has|is))\b (?:\w+ ){0,2}(?:serve|help|provid|offer|deliver"
    r"|work|build|built"
    r"|develop|support|bring|combin|are|is|has|have|operat|speciali[sz])",
    re.IGNORECASE,
)
"""Words after the years of a company: ``With over 15 years of expertise in trade, we serve clients``."""
_ASKS_YOU = re.compile(r"\b(?:you|candidates?|requir\w+|must|minimum|at least)\b", re.IGNORECASE)
_ALTERNATIVE = re.compile(
    r"\bor (?:at least |(?:a )?minimum (?:of )?)?$|\b(?:in lieu|alternatively|equivalent combination)\b"
    r"|\bor (?:\w+ )?(?:master'?s|ph\.?d|doctorate|advanced degree|high school|ged|diploma|associate'?s|no degree"
    r"|without)\b",
    re.IGNORECASE,
)
"""Words before years that are asked of candidates with another degree, or without one."""
_PREFERRED = re.compile(r"prefer|ideally|nice to have|a plus|bonus|desir|von vorteil|deseable|desejável", re.IGNORECASE)
_PREFERABLY = re.compile(r"\bpreferabl[ye] (?:in|with|within|from|at|as)\b", re.IGNORECASE)
"""Preferred kind of years; the years themselves are asked for: ``5 years of experience preferably in sales``."""
_ASIDE = re.compile(r"(?<=\w) \([^()]*\)")
"""Brackets in a demand: ``5+ years in sales roles (retail preferred)``."""
_PREFERRED_BEHIND = re.compile(
    r"[^,]{0,60}, ?(?:is |are |strongly |highly )*(?:preferred|desired|a plus)", re.IGNORECASE
)
"""Behind years, a wish after a comma: ``2-4 years of experience, preferred``."""
_SENTENCE_BREAK = re.compile(r"[\n.;!?•]")
_REQUIRED_AFTER = re.compile(r"\s?\((?:required|must have|erforderlich|requis|requerido)\b", re.IGNORECASE)
"""Behind years in a list of fields: ``Sales: 1 year (Required)``."""
_BULLETS = " \t-*\u2022\u00b7\u2013\u25cf"
_IN_A_FIELD = re.compile(r"\s(?!of\b|from\b|after\b|until\b|to\b)[a-z]", re.IGNORECASE)
"""Words behind years that begin a line: ``- 3 years in sales``, ``- 5 years advanced SQL``."""
_LABELLED = re.compile(
    r"[Ee]xp(?:[\u00e9e]rience)?(?: [Rr]equired| [Nn]eeded)?(?: ?\([Yy](?:ea)?rs?\))?\s?[:\u2013-]\s{0,2}"
    r"(?:[>\u2265]\s?)?(?P<low>\d{1,2})\+?(?:\s?(?:-|\u2013|to|\u00e0)\s?(?P<high>\d{1,2})\+?)?"
    r"(?=[+ \t]*(?:$|\n|[A-Z(;|]|ans\b))"
)
"""A field of the text whose number has no unit behind it: ``Years of experience: 6+``."""
_LABEL_BEFORE = re.compile(
    r"(?:years?(?: of)?(?: relevant| work| total| professional)?|total|relevant|work|required|min(?:imum|\.)?|^[\s*#-]*"
    r"|\n[\s*#-]*) ?$",
    re.IGNORECASE,
)


def years_of(sections: list[Section]) -> tuple[int | None, int | None]:
    """Return the least and the most years of experience that are asked for; None for a bound that is not given.

    Of several demands (some years in all, fewer with one tool) the one with the most years counts: a candidate that
    fulfils it has had the time for the others. Years for another degree ("or a master's degree and 2 years"), years
    that are only wished for and years of the company's own age do not count.
    """
    for parts in ((Part.REQUIRED,), (Part.OTHER, Part.DUTIES), (Part.ABOUT, Part.OFFERED)):
        found = _demands(joined(sections, *parts))
        if found:
            found += _fields(joined(sections, Part.OTHER, Part.OFFERED))
            return max(found, key=lambda years: years[0])
    return None, None


def _demands(text: str) -> list[tuple[int, int | None]]:
    """Return every demand, in order: (least, most)."""
    demands = _fields(text)
    for match in _spoken_in(text):
        before = text[max(0, match.start() - _AROUND) : match.start()].rpartition("\n")[2]
        after = text[match.end() : match.end() + _AROUND].partition("\n")[0]
        if not _is_demand(match, before, after):
            continue
        if demands and _ALTERNATIVE.search(_SENTENCE_BREAK.split(before)[-1]):
            continue
        low, high = _count(match["low"]), _count(match["high"])
        demands.append(_bounds(low, high))
    return [demand for demand in demands if demand[0] <= YEARS_MAX]


def _fields(text: str) -> list[tuple[int, int | None]]:
    """Return every demand that is a field of the text: ``Years of experience: 6+``."""
    return [
        _bounds(int(field["low"]), int(field["high"] or 0))
        for field in _LABELLED.finditer(text)
        if int(field["low"]) <= YEARS_MAX and _LABEL_BEFORE.search(text[max(0, field.start() - 30) : field.start()])
    ]


def _bounds(low: int, high: int) -> tuple[int, int | None]:
    return low, high if low < high <= YEARS_MAX else None


def _is_demand(match: re.Match[str], before: str, after: str) -> bool:
    if _NOT_BEFORE.search(before) or _NOT_AFTER.match(after):
        return False
    clause = _SENTENCE_BREAK.split(after, 1)[0]
    sentence = _SENTENCE_BREAK.split(before)[-1]
    wish = _ASIDE.sub(" ", clause)
    if _PREFERRED.search(sentence[-50:]) or _PREFERRED.search(_PREFERABLY.sub("", wish.partition(",")[0][:80])):
        return False
    if _PREFERRED_BEHIND.match(clause):
        return False
    if _COMPANY.search(sentence):
        return False
    if _COMPANY_AFTER.search(clause) and not _ASKS_YOU.search(sentence):
        return False
    if _TELLS.search(clause) or _ASKS_BEFORE.search(before) or _REQUIRED_AFTER.match(after):
        return True
    if match["foreign"] and any(
        pattern.search(part) for pattern, part in zip(_tells_elsewhere(), (clause, before), strict=True)
    ):
        return True
    if (match["plus"] or match["more"]) and match["english"]:
        return True
    return not before.strip(_BULLETS) and _IN_A_FIELD.match(after) is not None


def _count(written: str | None) -> int:
    """Return a number in digits or in words; 0 for none."""
    if not written:
        return 0
    if written.isdigit():
        return int(written)
    word = written.lower()
    return _NUMBER_WORDS[word] if word in _NUMBER_WORDS else numbers()[word]
