"""The listings that a real user of the original kept, under this user's own settings."""

from __future__ import annotations

from ramet.pipelines.jobs.filtering.judging import judge
from tests.pipelines.jobs.scoring.replay import matches, original_settings


def test_none_of_the_kept_listings_is_rejected_outright() -> None:
    settings = original_settings()
    results = [judge(case.posting, case.reading, settings, case.now) for case in matches()]
    assert [result.rejection_summary for result in results if result.hard_rejections] == []
    assert len(results) == 93


def test_most_of_them_pass_the_strikes_too() -> None:
    settings = original_settings()
    passed = [judge(case.posting, case.reading, settings, case.now).passed for case in matches()]
    # Those that do not name Ruby and Rails (2 each) and ask for few years (1): 5, as that user set them.
    assert sum(passed) >= 70
