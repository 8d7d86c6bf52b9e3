"""Numbers and lists of the filter.

The defaults are neutral: they refuse and punish only what is poor whoever reads it. What is a matter of taste (kinds
of work, levels, salaries, places, how old a listing may be) is empty until a person says it. The age is among these:
a board shows what is open, so an old listing there is no worse than a new one until somebody wants only news.
"""

from __future__ import annotations

from ramet.jobs.section import Section, setting


class StopLists(Section):
    """What is refused before it is fetched."""

    companies: list[str] = setting([], "names of companies that are never looked at")
    domains: list[str] = setting([], "hosts, and all below them, that nothing is fetched from")
    keywords: list[str] = setting([], "texts that no title or address may contain")


class FilterSettings(Section):
    """Hard rejections, and strikes against a threshold. What a listing does not say never counts against it."""

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
