"""All that the text of a posting says, in one value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from ramet.jobs.posting import Posting, shallow
from ramet.jobs.text.arrangement import Arrangement, arrangement_of, employment_of, is_commission_only
from ramet.jobs.text.experience import Seniority, is_management, seniority_of, years_of
from ramet.jobs.text.markup import decoded_once, text_of
from ramet.jobs.text.places import Place, places_of, places_of_fields
from ramet.jobs.text.salaries import Salary, salary_of
from ramet.jobs.text.sections import Part, Section, joined, sections_of
from ramet.jobs.text.technologies import FIELDS, canonical_technology, find_alternatives, find_technologies
from ramet.jobs.text.work_area import work_marks

MARKUP_CHARACTERS_MAX = 500_000
TEXT_CHARACTERS_MAX = 100_000
"""Of a description, with and without markup; what is longer is no description, and its rest is not read."""
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
"""From here on a page shows other openings: what they ask for and pay is not of this one."""
_OWN_CHARACTERS_MIN = 500
"""Characters of its own that a page has before them."""
_LINE_MAX = 300
"""Characters of a line on average from which on a text has lost line breaks."""
_ALONE = frozenset(("Remote", "Hybrid", "Onsite"))
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|&(?:#\w{1,6}|[a-zA-Z]{2,8});")
_ADDED = frozenset({"alternatives", "work_from"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What a posting says; what it does not tell is None, unknown or empty.

    Two values may be inferred, and say so: a seniority without a word, an arrangement by the rule ``city``.
    """

    seniority: Seniority
    seniority_word: str | None
    """The word that tells it; None: the years do, or nothing does and it is taken for the middle."""
    arrangement: Arrangement
    arrangement_rule: str
    places: tuple[Place, ...]
    utc_offset: float | None
    """Of the first place that has one, in hours."""
    salary: Salary | None
    years_min: int | None
    years_max: int | None
    technologies: tuple[str, ...]
    """Canonical names; of the title and the text, without what the company tells of itself."""
    required_technologies: tuple[str, ...]
    """Those that stand where the requirements are listed."""
    fields_of_work: tuple[str, ...]
    """Fields of work and ways to work that are named: ``machine learning``, ``microservices``."""
    employment_type: str | None
    """``full-time``, ``part-time``, ``contract``, ``temporary`` or ``internship``."""
    is_management: bool
    requirements: str
    """The text where the requirements are listed."""
    commission_only: bool
    alternatives: tuple[tuple[str, ...], ...] = ()
    """Technologies of which one is enough. One that is also named by itself is a group of its own as well."""
    work_from: tuple[str, ...] = ()
    """From where people may work, as the text says it outright: marks of :mod:`ramet.jobs.text.areas`."""

    def as_json(self) -> dict[str, Any]:
        """A value for JSON, from which :meth:`from_json` makes the same reading."""
        return shallow(self) | {
            "places": [shallow(place) for place in self.places],
            "salary": None if self.salary is None else shallow(self.salary),
        }

    def as_facts(self) -> dict[str, Any]:
        """The same without the requirements and without what is not told: what is stored with a listing."""
        value = self.as_json()
        del value["requirements"]
        value["places"] = [_told(place) for place in value["places"]]
        return _told(value) | {"form": _SPARSE}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Reading:
        """The reading that :meth:`as_json` or :meth:`as_facts` told of.

        Raises:
            ValueError: it is none.
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
"""Marks a reading that leaves out what is not told; one of an older version lacks what was not known then."""
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
        text = _GLUED.sub(_apart, text)
    text = _GLUED_HEADING.sub(_on_a_line, text)
    others = _OTHER_OPENINGS.search(text, _OWN_CHARACTERS_MIN)
    if others is not None:
        text = text[: others.start()]
    lower = text.lower()
    location = decoded_once(posting.location or "")
    places = places_of_fields(posting.places, posting.country) or places_of(location, posting.country)
    sections = sections_of(text, posting.company)
    years_min, years_max = years_of(sections)
    seniority, word = seniority_of(posting.title, lower, years_min)
    arrangement, rule = arrangement_of(posting, lower)
    requirements = joined(sections, Part.REQUIRED)
    required = find_technologies(requirements)
    work = _of_the_work(posting, sections)
    named = _named(posting, work, required)
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


def _apart(word: re.Match[str]) -> str:
    """A word that was glued to the one before, on a line of its own; one that was glued to the next, too."""
    text = word.string
    before, after = text[max(0, word.start() - 1) : word.start()], text[word.end() : word.end() + 1]
    if after.islower():
        return word[0]
    begin = "\n" if before.isalnum() or before in {"]", ")"} else ""
    return begin + word[0] + ("\n" if after.isupper() and word[0] in _ALONE else "")


def _on_a_line(heading: re.Match[str]) -> str:
    """A heading that a sentence ends right before, on a line of its own."""
    before = heading.string[max(0, heading.start() - 1) : heading.start()]
    return f"\n{heading[0]}\n" if before in _ENDS_OF_SENTENCES or before.isalnum() else heading[0]


def _of_the_work(posting: Posting, sections: list[Section]) -> tuple[str, ...]:
    """The texts that tell of the work, without the requirements: not what the company says in praise of itself."""
    told = [section.text for section in sections if section.part not in _NOT_OF_THE_WORK]
    return ("\n".join([posting.title[:300], *told]),)


def _named(posting: Posting, work: Iterable[str], required: Iterable[str]) -> list[str]:
    """Return the fields and technologies of the work, without the company's own name."""
    found = dict.fromkeys([*(name for text in work for name in find_technologies(text)), *required])
    found.pop(canonical_technology(posting.company or ""), None)
    return list(found)


def _alternatives(named: Iterable[str], texts: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The groups of all texts; what one text asks for by itself is asked for, whatever another says."""
    known, groups, alone = set(named), dict[tuple[str, ...], None](), dict[tuple[str, ...], None]()
    for text in texts:
        found = find_alternatives(text)
        groups |= dict.fromkeys(group for group in found if len(group) > 1 and known.issuperset(group))
        grouped = {name for group in found if len(group) > 1 for name in group}
        alone |= {(name,): None for name in find_technologies(text) if name not in grouped or (name,) in found}
    chosen = {name for group in groups for name in group}
    return (*groups, *(one for one in alone if one[0] in chosen))
