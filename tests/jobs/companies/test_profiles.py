"""The rules on recorded profiles. The bounds lie below the figures, so that a rule may change and not get much worse.

The figures themselves: ``python -m tests.jobs.companies.report``.
"""

from __future__ import annotations

from functools import cache

from tests.jobs.companies.recorded_profiles import Report, read_profiles, reported
from tests.jobs.corpus import corpus_file


@cache
def report() -> Report:
    return reported(read_profiles(corpus_file("companies/profiles_dev.jsonl")))


def test_most_profiles_agree_on_remote_first() -> None:
    assert report().profiles == 130
    # About a fifth of the profiles are sorted by something that their text does not say.
    assert report().remote_right >= 88
    assert report().remote_precision >= 0.7


def test_a_size_is_found_where_one_is_told_and_fits_its_class() -> None:
    assert report().size_found >= 115
    assert report().size_agrees >= 0.92 * report().size_found


def test_languages_are_those_of_the_profile() -> None:
    tags = report().tags
    assert tags["both"] >= 0.9 * (tags["both"] + tags["more"])
    assert tags["both"] >= 0.85 * (tags["both"] + tags["missed"])
