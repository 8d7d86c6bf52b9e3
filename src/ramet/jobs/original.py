"""The settings of the job finder that this pipeline's rules come from: what its names mean in ours.

Its settings are a JSON object of sections (``job-filters``, ``technology-ranks``, ``stop-list`` and others). Sections
and fields that say nothing to this pipeline (its model, its schedule) are left alone; one that does and has a wrong
type is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from ramet.jobs.config.config_file import Document, KeyPath, shown

SECTIONS = ("job-filters", "technology-ranks", "stop-list", "ai-settings", "scheduler-settings", "queue-settings")

Rows = tuple[tuple[str, str], ...]

_LISTS: Rows = (
    ("job-filters.hardRejections.excludedJobTypes", "filter.excluded_job_types"),
    ("job-filters.hardRejections.excludedSeniority", "filter.excluded_seniority"),
    ("job-filters.hardRejections.excludedKeywords", "filter.excluded_keywords"),
    ("job-filters.hardRejections.excludedCompanies", "stop.companies"),
    ("job-filters.qualityStrikes.buzzwords", "filter.buzzwords"),
    ("stop-list.excludedCompanies", "stop.companies"),
    ("stop-list.excludedDomains", "stop.domains"),
    ("stop-list.excludedKeywords", "stop.keywords"),
)
_NUMBERS: Rows = (
    ("job-filters.strikeThreshold", "filter.strike_threshold"),
    ("job-filters.hardRejections.minSalaryFloor", "filter.salary_floor"),
    ("job-filters.salaryStrike.threshold", "filter.salary_below"),
    ("job-filters.salaryStrike.threshold", "profile.salary_wanted"),
    ("job-filters.salaryStrike.points", "filter.salary_points"),
    ("job-filters.experienceStrike.minPreferred", "filter.experience_below"),
    ("job-filters.experienceStrike.points", "filter.experience_points"),
    ("job-filters.qualityStrikes.minDescriptionLength", "filter.description_min"),
    ("job-filters.qualityStrikes.shortDescriptionPoints", "filter.short_description_points"),
    ("job-filters.qualityStrikes.buzzwordPoints", "filter.buzzword_points"),
    ("job-filters.ageStrike.rejectDays", "filter.reject_days"),
    ("job-filters.ageStrike.strikeDays", "filter.strike_days"),
    ("job-filters.ageStrike.points", "filter.age_points"),
    ("technology-ranks.strikes.missingAllRequired", "filter.no_required_technology_points"),
    ("technology-ranks.strikes.perBadTech", "filter.technology_points"),
    ("scheduler-settings.min_match_score", "match.min_score"),
    ("scheduler-settings.target_matches", "run.target_matches"),
    ("scheduler-settings.max_sources", "run.max_sources"),
    ("ai-settings.minMatchScore", "match.min_score"),
    ("ai-settings.portlandOfficeBonus", "match.preferred_office_bonus"),
    ("ai-settings.userTimezone", "profile.utc_offset"),
)
_BOOLEANS: Rows = (
    ("job-filters.enabled", "filter.enabled"),
    ("job-filters.hardRejections.rejectCommissionOnly", "filter.reject_commission_only"),
    ("job-filters.remotePolicy.allowRemote", "filter.allow_remote"),
    ("job-filters.remotePolicy.allowOnsite", "filter.allow_onsite"),
    ("job-filters.remotePolicy.allowOnsite", "filter.allow_hybrid"),
    ("job-filters.remotePolicy.allowHybridPortland", "filter.allow_hybrid_at_office"),
)
_ENABLED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("job-filters.salaryStrike.enabled", ("filter.salary_below",)),
    ("job-filters.experienceStrike.enabled", ("filter.experience_below",)),
    ("job-filters.ageStrike.enabled", ("filter.strike_days",)),
)
"""What a switch turns off: the settings that then have no value. (A refusal by age had no switch.)"""

_IN_CODE = {
    "match.freshness": [[1, 15], [2, 5], [3, 0], [7, -35], [14, -40], [30, -45]],
    "match.freshness_older": -50,
    "match.freshness_unknown": -10,
}
"""Numbers that its users could not set, and that its filter's ages belong to."""
_PREFERS_LARGE = {"large": 10, "small": -5}


class _Taken:
    """Values by our names, each with the place that it comes from."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.values: dict[str, Any] = {}
        self.origins: dict[str, KeyPath] = {}

    def put(self, name: str, value: Any, path: KeyPath) -> None:
        self.values[name] = value
        self.origins[name] = path

    def at(self, dotted: str, wanted: Callable[[Any], bool], give: str) -> tuple[Any, KeyPath]:
        """What the file has at a place, None for nothing; an error where it is not what is wanted."""
        value: Any = self.document.value
        path: KeyPath = ()
        for part in dotted.split("."):
            if not isinstance(value, Mapping):
                raise self.document.error(path, f"{'.'.join(path)} is {shown(value)}: give an object")
            value = value.get(part)
            path = (*path, part)
            if value is None:
                return None, path
        if not wanted(value):
            raise self.document.error(path, f"{dotted} is {shown(value)}: give {give}")
        return value, path


def is_original(value: Mapping[str, Any]) -> bool:
    """Whether a file has sections of that program."""
    return any(section in value for section in SECTIONS)


def from_original(document: Document) -> tuple[dict[str, Any], dict[str, KeyPath]]:
    """What the file says in our names, and where it says it.

    Raises:
        ConfigError: a value has another type than its name needs.
    """
    taken = _Taken(document)
    for rows, wanted, give in (
        (_LISTS, _is_texts, "a list of texts"),
        (_NUMBERS, _is_number, "a number"),
        (_BOOLEANS, lambda value: isinstance(value, bool), "true or false"),
    ):
        for dotted, name in rows:
            value, path = taken.at(dotted, wanted, give)
            if value is not None and rows is _LISTS:
                value = list(dict.fromkeys([*taken.values.get(name, []), *value]))
            if value is not None:
                taken.put(name, value, path)
    for dotted, names in _ENABLED:
        value, path = taken.at(dotted, lambda value: isinstance(value, bool), "true or false")
        if value is False:
            for name in names:
                taken.put(name, None, path)
    _put_seniority(taken)
    _put_technologies(taken)
    _put_preferences(taken)
    return taken.values, taken.origins


def _put_seniority(taken: _Taken) -> None:
    path_of = "job-filters.seniorityStrikes"
    value, path = taken.at(path_of, lambda value: isinstance(value, dict), "an object of points by level")
    if value is not None:
        taken.put("filter.seniority_points", value, path)


def _put_technologies(taken: _Taken) -> None:
    ranked, path = taken.at(
        "technology-ranks.technologies", lambda value: isinstance(value, dict), "an object of technologies"
    )
    if ranked is None:
        return
    usual = taken.values.get("filter.technology_points")
    ranks: dict[str, Any] = {}
    points: dict[str, Any] = {}
    for name, row in ranked.items():
        if not isinstance(row, dict) or "rank" not in row:
            where = f"{'.'.join(path)}.{name}"
            raise taken.document.error((*path, name), f'{where} is {shown(row)}: give {{"rank": …, "points": …}}')
        ranks[name] = row["rank"]
        if row["rank"] == "strike" and row.get("points") not in (None, usual):
            points[name] = row["points"]
    taken.put("profile.technologies", ranks, path)
    if points:
        taken.put("profile.technology_points", points, path)


def _put_preferences(taken: _Taken) -> None:
    """What follows from several of its fields: the profile's name, place and wishes."""
    value = taken.document.value
    where: KeyPath = next(((section,) for section in SECTIONS if section in value), ())
    taken.put("profile.name", PurePath(taken.document.name).stem or "imported", where)
    if "filter.allow_hybrid_at_office" in taken.values or "match.preferred_office_bonus" in taken.values:
        taken.put("profile.preferred_city", "Portland", where)
        taken.put("profile.preferred_region", "OR", where)
    if taken.values.get("filter.allow_remote") and taken.values.get("filter.allow_onsite") is False:
        taken.put("profile.arrangements", ["remote"], taken.origins["filter.allow_remote"])
    large, path = taken.at("ai-settings.preferLargeCompanies", lambda found: isinstance(found, bool), "true or false")
    if large is not None:
        taken.put("match.size_points", _PREFERS_LARGE if large else {}, path)
    if "job-filters" in value:
        for name, points in _IN_CODE.items():
            taken.put(name, points, ("job-filters",))


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
