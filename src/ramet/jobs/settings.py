"""Sections of settings: typed numbers, each a row of the engine's settings table that can be changed at run time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from ramet.fetch import settings as fetch


class Section(BaseModel):
    """Settings that belong together. Its fields are made by :func:`setting`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


def setting(default: Any, description: str, unit: str = "", **bounds: Any) -> Any:
    """Return a field of a section.

    Args:
        description: its effect, for `ramet settings list`: a few words, no full stop.
        unit: unit of a number: ``points``, ``characters``, ``days``.
        bounds: pydantic's ``ge``, ``le``, ``pattern`` and so on.
    """
    extra: JsonDict = {"unit": unit}
    if isinstance(default, list | dict):
        return Field(default_factory=default.copy, description=description, json_schema_extra=extra, **bounds)
    return Field(default=default, description=description, json_schema_extra=extra, **bounds)


Rank = Literal["required", "ok", "strike", "fail"]
"""Rank of a technology for a person: looked for, fine, unwelcome, out of the question."""
Level = Literal["junior", "mid", "senior", "staff", "principal", "lead"]
Way = Literal["remote", "hybrid", "onsite"]


def _country(written: str) -> str:
    # The names are read when one is given: every command imports this module.
    from ramet.jobs.text.places import country_code

    if written.strip() and country_code(written) is None:
        raise PydanticCustomError("country", "a country by its name or ISO 3166 code, such as Germany or DE")
    return written


def _permit(written: str) -> str:
    from ramet.jobs.text.areas import areas
    from ramet.jobs.text.places import country_code

    if country_code(written) is None and written.strip().lower() not in areas():
        raise PydanticCustomError("country", "a country by its name or ISO 3166 code, or European Union")
    return written


Country = Annotated[str, AfterValidator(_country)]
"""Name or ISO 3166 code of a country; empty: it is open."""
Permit = Annotated[str, AfterValidator(_permit)]
"""A country, or a part of the world such as ``European Union``."""


class Profile(Section):
    """Skills, wishes and refusals of a person. Each may be left open; an open field neither adds nor takes points."""

    name: str = setting("", "of the profile, for people; empty: there is none, and nothing is scored as if there were")
    technologies: dict[str, Rank] = setting({}, "rank by technology: required, ok, strike or fail")
    technology_points: dict[str, float] = setting(
        {}, "strikes for a technology, where those of its rank are not meant", "strikes"
    )
    titles: list[str] = setting([], "words of titles that are wanted")
    seniority: list[Level] = setting([], "wanted: junior, mid, senior, staff, principal, lead")
    arrangements: list[Way] = setting([], "wanted: remote, hybrid, onsite")
    experience_years: float | None = setting(None, "years of experience", "years", ge=0)
    preferred_city: str = setting("", "where an office is preferred")
    preferred_region: str = setting("", "its state or country, so that no other city of that name is taken for it")
    country: Country = setting("", "where the person lives, by name or ISO 3166 code; empty: places are not compared")
    region: str = setting("", "the state or province of it")
    permits: list[Permit] = setting([], "other countries in which the person may work, or European Union")
    relocate: bool = setting(False, "whether the person would move to another place in which to work")
    utc_offset: float | None = setting(None, "of the person's time zone", "hours", ge=-14, le=14)
    salary_wanted: int | None = setting(None, "that a salary should reach", "a year, in the profile's currency", ge=0)
    currency: str = setting(
        "USD", "of all salaries here; one in another currency is not compared", pattern="^[A-Z]{3}$"
    )

    @property
    def given(self) -> bool:
        """True where the profile was given."""
        return bool(self.name.strip())


class StopLists(Section):
    """Deny lists: companies, hosts and texts that are refused before they are fetched."""

    companies: list[str] = setting([], "names of companies that are never looked at")
    domains: list[str] = setting([], "hosts, and all below them, that nothing is fetched from")
    keywords: list[str] = setting([], "texts that no title or address may contain")


class FilterSettings(Section):
    """Hard rejections, and strikes against a threshold. A fact that a listing does not tell never counts against it."""

    enabled: bool = setting(True, "whether anything but the stop lists is looked at")
    strike_threshold: float = setting(5, "strikes at which a listing is filtered", "strikes", gt=0)

    # Hard rejections
    excluded_job_types: list[str] = setting([], "kinds of work that are out of the question, as titles name them")
    job_types_in_text: bool = setting(True, "look for them in the text too, beside a word of the two lists below")
    hiring_words: list[str] = setting(
        ["hiring", "seeking", "looking for", "recruiting"], "words before a kind of work in a text that offers it"
    )
    role_words: list[str] = setting(
        ["role", "position", "job", "opening", "vacancy"], "words after a kind of work in a text that offers it"
    )
    job_type_reach: int = setting(2, "words that may stand between the two", "words", ge=0, le=10)
    excluded_seniority: list[str] = setting([], "levels that are out of the question, as titles name them")
    wanted_titles_only: bool = setting(False, "refuse titles with none of the profile's words")
    excluded_keywords: list[str] = setting([], "texts that no title or description may contain")
    negations: list[str] = setting(
        ["no", "not", "never", "without", "nor", "none", "isn't", "doesn't", "don't", "won't"],
        "words just before a text that take its meaning back",
    )
    negation_reach: int = setting(3, "words that may stand between the two", "words", ge=0, le=10)
    short_word_max: int = setting(3, "a word of a list that is no longer is looked for in titles only", "letters", ge=0)
    salary_floor: int | None = setting(
        None, "a salary whose upper end is lower is refused", "a year, in the profile's currency", ge=0
    )
    reject_commission_only: bool = setting(False, "refuse what is paid by commission only")
    allow_remote: bool = setting(True, "take remote work")
    allow_hybrid: bool = setting(True, "take hybrid work, wherever the office is")
    allow_hybrid_at_office: bool = setting(True, "take hybrid work at the preferred office")
    allow_onsite: bool = setting(True, "take work on site, wherever that is")
    allow_onsite_at_office: bool = setting(True, "take work on site at the preferred office")
    excluded_places: list[str] = setting([], "refuse listings that are for these places alone, remote or not")
    reject_without_permit: bool = setting(
        True, "refuse what may be done only where the profile may not work; without a country nothing is"
    )
    reject_days: float | None = setting(None, "a listing posted longer ago is refused", "days", ge=0)

    # Strikes
    guess_rules: list[str] = setting(["city"], "rules that only guess an arrangement: the filter does not look at it")
    unsure_rules: list[str] = setting(
        ["phrase"], "rules by which only the text speaks of an arrangement: these strike, others refuse"
    )
    arrangement_points: float = setting(
        2, "for an arrangement that is not taken, where only the text speaks of it", "strikes", ge=0
    )
    salary_below: int | None = setting(
        None, "a salary whose upper end is lower is a strike", "a year, in the profile's currency", ge=0
    )
    salary_points: float = setting(2, "for such a salary", "strikes", ge=0)
    experience_below: float | None = setting(None, "fewer years asked for are a strike", "years", ge=0)
    experience_points: float = setting(1, "for so few years", "strikes", ge=0)
    experience_over_points: float = setting(0, "for more years than the profile has", "strikes", ge=0)
    seniority_points: dict[str, float] = setting(
        {}, "by level as titles name it; the first that fits counts", "strikes"
    )
    technology_points: float = setting(2, "for each technology of rank strike", "strikes", ge=0)
    no_required_technology_points: float = setting(
        1, "for a text that names none of the technologies of rank required", "strikes", ge=0
    )
    missing_primary_points: float = setting(
        0, "for each technology of title or requirements that the profile lacks", "strikes", ge=0
    )
    missing_other_points: float = setting(0, "for each other technology that the profile lacks", "strikes", ge=0)
    description_min: int = setting(200, "a shorter text is a strike", "characters", ge=0)
    short_description_points: float = setting(1, "for such a text", "strikes", ge=0)
    buzzwords: list[str] = setting([], "words that speak against a text; the first found counts")
    buzzword_points: float = setting(1, "for such a word", "strikes", ge=0)
    strike_days: float | None = setting(None, "a listing posted longer ago has a strike", "days", ge=0)
    age_points: float = setting(1, "for such an age", "strikes", ge=0)


Step = Annotated[list[float], Field(min_length=2, max_length=2)]
"""A bound and the points up to it, the bound included."""


class MatchSettings(Section):
    """Which scores are matches, and what adds and takes points."""

    min_score: float = setting(80, "a listing below this score is skipped", "points", ge=0, le=100)
    preferred_office_min_score: float = setting(
        65, "the same where the preferred office is found", "points", ge=0, le=100
    )
    high_priority: float = setting(85, "from this score on a match has priority High", "points", ge=0, le=100)
    medium_priority: float = setting(70, "from this score on a match has priority Medium", "points", ge=0, le=100)
    preferred_office_bonus: float = setting(15, "for a listing at the preferred office", "points")
    base: float = setting(50, "where a score starts", "points", ge=0, le=100)

    # Technologies
    title_weight: float = setting(2, "of a technology that the title names", "times", ge=0)
    requirement_weight: float = setting(1.5, "of a technology that the requirements name", "times", ge=0)
    ok_credit: float = setting(0.7, "of a technology of rank ok; one of rank required has 1", "share", ge=0, le=1)
    skill_bonus_max: float = setting(30, "for technologies that all are the profile's", "points", ge=0)
    skill_penalty_max: float = setting(20, "taken for technologies of which none is the profile's", "points", ge=0)
    skill_full_share: float = setting(0.4, "share of the technologies that is as good as all", "share", gt=0, le=1)
    skill_doubt: float = setting(
        4, "weight that is added to that of all technologies, since few say little", "technologies", ge=0
    )
    skill_weight_max: float = setting(
        8,
        "weight of all technologies at most, so that a long list does not count against a listing",
        "technologies",
        gt=0,
    )
    strike_skill_penalty: float = setting(3, "taken for each technology of rank strike", "points", ge=0)
    strike_skill_penalty_max: float = setting(9, "taken for them at most", "points", ge=0)
    company_skill_bonus: float = setting(
        5, "where the text names no technology and the company's are the profile's", "points"
    )

    # Wishes
    title_bonus: float = setting(10, "for a title with a wanted word", "points", ge=0)
    title_role_bonus: float = setting(5, "for a title with the role of a wanted one and no other word", "points", ge=0)
    title_related_penalty: float = setting(
        5, "taken for a title with the role or the field of a wanted one, and another speciality", "points", ge=0
    )
    title_penalty: float = setting(15, "taken for a title with none", "points", ge=0)
    seniority_bonus: float = setting(5, "for a wanted level", "points", ge=0)
    seniority_step_penalty: float = setting(6, "taken for each level away from a wanted one", "points", ge=0)
    experience_penalty: float = setting(2, "taken for each year asked for that the profile lacks", "points", ge=0)
    experience_penalty_max: float = setting(10, "taken for them at most", "points", ge=0)
    arrangement_bonus: float = setting(5, "for a wanted arrangement", "points", ge=0)
    arrangement_penalty: float = setting(10, "taken for another one, but at the preferred office", "points", ge=0)
    salary_bonus: float = setting(5, "for a salary that reaches what is wanted", "points", ge=0)
    salary_penalty_max: float = setting(15, "taken for a lower one, all of it at a half", "points", ge=0)
    time_zone: list[Step] = setting(
        [[0, 5], [2, -2], [4, -5], [8, -10]], "pairs: hours apart at most, points", "hours, points"
    )
    time_zone_far: float = setting(-15, "for more hours apart", "points")
    here_bonus: float = setting(5, "where it is said that one may work from where the person lives", "points", ge=0)
    move_penalty: float = setting(10, "taken where one would have to move to be allowed to do it", "points", ge=0)
    size_points: dict[str, float] = setting({}, "by company size: large, medium, small", "points")
    tier_points: dict[str, float] = setting({"S": 5, "A": 3}, "by tier of the company: S, A, B, C, D", "points")

    # Caps: the most that a score can be, whatever else fits
    internship_cap: float = setting(40, "of an internship, where none is wanted", "points", ge=0, le=100)
    level_cap: float = setting(60, "of a title two levels or more from a wanted one", "points", ge=0, le=100)
    arrangement_cap: float = setting(65, "of another arrangement, but at the preferred office", "points", ge=0, le=100)
    move_cap: float = setting(
        84, "of a place to which the person would have to move, and would", "points", ge=0, le=100
    )
    doubted_cap: float = setting(
        75, "of a text without a place whose benefits are those of a country without a permit", "points", ge=0, le=100
    )
    elsewhere_cap: float = setting(60, "of such a place where the person would not move", "points", ge=0, le=100)
    other_title_cap: float = setting(
        75, "of a title of another profession than the wanted ones", "points", ge=0, le=100
    )
    other_work_cap: float = setting(
        0, "of such a title where none of the technologies is the profile's either", "points", ge=0, le=100
    )
    no_skill_cap: float = setting(
        65, "of a text with technologies of which none is the profile's", "points", ge=0, le=100
    )
    salary_caps: list[Step] = setting(
        [[0.05, 90], [0.2, 84], [0.35, 75]],
        "pairs: share by which the pay is below the wish at most, points",
        "share, points",
    )
    salary_cap_far: float = setting(65, "of a lower pay", "points", ge=0, le=100)
    old_days: float = setting(30, "a listing posted longer ago has a cap", "days", ge=0)
    old_cap: float = setting(84, "of such a listing", "points", ge=0, le=100)

    # Freshness
    freshness: list[Step] = setting(
        [[1, 5], [3, 3], [7, 0], [14, -3], [30, -6]], "pairs: days since it was posted at most, points", "days, points"
    )
    freshness_older: float = setting(-10, "for a listing posted longer ago", "points")
    freshness_unknown: float = setting(0, "for a listing without a date", "points")


class ListingSettings(Section):
    """When a listing's record is good enough, and when two texts are nearly one."""

    description_min: int = setting(100, "a description longer than this is one", "characters", ge=0)
    text_max: int = setting(100_000, "of a description, of which no more is kept", "characters", ge=1_000, le=150_000)
    near_text_min: int = setting(200, "a text that is no longer is not compared with others", "characters", ge=0)
    near_bits: int = setting(4, "bits of 64 in which nearly equal texts differ at most", "bits", ge=0, le=32)


class CompanySettings(Section):
    """Completeness, priority and tiers of companies."""

    about_min: int = setting(50, "an about text longer than this makes a record minimal", "characters", ge=0)
    about_good: int = setting(100, "an about text longer than this is good", "characters", ge=0)
    culture_min: int = setting(25, "a culture text longer than this makes a record minimal", "characters", ge=0)
    culture_good: int = setting(50, "a culture text longer than this is good", "characters", ge=0)
    fresh_days: float = setting(30, "a good record younger than this is not made again", "days", ge=0)
    text_max: int = setting(2_000, "of an about, culture or mission text, as much is kept", "characters", ge=100)
    size_large: int = setting(10_000, "from this number on a company is large", "employees", ge=1)
    size_small: int = setting(100, "below this number a company is small", "employees", ge=1)
    remote_evidence_min: int = setting(3, "of evidence on its pages make a company remote-first", "points", ge=1)
    ai_ml_evidence_min: int = setting(4, "of evidence on its pages make machine learning its focus", "points", ge=1)
    preferred_office_bonus: float = setting(50, "for an office at the preferred place", "points")
    tech_stack_max: float = setting(100, "for technologies, at most", "points", ge=0)
    technology_points: dict[str, float] = setting(
        {"required": 20, "ok": 5, "strike": -10, "fail": -40},
        "by rank in the profile: required, ok, strike, fail",
        "points",
    )
    remote_first_bonus: float = setting(15, "for a remote-first culture", "points")
    ai_ml_bonus: float = setting(10, "for a focus on machine learning", "points")
    tier_s: float = setting(150, "from this score on a company is of tier S", "points")
    tier_a: float = setting(100, "from this score on a company is of tier A", "points")
    tier_b: float = setting(70, "from this score on a company is of tier B", "points")
    tier_c: float = setting(50, "from this score on a company is of tier C, below it of D", "points")


class SourceSettings(Section):
    """Rules for the scrape of a source."""

    spawn_batch: int = setting(2_000, "listings of one checkpoint", "listings", ge=1, le=5_000)
    few_openings: int = setting(5, "a board that never had more may become empty", "openings", ge=0)
    empty_runs: int = setting(3, "runs in a row after which such an empty board is believed", "runs", ge=1)
    pages_max: int = setting(500, "pages of one run", "pages", ge=1)
    known_share: float = setting(
        0.8, "a page with at least this share of known listings counts as known", "share", ge=0, le=1
    )
    known_pages: int = setting(
        2, "known pages in a row after which a newest-first board has no more news", "pages", ge=1
    )
    closed_after_days: float = setting(3, "a listing that its board does not show for so long is closed", "days", ge=0)


class RunSettings(Section):
    """Limits of one run."""

    target_matches: int = setting(5, "matches after which a run takes on no further source", "matches", ge=1)
    max_sources: int = setting(20, "sources of one run", "sources", ge=1)
    sources_at_once: int = setting(4, "sources that a run scrapes side by side", "sources", ge=1)
    busy_seconds: float = setting(
        180, "a server that is busy for longer, or asks for more, is left to the next run", "seconds", ge=0
    )
    max_fan_out: int = setting(20_000, "listings that one source may yield in a run", "listings", ge=1)
    max_tasks: int = setting(100_000, "tasks that one run may create", "tasks", ge=1)


class FetchSettings(fetch.FetchSettings, Section):
    """Limits of requests to servers."""

    page_bytes_max: int = setting(5 * 1024 * 1024, "of one page, decoded", "bytes", ge=1024)
    list_bytes_max: int = setting(32 * 1024 * 1024, "of one answer of a board's list, decoded", "bytes", ge=1024)
    user_agent: str = setting(
        "ramet-jobs",
        "sent with every request, and looked for in robots.txt by its first word; say how to reach you",
        pattern=r"^[!-~][ -~]{0,199}$",
    )


class ModelSettings(Section):
    """Which language model helps, and what it may cost. The key is in the environment, never here."""

    provider: Literal["openai", "anthropic"] = setting(
        "openai", "openai, for OpenAI and every server that speaks its API, or anthropic"
    )
    base_url: str = setting("", "of a server of one's own that speaks the provider's API; empty: the provider's own")
    cheap: str = setting("", "model that reads pages and postings; empty: none, rules only")
    expensive: str = setting("", "model that explains and adjusts scores; empty: none")
    key_env: str = setting(
        "", "name of the environment variable that has the key; empty: OPENAI_API_KEY or ANTHROPIC_API_KEY"
    )
    price: str = setting("", "of both models, IN:OUT in dollars per million tokens, where the price list has none")
    max_cost: int = setting(1_000_000_000, "that one run may spend on models", "nano-dollars", ge=0)
    adjust_max: float = setting(10, "that a model may add to or take from a score", "points", ge=0, le=100)
    reach: float = setting(15, "a score so far below its threshold is not worth a model's word", "points", ge=0, le=100)
    text_max: int = setting(12_000, "of a page or posting, of which no more is sent", "characters", ge=500, le=200_000)
    output_tokens: int = setting(1_200, "that an answer may have", "tokens", ge=100, le=32_000)
    retries: int = setting(2, "of a call that did not arrive", "retries", ge=0, le=10)
    redact: bool = setting(True, "leave e-mail addresses and phone numbers out of what is sent")

    @property
    def key_variable(self) -> str:
        """Name of the environment variable that has the key."""
        return self.key_env or f"{self.provider.upper()}_API_KEY"

    @property
    def reads(self) -> bool:
        """True where a model reads pages."""
        return bool(self.cheap)

    @property
    def judges(self) -> bool:
        """True where a model explains scores."""
        return bool(self.expensive)


PREFIX = "jobs."


REFUSING = ("profile", "stop", "filter")
"""Sections by which openings are refused or left unscored."""
JUDGING = (*REFUSING, "match", "company")
"""Sections that the verdicts on listings hang on; the last by the tiers and sizes of companies."""


class JobsSettings(BaseModel):
    """Settings in force."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: Profile = Field(default_factory=Profile)
    stop: StopLists = Field(default_factory=StopLists)
    filter: FilterSettings = Field(default_factory=FilterSettings)
    match: MatchSettings = Field(default_factory=MatchSettings)
    listing: ListingSettings = Field(default_factory=ListingSettings)
    company: CompanySettings = Field(default_factory=CompanySettings)
    source: SourceSettings = Field(default_factory=SourceSettings)
    run: RunSettings = Field(default_factory=RunSettings)
    fetch: FetchSettings = Field(default_factory=FetchSettings)
    model: ModelSettings = Field(default_factory=ModelSettings)

    def mark(self, sections: Collection[str]) -> str:
        """Return a mark of the values of these sections: 16 hex digits."""
        return blake2b(self.model_dump_json(include={*sections}).encode(), digest_size=8).hexdigest()

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> JobsSettings:
        """Return the settings in force.

        Args:
            stored: values by full name; others than this pipeline's are left alone.

        Raises:
            pydantic.ValidationError: a value is none that its setting can have.
        """
        sections: dict[str, dict[str, Any]] = {}
        for name, value in stored.items():
            if name.startswith(PREFIX):
                section, _, field = name.removeprefix(PREFIX).partition(".")
                sections.setdefault(section, {})[field] = value
        return cls.model_validate(sections)
