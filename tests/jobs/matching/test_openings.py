"""One opening is one match: folded by company, title and text, whatever arrived first, the best source first."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from ramet.jobs.matching.duplicates import fingerprint, text_hash
from ramet.jobs.matching.openings import ListedOpening, SourceRank, folded, source_rank
from ramet.jobs.settings import ListingSettings

BITS = ListingSettings().near_bits
WORDS = "we build run test ship payments search data tools teams with care at scale for people who need them".split()


def text(seed: int, count: int = 300) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))


def listed(
    number: int, place: str | None = "Remote", *, description: str = "", company: str = "Acme", title: str = "Engineer",
    site: str = "a", same_as: str | None = None, closed: bool = False,
) -> ListedOpening:  # fmt: skip
    columns: tuple[Any, ...] = (
        company, title, fingerprint(company, title, place), text_hash(description), same_as, 1.0 if closed else None,
    )  # fmt: skip
    return ListedOpening.of(f"https://{site}.example/{number}", columns)


def groups(*items: ListedOpening) -> set[frozenset[str]]:
    found = folded(items, lambda one: one, BITS)
    assert sorted(one.listing_id for group in found for one in group) == sorted(one.listing_id for one in items)
    return {frozenset(one.listing_id.rpartition("/")[2] for one in group) for group in found}


def test_on_its_board_on_an_aggregator_posted_again_and_in_several_places_it_is_one() -> None:
    one, slightly = text(1), f"{text(1).replace('payments', 'Payments,', 1)} Apply today."
    found = groups(
        listed(1, "Remote", description=one),
        listed(2, "Anywhere in the World", description=one, site="wwr"),
        listed(3, "Remote", description=slightly),
        listed(4, "Berlin, Germany", description=one),
    )
    assert found == {frozenset("1234")}


def test_other_companies_titles_and_texts_stay_apart() -> None:
    found = groups(
        listed(1, description=text(1)),
        listed(2, description=text(1), company="Acmeville"),
        listed(3, description=text(1), title="Engineer, Payments"),
        listed(4, description=text(2)),
        listed(5, description=text(1), company=""),
        listed(6, description=text(1), company=""),
    )
    assert found == {frozenset(name) for name in "123456"}


def test_without_long_texts_the_place_decides_between_sites_and_not_on_one() -> None:
    assert groups(listed(1), listed(2, site="b")) == {frozenset("12")}
    assert groups(listed(1), listed(2)) == {frozenset("1"), frozenset("2")}
    assert groups(listed(1), listed(2, closed=True)) == {frozenset("12")}
    assert groups(listed(1), listed(2, "Oslo", site="b")) == {frozenset("1"), frozenset("2")}
    # An aggregator that cuts texts: near no more, the same place.
    assert groups(listed(1, description=text(1)), listed(2, description=text(1, 40), site="b")) == {frozenset("12")}


def test_what_was_found_to_be_a_duplicate_is_of_its_opening() -> None:
    assert groups(listed(1), listed(2, "Oslo", title="Other", same_as="https://a.example/1")) == {frozenset("12")}


def test_groups_do_not_depend_on_the_order() -> None:
    items = [
        listed(1, description=text(1)), listed(2, "Oslo", description=text(1)), listed(3, "Oslo", site="b"),
        listed(4, "Oslo", description=text(1), site="c"), listed(5, description=text(9)),
    ]  # fmt: skip
    found = {frozenset(groups(*some)) for some in itertools.permutations(items)}
    assert found == {frozenset({frozenset("1234"), frozenset("5")})}


@pytest.mark.parametrize(
    ("url", "company", "rank"),
    [
        ("https://careers.acme.com/jobs/1", "Acme, Inc.", SourceRank.OWN),
        ("https://www.acme.co.uk/jobs/1", "Acme", SourceRank.OWN),
        ("https://acmelabs.io/jobs/1", "Acme", SourceRank.OWN),
        ("https://boards.greenhouse.io/acme/jobs/1", "Acme", SourceRank.VENDOR),
        ("https://jobs.lever.co/acme/0a1b", "Acme", SourceRank.VENDOR),
        ("https://jobs.example.com/1", "Acme", SourceRank.OTHER),
        ("https://jobs.example.com/1", None, SourceRank.OTHER),
        ("https://weworkremotely.com/remote-jobs/acme-engineer", "Acme", SourceRank.AGGREGATOR),
        ("https://www.linkedin.com/jobs/view/1", "LinkedIn", SourceRank.AGGREGATOR),
        ("no address: x", "Acme", SourceRank.OTHER),
        ("http://[x", "Acme", SourceRank.OTHER),
    ],
)
def test_the_companys_own_site_comes_before_vendors_and_those_before_aggregators(
    url: str, company: str | None, rank: SourceRank
) -> None:
    assert source_rank(url, company) is rank


def test_many_listings_of_one_company_and_title_are_folded_in_a_moment() -> None:
    items = [listed(number, str(number), description=text(number % 7)) for number in range(700)]
    assert len(groups(*items)) == 7
