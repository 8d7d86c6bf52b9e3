"""All that the text of a posting says, in one value."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, fields
from typing import Any

from ramet.jobs.posting import Posting, shallow
from ramet.jobs.text.arrangement import Arrangement, arrangement_of, employment_of, is_commission_only
from ramet.jobs.text.experience import Seniority, is_management, seniority_of, years_of
from ramet.jobs.text.markup import decoded_once, text_of
from ramet.jobs.text.places import Place, places_of, places_of_fields
from ramet.jobs.text.salaries import Salary, salary_of
from ramet.jobs.text.sections import Part, Section, joined, sections_of
from ramet.jobs.text.technologies import FIELDS, find_alternatives, find_technologies, is_technology, products_of
from ramet.jobs.text.work_area import work_marks

MARKUP_CHARACTERS_MAX = 500_000
TEXT_CHARACTERS_MAX = 100_000
"""Most characters of a description, with and without markup. The rest of a longer text is not read."""
_NOT_OF_THE_WORK = frozenset({Part.ABOUT, Part.OFFERED, Part.REQUIRED})
_GLUED = re.compile(
    r"Location|Work|Job|Opportunity|Employment|Remote|Hybrid|Onsite|Office|CTC|Years|Strong|Solid|Experience|Understanding"
    r"|Knowledge|Familiar(?:ity)?|Proficien(?:cy|t)|Excellent|Good|Ability|Skills|Required|Preferred|Qualifications"
    r"|Hands|Basic|Exposure|Minimum|Nice|Must|Develop|Design|Build|Collaborate|Education|Bachelor|Deep|Proven|Expertise"
)
"""Words that begin a line, or are one, where a text lost its line breaks: ``PuneHybridPurpose``, ``AzureStrong``."""
_GLUED_HEADING = re.compile(
    r"(?:Preferred|Required|Minimum|Basic|Desired) (?:Qualifications|Requirements|Skills|Experience)"
    r"(?=[A-Z\d\u2022\u00b7])"
)
"""A heading between the end of a sentence and the first demand: ``skills.Preferred Qualifications1+ years``."""
_LOST_HEADING = re.compile(
    r"(?:"
    r"(?:(?:Key|Main|Primary|Core|Your|Job|Roles? (?:&|and|And)|Duties (?:&|and|And)) )*Responsibilities"
    r"|(?:(?:Preferred|Required|Minimum|Basic|Desired|Additional|Mandatory|Technical|Educational|Key|Primary"
    r"|Secondary|Must[- ][Hh]ave|(?:Good|Nice)[- ][Tt]o[- ][Hh]ave) )"
    r"(?:(?:Technical|Professional|Soft|[Aa]nd|&) )*"
    r"(?:Qualifications|Requirements|Skills|Experience|Expertise|Criteria)"
    r"|(?:Skills|Experience) (?:[Rr]equired|(?:&|[Aa]nd) Qualifications)"
    r"|Qualifications|Requirements|Eligibility Criteria|Must[- ][Hh]aves?|(?:Good|Nice)[- ][Tt]o[- ][Hh]aves?"
    r"|(?i:about (?:the )?(?:role|job|team|position|company|opportunity)|about (?:us|you)|who (?:we|you) are"
    r"|(?:the|your|our) (?:role|team|impact|profile|tasks|benefits|values|story)"
    r"|(?:job|role|position|company) (?:description|overview|summary)"
    r"|what (?:do )?(?:you|we)(?:['\u2019](?:ll|re|ve))?(?: will)?"
    r" (?:do|need|bring|offer|have|achieve|be doing|looking for|look for|are looking for)(?: to (?:bring|see|succeed))?"
    r"|what sets you apart|ways to stand out|why join(?: us)?|perks(?: (?:&|and) benefits)?|additional information)"
    r")(?:\s?:-?\s?|(?=\s?[\u2022\u00b7-]|[A-Z\d])|\s(?=[A-Z]))"
)
"""A heading in a text that lost its line breaks: ``applications.Must-Have SkillsSwift``, ``role.About us: We``."""
_LOST_UNIT = re.compile(r"(?<=[\d+ ])([Yy](?:ea)?rs?)(?=[A-Z])")
"""The end of a line: ``8 to 10 YearsLocation``."""
_CAMEL = re.compile(r"(?:\b(\w+)[ -])?\b(\w*[a-zA-Z\d+#](?=[A-Z])\w+)")
"""A word with a capital letter inside, and the word before it."""
_NAME_MIN = 2
_PLACE_LINE = re.compile(
    r"^[\W_]*(?:(?:job|work|office|primary) )?(?:locations?|standort|lieu|ubicaci\u00f3n|locatie)[*_ ]{0,3}:[*_ ]{0,4}"
    r"(?!.*\b(?:except|excluding|not)\b)([^\n:]{2,80})$",
    re.MULTILINE | re.IGNORECASE,
)
"""A line that says where the work is, for a posting without a place."""
_TOP = 600
_PLACE = re.compile(r"[A-Z][\w .'-]{1,30}, [A-Z][\w .'-]{1,30}, (?:United States|[A-Z][\w .'-]{1,30})")
"""A line with a city, a state and a country."""
_ENDS_OF_SENTENCES = frozenset(".!?)")
_OTHER_OPENINGS = re.compile(
    r"\n(?:Referrals increase your chances of"
    r"|(?:Similar|Related|Recommended|Other|More) (?:jobs|openings|positions|roles)"
    r"(?: (?:at|from|near|for) .{1,40})?$"
    r"|People also viewed$|Similar Searches$|Explore collaborative articles$"
    r"|(?:\u00c4hnliche|Weitere|Passende) (?:Jobs|Stellen\w*)$"
    r"|(?:Offres|Emplois|Postes) similaires$|(?:Empleos|Ofertas|Trabajos) similares$"
    r"|Vagas (?:semelhantes|similares)$|Vergelijkbare vacatures$|(?:Offerte|Lavori) simili$|Podobne oferty.{0,20}$)",
    re.MULTILINE,
)
"""Heading after which a page shows other openings: their demands and pay are not those of this one."""
_OWN_CHARACTERS_MIN = 500
"""Characters of its own that a page has before them."""
_LINE_MAX = 300
"""Characters of a line on average from which on a text has lost line breaks."""
_ALONE = frozenset(("Remote", "Hybrid", "Onsite"))
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|&(?:#\w{1,6}|[a-zA-Z]{2,8});")
_ADDED = frozenset({"alternatives", "work_from"})


@dataclass(frozen=True, slots=True)
class Reading:
    """Facts that a posting gives; those that it does not give are None, unknown or empty.

    Two values may be inferred, and say so: a seniority without a word, an arrangement by the rule ``city``.
    """

    seniority: Seniority
    seniority_word: str | None
    """The word that gives it; None: the years do, or nothing does and it is taken for the middle."""
    arrangement: Arrangement
    arrangement_rule: str
    places: tuple[Place, ...]
    utc_offset: float | None
    """Hours from UTC of the first place that has an offset."""
    salary: Salary | None
    years_min: int | None
    years_max: int | None
    technologies: tuple[str, ...]
    """Canonical names; of the title and the text, without those that the company tells of itself."""
    required_technologies: tuple[str, ...]
    """Those in the list of requirements."""
    fields_of_work: tuple[str, ...]
    """Fields of work and ways to work that are named: ``machine learning``, ``microservices``."""
    employment_type: str | None
    """``full-time``, ``part-time``, ``contract``, ``temporary`` or ``internship``."""
    is_management: bool
    requirements: str
    """The text of the list of requirements."""
    commission_only: bool
    alternatives: tuple[tuple[str, ...], ...] = ()
    """Technologies of which one is enough. One that is also named by itself is a group of its own as well."""
    work_from: tuple[str, ...] = ()
    """Places from where people may work, as the text states them: marks of :mod:`ramet.jobs.text.areas`."""

    def as_json(self) -> dict[str, Any]:
        """Return a value for JSON, from which :meth:`from_json` makes the same reading."""
        return shallow(self) | {
            "places": [shallow(place) for place in self.places],
            "salary": None if self.salary is None else shallow(self.salary),
        }

    def as_facts(self) -> dict[str, Any]:
        """Return the same without the requirements and without unknown values, as it is stored with a listing."""
        value = self.as_json()
        del value["requirements"]
        value["places"] = [_told(place) for place in value["places"]]
        return _told(value) | {"form": _SPARSE}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Reading:
        """Return the reading that :meth:`as_json` or :meth:`as_facts` wrote.

        Raises:
            ValueError: it is not such a value.
        """
        if value.get("form") == _SPARSE:
            value = _UNTOLD | value
        try:
            # Readings that an older version stored lack the fields that came later.
            told = {
                field.name: value[field.name]
                for field in fields(cls)
                if field.name not in _ADDED or field.name in value
            }
            told["seniority"] = Seniority(told["seniority"])
            told["arrangement"] = Arrangement(told["arrangement"])
            told["places"] = tuple(Place(**place) for place in told["places"])
            told["salary"] = None if told["salary"] is None else Salary(**told["salary"])
            for name in ("technologies", "required_technologies", "fields_of_work", "work_from"):
                told[name] = tuple(told.get(name, ()))
            told["alternatives"] = tuple(tuple(group) for group in told.get("alternatives", ()))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no reading of a posting: {error!r}") from error
        return cls(**told)


_SPARSE = 2
"""Form of a reading without unknown values; one of an older version lacks fields that were added later."""
_UNTOLD: dict[str, Any] = {
    **dict.fromkeys(field.name for field in fields(Reading)), "places": (), "technologies": (),
    "required_technologies": (), "fields_of_work": (), "is_management": False, "commission_only": False,
    "alternatives": (), "work_from": (), "requirements": "",
}  # fmt: skip


def _told(value: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in value.items() if one is not None and one is not False and one not in ((), [])}


def read_posting(posting: Posting) -> Reading:
    """Read a posting by rules. Any text gives a reading; markup left in the description is taken out first."""
    text = decoded_once(posting.description[:MARKUP_CHARACTERS_MAX])
    if _MARKUP.search(text):
        text = text_of(text)
    text = text[:TEXT_CHARACTERS_MAX].replace("\u2011", "-").replace("\u2010", "-")
    if text.count("\n") * _LINE_MAX < len(text):
        text = _with_line_breaks(text)
    text = _GLUED_HEADING.sub(_on_a_line, text)
    others = _OTHER_OPENINGS.search(text, _OWN_CHARACTERS_MIN)
    if others is not None:
        text = text[: others.start()]
    lower = text.lower()
    location = decoded_once(posting.location or "")
    places = places_of_fields(posting.places, posting.country) or places_of(location, posting.country)
    if not location and not places:
        places = _places_in(text)
    sections = sections_of(text, posting.company)
    years_min, years_max = years_of(sections)
    seniority, word = seniority_of(posting.title, lower, years_min)
    arrangement, rule = arrangement_of(posting, lower)
    requirements = joined(sections, Part.REQUIRED)
    required = find_technologies(requirements)
    work = _of_the_work(posting, sections)
    asked = {*required, *find_technologies(joined(sections, Part.PREFERRED))}
    named = _named(posting, work, required, asked)
    return Reading(
        seniority=seniority,
        seniority_word=word,
        arrangement=arrangement,
        arrangement_rule=rule,
        places=places,
        utc_offset=next((place.utc_offset for place in places if place.utc_offset is not None), None),
        salary=salary_of(posting.salary, text, places[0].country if places else None, posting.pay),
        years_min=years_min,
        years_max=years_max,
        technologies=tuple(name for name in named if name not in FIELDS),
        required_technologies=tuple(name for name in named if name in required and name not in FIELDS),
        fields_of_work=tuple(name for name in named if name in FIELDS),
        employment_type=employment_of(posting, lower),
        is_management=is_management(posting.title, lower),
        requirements=requirements,
        commission_only=is_commission_only(lower),
        alternatives=_alternatives(named, (*work, requirements)),
        work_from=work_marks(text, lower),
    )


def _places_in(text: str) -> tuple[Place, ...]:
    """Return the places of a line that says where the work is, or of lines near the top that are places and no more."""
    line = _PLACE_LINE.search(text)
    if line is not None:
        return places_of(line[1])
    alone = [part for part in text[:_TOP].split("\n") if _PLACE.fullmatch(part.strip())]
    found = (place for part in alone for place in places_of(part))
    return tuple(dict.fromkeys(place for place in found if place.city and place.country))


def _with_line_breaks(text: str) -> str:
    """Return a text that lost its line breaks, with those that its words imply."""
    text = _LOST_UNIT.sub(r"\1\n", _LOST_HEADING.sub(_on_a_line, text))
    return _CAMEL.sub(_named_apart, _GLUED.sub(_apart, text))


def _named_apart(word: re.Match[str]) -> str:
    """Return a technology apart from the word glued to it, next or before: ``LinuxExperience``, ``Spring BootIn``."""
    before, glued = word[1], word[2]
    if is_technology(glued):
        return word[0]
    for place in range(len(glued) - 1, _NAME_MIN - 1, -1):
        if not glued[place].isupper():
            continue
        head, tail = glued[:place], glued[place:]
        is_word = tail[1].islower() if len(tail) > 1 else not head.isupper()
        if is_word and (is_technology(head) or (before and is_technology(f"{before} {head}"))):
            return f"{word[0][: -len(tail)]}\n{tail}"
    for place in range(1, len(glued) - 1):
        if glued[place].isupper() and glued[place - 1].islower() and is_technology(glued[place:]):
            return f"{word[0][: -len(glued) + place]}\n{glued[place:]}"
    return word[0]


def _apart(word: re.Match[str]) -> str:
    """Return a word that was glued to the one before on a line of its own; also one that was glued to the next."""
    text = word.string
    before, after = text[max(0, word.start() - 1) : word.start()], text[word.end() : word.end() + 1]
    if after.islower():
        return word[0]
    begin = "\n" if before.isalnum() or before in {"]", ")"} else ""
    return begin + word[0] + ("\n" if after.isupper() and word[0] in _ALONE else "")


def _on_a_line(heading: re.Match[str]) -> str:
    """Return a heading that a sentence ends right before on a line of its own."""
    start = heading.start()
    before = heading.string[max(0, start - 2) : start]
    if heading[0][-1:] != " " or ":" in heading[0]:
        before = before.rstrip(" ") if before[:1] in _ENDS_OF_SENTENCES else before
    is_glued = before[-1:].isalnum() or before[-1:] in _ENDS_OF_SENTENCES
    return f"\n{heading[0].rstrip()}\n" if is_glued else heading[0]


def _of_the_work(posting: Posting, sections: list[Section]) -> tuple[str, ...]:
    """Return the texts about the work, without the requirements and without the company's praise of itself."""
    told = [section.text for section in sections if section.part not in _NOT_OF_THE_WORK]
    return ("\n".join([posting.title[:300], *told]),)


def _named(posting: Posting, work: Iterable[str], required: Iterable[str], asked: Container[str]) -> list[str]:
    """Return the fields and technologies of the work, without what the company makes and does not ask for.

    Args:
        asked: what is asked or wished for, without which nothing of the company's own counts.
    """
    found = dict.fromkeys([*(name for text in work for name in find_technologies(text)), *required])
    for place, product in enumerate(products_of(posting.company or "")):
        if place == 0 or product not in asked:
            found.pop(product, None)
    return list(found)


def _alternatives(named: Iterable[str], texts: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of all texts; a name that one text asks for by itself is asked for, whatever another says."""
    known, groups, alone = set(named), dict[tuple[str, ...], None](), dict[tuple[str, ...], None]()
    for text in texts:
        found = find_alternatives(text)
        groups |= dict.fromkeys(group for group in found if len(group) > 1 and known.issuperset(group))
        grouped = {name for group in found if len(group) > 1 for name in group}
        alone |= {(name,): None for name in find_technologies(text) if name not in grouped or (name,) in found}
    chosen = {name for group in groups for name in group}
    return (*groups, *(one for one in alone if one[0] in chosen))
