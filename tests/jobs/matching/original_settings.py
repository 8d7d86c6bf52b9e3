"""The settings of a real user of the job finder that this pipeline's rules come from, in ours.

Only the corpus has that file: nothing of it is copied here.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ramet.jobs.settings import JobsSettings
from tests.jobs.corpus import corpus_file

FRESHNESS = {
    "freshness": [[1, 15], [2, 5], [3, 0], [7, -35], [14, -40], [30, -45]],
    "freshness_older": -50,
    "freshness_unknown": -10,
}
"""Its users could not set these, but its filter's ages belong to them."""


@cache
def original_settings() -> JobsSettings:
    """Return that user's settings."""
    theirs = json.loads(corpus_file("config/original_config.json").read_text(encoding="utf-8"))
    filters, ai, schedule = theirs["job-filters"], theirs["ai-settings"], theirs["scheduler-settings"]
    ranks, hard, stop = theirs["technology-ranks"], filters["hardRejections"], theirs["stop-list"]
    assert ai["preferLargeCompanies"]
    return JobsSettings.model_validate({
        "profile": {
            "name": "original_config",
            "technologies": {name: row["rank"] for name, row in ranks["technologies"].items()},
            "salary_wanted": filters["salaryStrike"]["threshold"],
            "utc_offset": ai["userTimezone"],
            # Its fields are named after this office: `allowHybridPortland`, `portlandOfficeBonus`.
            "preferred_city": "Portland",
            "preferred_region": "OR",
            "arrangements": ["remote"],
        },
        "filter": _filter(filters, ranks["strikes"]),
        "stop": {
            "companies": [*hard["excludedCompanies"], *stop["excludedCompanies"]],
            "domains": stop["excludedDomains"],
            "keywords": stop["excludedKeywords"],
        },
        "match": {
            **FRESHNESS,
            "min_score": ai["minMatchScore"],
            "preferred_office_bonus": ai["portlandOfficeBonus"],
            "size_points": {"large": 10, "small": -5},
        },
        "run": {"target_matches": schedule["target_matches"], "max_sources": schedule["max_sources"]},
    })  # fmt: skip


def _filter(filters: dict[str, Any], strikes: dict[str, Any]) -> dict[str, Any]:
    hard, quality, remote = filters["hardRejections"], filters["qualityStrikes"], filters["remotePolicy"]
    salary, experience, age = filters["salaryStrike"], filters["experienceStrike"], filters["ageStrike"]
    assert [strike["enabled"] for strike in (salary, experience, age)] == [True, True, True]
    return {
        "enabled": filters["enabled"],
        "strike_threshold": filters["strikeThreshold"],
        "seniority_points": filters["seniorityStrikes"],
        "excluded_job_types": hard["excludedJobTypes"],
        "excluded_seniority": hard["excludedSeniority"],
        "excluded_keywords": hard["excludedKeywords"],
        "reject_commission_only": hard["rejectCommissionOnly"],
        "salary_floor": hard["minSalaryFloor"],
        "salary_below": salary["threshold"],
        "salary_points": salary["points"],
        "experience_below": experience["minPreferred"],
        "experience_points": experience["points"],
        "buzzwords": quality["buzzwords"],
        "buzzword_points": quality["buzzwordPoints"],
        "description_min": quality["minDescriptionLength"],
        "short_description_points": quality["shortDescriptionPoints"],
        "reject_days": age["rejectDays"],
        "strike_days": age["strikeDays"],
        "age_points": age["points"],
        "no_required_technology_points": strikes["missingAllRequired"],
        "technology_points": strikes["perBadTech"],
        "allow_remote": remote["allowRemote"],
        "allow_onsite": remote["allowOnsite"],
        "allow_hybrid": remote["allowOnsite"],
        "allow_hybrid_at_office": remote["allowHybridPortland"],
    }
