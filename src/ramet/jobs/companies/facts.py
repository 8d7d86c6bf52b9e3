"""What is known of a company, and whether that is enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from ramet.jobs.companies_settings import CompanySettings
from ramet.jobs.text.places import Place

JSON_LD, META, HEADINGS, PARAGRAPHS, PATTERN, GIVEN = "json-ld", "meta", "headings", "paragraphs", "pattern", "given"
"""What made a field, but for a model (``model:NAME``). `GIVEN`: whoever asked for the company told it."""

TEXTS = ("about", "culture", "mission", "size", "headquarters_location", "industry", "founded")
"""Fields of text that a model may fill."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page of a company's website."""

    url: str
    """After redirects."""
    html: str


@dataclass(frozen=True, slots=True)
class CompanyFacts:
    """What its own pages tell of a company. None, False or empty: they do not."""

    name: str | None = None
    about: str | None = None
    culture: str | None = None
    mission: str | None = None
    size: str | None = None
    """As its pages put it: ``51-200 employees``."""
    company_size_category: str | None = None
    """``large``, ``medium`` or ``small``."""
    headquarters_location: str | None = None
    industry: str | None = None
    founded: str | None = None
    """A year."""
    tech_stack: tuple[str, ...] = ()
    """Canonical names, the most mentioned first."""
    remote_first: bool = False
    ai_ml: bool = False
    offices: tuple[Place, ...] = ()
    """The head office among them."""
    methods: dict[str, str] = field(default_factory=dict)
    """Field -> what made it: ``json-ld``, ``meta``, ``headings``, ``paragraphs``, ``pattern``, ``given`` or
    ``model:NAME``. Fields that nothing made are not in it."""
    evidence: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What speaks for ``remote_first`` and ``ai_ml``, as it stands on the pages."""

    def as_json(self) -> dict[str, Any]:
        """A value for JSON, from which :meth:`from_json` makes the same facts."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CompanyFacts:
        """The facts that :meth:`as_json` told of.

        Raises:
            ValueError: it is none.
        """
        try:
            told = {item.name: value[item.name] for item in fields(cls)}
            told["tech_stack"] = tuple(told["tech_stack"])
            told["offices"] = tuple(Place(**place) for place in told["offices"])
            told["methods"] = dict(told["methods"])
            told["evidence"] = {name: tuple(texts) for name, texts in told["evidence"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no facts of a company: {error!r}") from error
        return cls(**told)


class Completeness(StrEnum):
    """How much a record has of what makes it useful."""

    NONE = "none"
    MINIMAL = "minimal"
    GOOD = "good"


def completeness(
    name: str | None, website: str | None, about: str | None, culture: str | None, settings: CompanySettings
) -> Completeness:
    """Good: name, website, a good about and a good culture text; minimal: name, website and some of one of the two."""
    if not (name or "").strip() or not (website or "").strip():
        return Completeness.NONE
    about_length, culture_length = _length(about), _length(culture)
    if about_length > settings.about_good and culture_length > settings.culture_good:
        return Completeness.GOOD
    if about_length > settings.about_min or culture_length > settings.culture_min:
        return Completeness.MINIMAL
    return Completeness.NONE


def missing_for_good(facts: CompanyFacts, settings: CompanySettings) -> list[str]:
    """The fields that a model may fill: about and culture where they are too short to be good.

    Nothing is missing when both are good. When one is not, a model has to read the pages anyway, and every other text
    that nothing was found for is on the list as well.
    """
    short = []
    if _length(facts.about) <= settings.about_good:
        short.append("about")
    if _length(facts.culture) <= settings.culture_good:
        short.append("culture")
    if not short:
        return []
    return short + [name for name in TEXTS if name not in {"about", "culture"} and not getattr(facts, name)]


def _length(text: str | None) -> int:
    return len((text or "").strip())
