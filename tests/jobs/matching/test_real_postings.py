"""The listings that a real user of the original kept, under this user's own settings."""

from __future__ import annotations

import json

import pytest

from ramet.jobs.matching.filter import judge
from ramet.jobs.matching.score import score_of
from ramet.jobs.matching.stop_list import title_refusal
from ramet.jobs.posting import Posting
from ramet.jobs.text.posting_text import read_posting
from tests.jobs.corpus import corpus_file
from tests.jobs.matching.original_settings import original_settings
from tests.jobs.matching.real_postings import listings, matches


def test_our_settings_say_all_that_a_real_users_say() -> None:
    settings = original_settings()
    ranks = settings.profile.technologies
    # The original walked the outer object of its ranks and so knew no technology at all.
    assert (len(ranks), ranks["Python"], ranks["C#"], ranks["Go"]) == (26, "required", "strike", "ok")
    assert settings.profile.technology_points == {}
    assert (settings.profile.utc_offset, settings.profile.preferred_city) == (-8, "Portland")
    assert settings.filter.strike_threshold == 5
    assert (settings.filter.salary_floor, settings.filter.salary_below) == (100_000, 150_000)
    assert (settings.filter.reject_days, settings.filter.strike_days) == (7, 1)
    assert settings.filter.seniority_points["mid-level"] == 2
    assert settings.filter.excluded_seniority[0] == "associate"
    assert (settings.filter.allow_onsite, settings.filter.allow_hybrid, settings.filter.allow_remote) == (0, 0, 1)
    assert settings.filter.allow_hybrid_at_office
    assert "security clearance" in settings.stop.keywords
    assert (settings.match.preferred_office_bonus, settings.match.min_score) == (15, 80)
    assert settings.match.size_points == {"large": 10, "small": -5}
    assert (settings.run.target_matches, settings.run.max_sources) == (5, 10)


def test_none_of_the_kept_listings_is_rejected_outright() -> None:
    settings = original_settings()
    results = [judge(case.posting, case.reading, settings, case.now) for case in matches()]
    assert [result.rejection_summary for result in results if result.hard_rejections] == []
    assert len(results) == 93


def test_most_of_them_pass_the_strikes_too() -> None:
    settings = original_settings()
    passed = [judge(case.posting, case.reading, settings, case.now).passed for case in matches()]
    # The others name Ruby and Rails (2 strikes each) and ask for few years (1), which this user's numbers refuse.
    assert sum(passed) >= 70


def test_a_title_is_refused_alone_just_where_the_whole_filter_refuses_it_by_its_title() -> None:
    titles = corpus_file("listings/title_corpus.json").read_text(encoding="utf-8")
    cases = [Posting(url="https://example.org/1", title=row["title"]) for row in json.loads(titles)["titles"]]
    settings = original_settings()
    reading = read_posting(cases[0])
    refused = 0
    for case in cases:
        alone, whole = title_refusal(case, settings), judge(case, reading, settings, 0.0)
        hard = [finding.reason for finding in whole.hard_rejections]
        assert ([alone] if alone else []) == hard, case.title
        refused += alone is not None
    assert 0 < refused < len(cases)


@pytest.mark.parametrize(
    ("name", "refused_by", "office"),
    [
        ("smoke_remote_job", None, False),
        ("smoke_hybrid_portland", None, True),
        ("smoke_onsite_california", "remote_policy", False),
        ("smoke_high_seniority", None, False),
    ],
)
def test_the_originals_own_examples(name: str, refused_by: str | None, office: bool) -> None:
    row = json.loads(corpus_file(f"listings/{name}.json").read_text(encoding="utf-8"))
    fields = {field: row[field] for field in ("title", "company", "location", "description", "url", "salary")}
    case = Posting.model_validate(fields)
    settings = original_settings()
    result = judge(case, read_posting(case), settings, 0.0)
    assert [finding.filter_name for finding in result.hard_rejections] == ([refused_by] if refused_by else [])
    assert score_of(case, read_posting(case), None, settings, 0.0).preferred_office is office


def test_other_listings_are_refused_for_a_reason_that_can_be_told() -> None:
    settings = original_settings()
    for case in listings():
        result = judge(case.posting, case.reading, settings, case.now)
        assert result.passed == (result.rejection_summary == "")
        assert all(finding.detail for finding in (*result.hard_rejections, *result.strikes))
