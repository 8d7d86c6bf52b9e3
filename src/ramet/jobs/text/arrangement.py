"""Place of work (remote, hybrid, on site) and kind of employment, by a board's fields, the title and the text."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from urllib.parse import urlsplit

from ramet.jobs.posting import Posting
from ramet.jobs.text.languages import alternatives, is_english
from ramet.jobs.text.places import is_wide, places_of
from ramet.jobs.text.word_places import around, searched


class Arrangement(StrEnum):
    """Place of work, by distance."""

    REMOTE = "remote"
    HYBRID = "hybrid"
    ONSITE = "onsite"
    UNKNOWN = "unknown"


_FIELD = {
    "remote": Arrangement.REMOTE, "telecommute": Arrangement.REMOTE, "fully remote": Arrangement.REMOTE,
    "hybrid": Arrangement.HYBRID,
    "onsite": Arrangement.ONSITE, "on site": Arrangement.ONSITE, "in office": Arrangement.ONSITE,
    "office": Arrangement.ONSITE,
}  # fmt: skip
REMOTE_BOARDS = frozenset(
    "weworkremotely.com remoteok.com remoteok.io remotive.com remotive.io himalayas.app workingnomads.com remote.co"
    " jobspresso.co justremote.co dynamitejobs.com europeremotely.com nodesk.co remoteleaf.com 4dayweek.io"
    " skipthedrive.com pangian.com".split()
)
"""Hosts of boards that list remote work only."""

_HYBRID = re.compile(r"\bhybrid|h[ií]brid", re.IGNORECASE)
_REMOTE = re.compile(
    r"\bremot[eo]\b|\bremote(?:ly|-)|\bfully distributed\b|^\s*distributed\b|work from (?:home|anywhere)|\bwfh\b"
    r"|telecommut|\btelework|home[- ]?based"
    r"|\bhome[- ]?office\b|\bvirtual\b|\banywhere\b|\bworldwide\b|teletrabajo|t[ée]l[ée]travail|100% remote",
    re.IGNORECASE,
)
_ONSITE = re.compile(
    r"\bon-?\s?site\b|\bin[- ]office\b|\bin[- ]person\b|\boffice[- ]based\b|\bpresencial\b|\bvor ort\b", re.IGNORECASE
)
_NOT_REMOTE = re.compile(
    r"\b(?:not?|non|isn'?t|cannot be|can'?t be)[- ](?:a |an |currently |eligible for |open to |fully |available for "
    r"|able to offer |considering |offer(?:ing)? |support(?:ing)? |accept(?:ing)? )*remote"
    r"|remote (?:work |working |option |position |role |candidate |arrangement )*s?(?:is |are |will )?(?:not"
    r"|unavailable)"
    r"|\bno remote|\bnot remote",
    re.IGNORECASE,
)
_ANY_REMOTE = (
    r"(?:remote(?:ly)?(?:[- ](?:or|and|/) ?hybrid)?|hybrid(?: or|/| and) ?remote|telework(?:ing)?|telecommut(?:e|ing)"
    r"|work(?:ing)?[- ]from[- ]home|wfh)(?![- ](?:only|first)|/hybrid|(?: work(?:ing)?)? from (?!home))"
)
_DENIED = re.compile(
    rf"\b{_ANY_REMOTE}(?: (?:work(?:ing)?|options?|positions?|roles?|candidates|arrangements?|applicants"
    r"|opportunit\w+))*"
    r" (?:is|are|will|can|cannot|may)(?: be)? ?(?:not|never|n't|unavailable|no longer)(?: be)?(?! (?:eligible"
    r"|available) in \w)"
    rf"|\b(?:does|do|can|will|are|is|was) ?(?:not|n't|n\u2019t) (?:currently |be |able to |a |an |eligible for "
    r"|open to "
    rf"|offer(?:ing)? |support(?:ing)? |allow(?:ing)? |provide |permit |consider(?:ing|ed)? |accept(?:ing)? "
    rf"|for )*{_ANY_REMOTE}"
    rf"|\b(?:no|not|non)[- ](?:a |an |eligible for |available for |open to |suitable for )*{_ANY_REMOTE}"
    r"(?! (?:restrictions|experience|company|team))"
    rf"|\bnot (?:a )?(?:fully )?{_ANY_REMOTE} (?:role|position|job|opportunity)"
    rf"|\b(?:unable|not able) to (?:offer|support|accommodate|consider|provide) (?:fully |any )?{_ANY_REMOTE}"
    r"|\b100 ?% (?:on-?\s?site|in[- ](?:office|person))|\bfully (?:on-?site|in[- ](?:office|person))"
    r"|\bon-?site only\b|\bonly on-?site\b|\bno (?:hybrid|work from home)\b"
)
"""Statements that work is not done from elsewhere: they weigh more than a place that a board keeps under "Remote"."""
_PERK = re.compile(
    r"(?:\b(?:\d{1,2}|one|two|three|four|six|eight|ten|twelve)(?:[- ]?\w+)? (?:weeks?|months?|days?)(?: (?:of|to|per"
    r"|a|each) ?(?:year)?)*"
    r"|\boccasional(?:ly)?|\bsome|\bevery friday)[^.\n:;]{0,40}$"
)
_PERK_AFTER = re.compile(
    r"[- ]?(?:and |for |up to |of |a |to |in |policy|program(?:me)?|option|flexib\w+)*(?:\(?(?:up to )?(?:\d{1,2}"
    r"|one|two|three|four|six|eight"
    r"|twelve)[- ]?(?:weeks?|months?|days?)|weeks?\b|months?\b|days?\b|fridays?\b|abroad|when|if needed|as needed"
    r"|occasionally)"
)
"""Words before and behind "work from anywhere" that limit it to a few weeks of a year: not an arrangement."""
_TAG = re.compile(r"li-(?:(?P<remote>remote)|(?P<hybrid>hybrid)|(?P<onsite>on-?site|in-?office))")

_POSITION = r"(?:this|the|our|your) (?:\w+ ){0,3}?(?:role|position|job|opportunity|opening)"
_LABEL = (
    r"\b(?:(?:(?:work(?:ing|place)?|job|office|position|role|opportunity)[ -])?(?:location|workplace|type|model|mode"
    r"|arrangement|set-?up|setting|style|schedule|environment|pattern|status"
    r"|telecommuting options?|workplace policy|work policy)s?(?: type| policy)?\s?[:\[(]"
    r"|(?:location type|work(?:ing|place)? (?:model|mode|arrangement|type|pattern)|remote (?:status|policy)"
    r"|remote (?:vs\.?|or|/) (?:office|on-?site)|remote ?/ ?hybrid(?=\s?:))\s?[:"
    r"|\u2013-]?)"
    r"[\s*\[(]{0,4}(?:\w[\w, .-]{0,40}? ?[/(,\u2013-] ?)?"
)
_AT_THE_TOP = re.compile(
    r"(?:^|[|/\u2022\u00b7\n(]\s{0,3})(?P<how>hybrid|(?:fully )?remote|on-?site|in[- ]office)\s{0,3}(?=$|["
    r"|\u2022,\u00b7\n()])"
)
"""A word by itself in the lines above the text, where pages have the place, the kind and the arrangement."""
_TOP = 500
_CHOICE = re.compile(r"\blocation\s?:\s?remote\s?/\s?\w")
"""A place that leaves the choice: ``Location: Remote / Singapore / Hybrid``."""
_DAYS = (
    r"(?:\d|one|two|three|four)(?:\s?\(\d\))?\s?(?:\+|(?:-|\u2013|to|or)\s?(?:\d|two|three|four|five"
    r"|more))?\s?(?:full |or more )?days?"
)
_FULL_WEEK = r"(?<![\d\u2013-])(?:5|five)(?:\s?\(5\))? days"
_IN_OFFICE = (
    r"(?:in|at|from|on|working)?[- ]?(?:the |our |an |one of our |your )?(?:\w+ ){0,2}?(?:offices?|on-?site"
    r"|in[- ]person|hq)"
)
_SAYINGS: tuple[tuple[str, Arrangement, str], ...] = (
    ("phrase", Arrangement.HYBRID, r"\bhybrid, (?:on-?site|in[- ]office),?(?: and| or|/) (?:virtual|remote)\b"),
    ("position", Arrangement.ONSITE, rf"{_POSITION} (?:is|will be|requires|must be)"
     r"(?:(?!remote|hybrid)[^.\n]){0,40}?\b(?:on-?site\b|in[- ]office\b|in[- ]person\b)(?![^.\n]{0,20}\bhybrid)"),
    ("position", Arrangement.ONSITE, rf"{_FULL_WEEK}[^.\n]{{0,20}}\b(?:office|on-?site|in[- ]person)|(?:office"
     rf"|on-?site|in[- ]person)[^.\n]{{0,25}}{_FULL_WEEK}"),
    ("label", Arrangement.HYBRID, rf"{_LABEL}hybrid|(?:^|\n)\s*hybrid\s?[:\u2013-]\s"),
    ("label", Arrangement.ONSITE, r"\btelework type\s?:\s?full-time office"),
    ("label", Arrangement.REMOTE, rf"{_LABEL}(?:fully |100% |us )?remote\b(?! (?:or|and|/) (?:hybrid|on-?site))"),
    ("label", Arrangement.ONSITE, rf"{_LABEL}(?:on-?site|in[- ]office|office/site only|office only)"),
    ("position", Arrangement.HYBRID, rf"{_POSITION} (?:is|will be|follows|offers|requires|has)[^.\n]{{0,40}}?\bhybrid"
     r"(?! (?:professional|cloud|profile|skill|sales|infra|data|search|threat|app|monet))"),
    ("position", Arrangement.HYBRID, rf"\b{_DAYS}[^.\n]{{0,30}}?(?:per|a|each|/"
     rf"|every)\s?week[^.\n]{{0,30}}?{_IN_OFFICE}\b|\b{_DAYS} {_IN_OFFICE}"
     rf"|{_IN_OFFICE}[^.\n]{{0,40}}?\b{_DAYS} (?:(?:per|a|each|/|every|out of)\s?(?:the )?week|weekly)"
     r"|\boffice for (?:two|three|four|[2-4]) (?:anchor |fixed )?days\b"),
    ("position", Arrangement.HYBRID, r"\b(?:\d|one|two|three|four)(?:\s?(?:-|\u2013|to|or)\s?(?:\d|two|three"
     r"|four))? (?:remote|office"
     r"|home|on-?site|in[- ]office)(?: work(?:ing)?)? days?\b|\bup to \d\d ?% (?:of )?(?:from home|remote)"
     r"|\b(?:remote|home[- ]?office)"
     r"(?: work(?:ing)?)?(?: is| of| possible| for)* up to (?:\d\d ?%|\d days)|\bcombin\w+ "
     r"(?:both )?"
     r"(?:in[- ]person|office|on-?site|home|remote)[^.\n]{0,20} (?:and|&|with) (?:remote|home|in[- ]person|office"
     r"|on-?site)"
     r"|\b(?:office|on-?site|in[- ]person)[^.\n]{0,20} (?:on|every|each) (?:mon|tues|wednes|thurs|fri)days?\b"
     r"|\b(?:mon|tues|wednes|thurs|fri)days?(?:,? (?:and |& |through |to )?(?:mon|tues|wednes|thurs|fri)days?){0,3}"
     r" (?:in|at|from) (?:the|our|an) (?:\w+ )?office"
     r"|\bremote work \(hybrid\)|\b(?:flexible|partially|partly) (?:remote|hybrid) \("),
    ("position", Arrangement.HYBRID, r"\bremote(?:ly)?(?: work)?,? (?:on|every|each)"
     r" (?:mon|tues|wednes|thurs|fri)days?\b"
     r"|\boffice[- ]centric hybrid|\b(?:flexible )?remote work (?:flexibility|options?|possib\w+|opportunities)\b"
     r"(?! (?:across|within|throughout|anywhere|worldwide|from any))"),
    ("position", Arrangement.REMOTE, rf"{_POSITION} (?:is|can be|will be|may be)[^.\n]{{0,40}}?\bremote\b"),
    ("position", Arrangement.REMOTE, r"\b(?:100 ?%|fully|completely|entirely)[- ]remote(?:ly)?\b|\bremote forever\b"
     r"|\b100% remotely\b"),
    ("phrase", Arrangement.HYBRID, r"\bhybrid (?:role|position|schedule|work|working|model\b|workplace|mode\b|way"
     r" of|flexib|options?\b|style|culture"
     r"|setting|policy|arrangement|basis"
     r"|opportunity|job|team|from|in|out of|remote|office|flex)|work from home or (?:from )?(?:one of )?(?:our|the"
     r"|an)[^.\n]{0,20}\boffice|(?:mix|combination|blend|balance) of (?:remote|home|in-?office|in-person|on-?site"
     r"|office)[^.\n]{0,25} (?:and|with) (?:remote|home|in-?office|in-person|on-?site|office)|(?:work|working|is|are"
     r"|based|operate) (?:in )?(?:an? )?hybrid\b(?! (?:cloud|and|it|infra))|\ba hybrid environment\b"
     r"|hybrides?\b.{0,12}travail|modelo h[ií]brido|regime h[ií]brido"),
    ("phrase", Arrangement.HYBRID, r"\b(?:working|work) from home (?:flexibility|options?|possib\w+|days?)\b"
     r"|\bflexib\w+ (?:to|of|for) (?:occasionally |partly |partially )?work(?:ing)? from home\b"
     r"|\bhome[- ]working (?:flexibility|options?)\b"),
    ("phrase", Arrangement.ONSITE, r"\b(?:on-?site|in[- ]person|in[- ]office) (?:role|position|job|only|required"
     r"|requirement|work required)|fully on-?site|100% on-?site"
     r"|must (?:be able to )?(?:work|be) on-?site"),
    ("phrase", Arrangement.REMOTE, r"\bremote[- ](?:first|friendly|eligible|native|work(?:ing)?(?! (?:reimburs"
     r"|stipend|bonus|allowance|equip|set-?up"
     r"|day|option|polic))|role|position|job(?!s associated)"
     r"|opportunity|team|company|culture|flexib|within)"
     r"|(?:work|working|working fully|based|hire|hiring|collaborate) remotely|work from (?:home|anywhere"
     r"|wherever)\b(?! (?:stipend|support|allowance|set|budget|equip|reimb|up to|day))"
     r"|flexible[/ ]remote|(?:open to|consider(?:ing)?|option(?:s)? (?:for|of|to work)|hir(?:e|ing) for|available"
     r"|eligible|offered)"
     r"(?: for| as| in)?(?: (?:fully|100%|hiring|hire|full-time))* remote(?:ly)?\b"
     r"|remote (?:work |candidates? |working )?(?:is |are |also |may be |can be )*(?:possible|available|considered"
     r"|welcome|ok\b|okay|accepted)"
     r"|\bor (?:fully )?remotely (?:in|from|within|across|anywhere)\b"
     r"|home[- ]based (?:role|position)|fully distributed (?:team|workforce|company)|we(?:'re|\u2019re"
     r"| are) a (?:\w+,? ){0,2}distributed (?:team|company)|(?:remoto|teletrabajo"
     r"|home office(?<!\bour home office)(?<!\bthe home office)(?<!\bits home office)"
     r"(?<!corporate home office)(?<!company home office)(?! (?:in|located|based|support"
     r"|team|staff|stipend|allowance|budget|equip|set-?up|location|employees|leadership|or (?:field|site)))"
     r"|t[ée]l[ée]travail)\b|working from home"),
)  # fmt: skip
_WORDS = searched(
    "remot", "hybrid", "híbrid", "onsite", "on-site", "on site", "office", "in-person", "in person", "presencial",
    "from home", "from anywhere", "wfh", "telework", "in office", "in-office", "distributed", "home based",
    "home-based", "telecommut", "teletrab", "télétrav",
)  # fmt: skip
"""One of these is in every sentence that tells an arrangement."""
_OF_LABELS = {
    Arrangement.HYBRID: ("hybrid",),
    Arrangement.REMOTE: ("remote",),
    Arrangement.ONSITE: ("site", "office"),
}
_SAID = [
    (
        rule,
        arrangement,
        _OF_LABELS[arrangement] if _LABEL in pattern else ("day",) if _DAYS in pattern else ("",),
        re.compile(pattern),
    )
    for rule, arrangement, pattern in _SAYINGS
]
"""Patterns, each with words of which every match has one: a search for them spares the costliest ones most texts."""
_NOT_SO = re.compile(
    r"(?:\bnot?\b|n't|n\u2019t|\bwithout|\bmany (?:of our )?(?:roles|positions)|\bsome (?:roles|positions)|\bboth\b"
    r"|\bfor (?:fully )?(?:all )?$|\ballowance for|\bstipends? for"
    r"|\bemployees in|\bfrom in-office|\bother|\bunlike|\bexperience (?:with|in|of|working)|\bsupport(?:s|ing)?"
    r"|\bmanag\w*|\bcoordinat\w*|\bcommunicat\w*|\bleading|\bwhether)[^.\n:]{0,45}$"
)
_SOME_DAYS = re.compile(
    r"\b(?:[1-4]|one|two|three|four)(?: ?[-\u2013] ?[2-4])?(?:x| ?times?| ?days?)(?: ?(?:per|a|/|each) ?week)?"
    r"(?: (?:in|at|from)(?: the| our)?)? (?:on-?\s?site|office|in[- ]office|home|remote)"
    r"|\bt[\u00e9e]l[\u00e9e]travail (?:fr[\u00e9e]quent|ponctuel|partiel|occasionnel|[1-4]\s?j)",
    re.IGNORECASE,
)
"""Some days a week, in a place or a title: ``Lisbon (1x per week onsite)``, ``London, 2 days office``."""
_NOT_SAID = re.compile(r"\([^()]*\bnot (?:specified|stated|given)\)", re.IGNORECASE)
_QUESTION = re.compile(r"[^.!\n]{0,80}\?")
_AROUND = 160
_CITY_STATES = frozenset({"SG", "HK", "MO", "MC", "GI"})
"""Countries that are a city: their name is a place to go to."""
_TOP_WORDS = (
    ("hybrid", Arrangement.HYBRID), ("remote", Arrangement.REMOTE), ("", Arrangement.ONSITE),
)  # fmt: skip


def arrangement_of(posting: Posting, text: str) -> tuple[Arrangement, str]:
    """Return the arrangement of the work of a posting, and the rule that decided.

    Args:
        text: the description, plain, in lower case.

    Returns:
        The rule is one of ``field``, ``title``, ``place``, ``tag``, ``label``, ``position``, ``phrase``, ``board``,
        ``country``, ``city`` and ``none``.
    """
    field = _FIELD.get(" ".join((posting.workplace or "").lower().replace("-", " ").replace("_", " ").split()))
    if field is not None:
        return field, "field"
    found = _in_a_few_words(posting.title[:300])
    if found is not Arrangement.UNKNOWN:
        return found, "title"
    told = around(text, _WORDS, _AROUND, _AROUND)
    found = _in_a_few_words((posting.location or "")[:4_000])
    if found is Arrangement.REMOTE and told and _is_denied(told):
        return Arrangement.ONSITE, "position"
    if found is not Arrangement.UNKNOWN:
        return found, "place"
    tags = {kind for tag in _TAG.finditer(text) for kind in tag.groupdict() if tag[kind]} if "li-" in text else set()
    if len(tags) == 1:
        return Arrangement(tags.pop()), "tag"
    if told and _is_denied(told) and not _HYBRID.search(_DENIED.sub(" ", told)):
        return Arrangement.ONSITE, "position"
    if told and _CHOICE.search(text, 0, _TOP):
        return Arrangement.REMOTE, "label"
    top = _AT_THE_TOP.search(text, 0, _TOP) if told else None
    if top is not None:
        return next(how for word, how in _TOP_WORDS if word in top["how"]), "label"
    found, rule = (Arrangement.UNKNOWN, "none") if is_english(text) else (_said_elsewhere(text), "phrase")
    if found is Arrangement.UNKNOWN:
        found, rule = _said(told)
    if found is not Arrangement.UNKNOWN:
        return found, rule
    if _host(posting.url) in REMOTE_BOARDS:
        return Arrangement.REMOTE, "board"
    places = places_of(posting.location or "")
    if len(places) == 1 and places[0].country in _CITY_STATES:
        return Arrangement.ONSITE, "city"
    if is_wide(_NOT_SAID.sub("", posting.location or "")):
        return Arrangement.REMOTE, "country"
    if len(places) == 1 and places[0].city is not None and places[0].country is not None:
        return Arrangement.ONSITE, "city"
    return Arrangement.UNKNOWN, "none"


@lru_cache(maxsize=1_024)
def _in_a_few_words(written: str) -> Arrangement:
    """Return the arrangement in a title or a place. Remembered: the openings of a board are in few places."""
    if not written:
        return Arrangement.UNKNOWN
    written = _NOT_SAID.sub(" ", written)
    if _NOT_REMOTE.search(written):
        return Arrangement.ONSITE
    if _SOME_DAYS.search(written):
        return Arrangement.HYBRID
    if _HYBRID.search(written):
        # "Remote; Hybrid - London" leaves the choice to the person.
        apart = [
            part for part in re.split(r"[;|\n]| or ", written) if _REMOTE.search(part) and not _HYBRID.search(part)
        ]
        return Arrangement.REMOTE if apart else Arrangement.HYBRID
    if _REMOTE.search(written):
        return Arrangement.REMOTE
    if _ONSITE.search(written):
        return Arrangement.ONSITE
    return _said_elsewhere(written.lower())


def _is_denied(told: str) -> bool:
    return _DENIED.search(told) is not None


def _said(told: str) -> tuple[Arrangement, str]:
    """Return the arrangement, and the rule, by the stretches of the text that mention it."""
    for rule, arrangement, words, pattern in _SAID if told else ():
        if not any(word in told for word in words):
            continue
        for match in pattern.finditer(told):
            if _NOT_SO.search(told, max(0, match.start() - 60), match.start()):
                continue
            if rule == "phrase" and arrangement is Arrangement.REMOTE and _is_perk(told, match):
                continue
            if _QUESTION.match(told, match.end()):
                continue
            return arrangement, rule
    return Arrangement.UNKNOWN, "none"


def _is_perk(told: str, match: re.Match[str]) -> bool:
    """Return whether it is only for a part of the year."""
    if "from" not in match[0]:
        return False
    if _PERK_AFTER.match(told, match.end()):
        return True
    return _PERK.search(told, max(0, match.start() - 90), match.start()) is not None


@cache
def _elsewhere() -> tuple[tuple[Arrangement, re.Pattern[str]], ...]:
    """Return the expressions of other languages. Hybrid is first: its sentences have the words of the others."""
    return tuple(
        (arrangement, re.compile(rf"(?<!\w)(?:{alternatives('arrangement', str(arrangement))})(?!\w)"))
        for arrangement in (Arrangement.HYBRID, Arrangement.REMOTE, Arrangement.ONSITE)
    )


def _said_elsewhere(text: str) -> Arrangement:
    """Return the arrangement in a text of another language; a denial counts first.

    Args:
        text: in lower case.
    """
    denied = _denied_elsewhere().search(text)
    if denied is not None:
        return Arrangement.ONSITE
    for arrangement, pattern in _elsewhere():
        if any(_QUESTION.match(text, said.end()) is None for said in pattern.finditer(text)):
            return arrangement
    return Arrangement.UNKNOWN


@cache
def _denied_elsewhere() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{alternatives('arrangement', 'denied')})(?!\w)")


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


_KINDS: tuple[tuple[str, str], ...] = (
    ("internship", r"intern(?:ship)?\b|praktik|werkstudent|working student|est[aá]gi|stagiaire|alternance|becari"),
    ("part-time", r"part[ _-]?time|teilzeit|temps partiel|medio tiempo|deeltijd"),
    ("contract", r"contract(?:or|ing)?\b(?! (?:management|negotiation|lifecycle|review|manager|admin))|freelanc"
     r"|\b1099\b|\bc2c\b|corp[- ]to[- ]corp|\bw2 only\b|\bb2b contract"),
    ("temporary", r"temporary|fixed[- ]term|befristet|seasonal|\bcdd\b"),
    ("full-time", r"full[ _-]?time|vollzeit|festanstellung|permanent|temps plein|tiempo completo|regular employee"
     r"|\bcdi\b|employee\b|unbefristet"),
)  # fmt: skip
_EMPLOYMENT_FIELD = [(kind, re.compile(pattern)) for kind, pattern in _KINDS]
_EMPLOYMENT_SAID = re.compile(
    r"\b(?:employment|job|position|contract|work|requisition)[ -]?(?:type|status"
    r"|classification)?\s?:\s{0,3}(?P<label>(?:full|part)[ -]?time|contract(?:or)?|temporary"
    r"|freelance|internship|permanent|regular)\b|\b(?P<sentence>full[ -]?time|part[ -]?time|temporary|freelance"
    r"|contract|contract-to-hire|permanent) (?:role|position|job"
    r"|opportunity|employee|employees|employment|basis|contract|engagement|opening|team member)\b"
    r"|\b(?P<length>\d{1,2}\+?[ -]?months? contract)\b"
    r"|\b(?P<word>full-time|vollzeit|festanstellung|1099|c2c)\b"
)
_EMPLOYMENT_WORDS = searched(
    "full-time", "full time", "fulltime", "part-time", "part time", "parttime", "temporary", "freelance", "contract",
    "permanent", "internship", "regular", "vollzeit", "festanstellung", "1099", "c2c",
)  # fmt: skip
_COMMISSION = re.compile(
    r"\b(?:commission[- ](?:only|based only)|100 ?% commission|(?:purely|strictly|straight|solely"
    r"|entirely) (?:on )?commission|commission[- ]only"
    r"|1099 commission|no base (?:salary|pay)|uncapped commission only)\b"
)
_OF_COMMISSION = searched("commission", "no base")
_DENIES = re.compile(r"\b(?:not|isn't|no|never|non)[\s-](?:an? |this is )*$")


def employment_of(posting: Posting, text: str) -> str | None:
    """Return ``full-time``, ``part-time``, ``contract``, ``temporary`` or ``internship``; None: unknown.

    The board's field counts before the title, the title before the text.

    Args:
        text: the description, plain, in lower case.
    """
    for written in (posting.employment_type or "", posting.title[:300]):
        kind = _employment_in(written.lower())
        if kind is not None:
            return kind
    said = _EMPLOYMENT_SAID.search(around(text, _EMPLOYMENT_WORDS, 40, 40))
    if said is None:
        return None
    written = next(group for group in said.groups() if group)
    return _employment_in(written) or "full-time"


def _employment_in(written: str) -> str | None:
    """Return the kind of employment in a few words in lower case."""
    return next((kind for kind, pattern in _EMPLOYMENT_FIELD if written and pattern.search(written)), None)


def is_commission_only(text: str) -> bool:
    """Return whether nothing but commission is paid.

    Args:
        text: plain, in lower case.
    """
    told = around(text, _OF_COMMISSION, 60, 40)
    for match in _COMMISSION.finditer(told):
        if not _DENIES.search(told, max(0, match.start() - 30), match.start()):
            return True
    return False
