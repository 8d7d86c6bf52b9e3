"""Twins by address, by company with title and place, and nearly by text; what may be different stays apart."""

from __future__ import annotations

import itertools

import pytest

from ramet.jobs.matching.duplicates import fingerprint, listing_key, near, text_hash

ONE_PAGE = [
    [
        "https://boards.greenhouse.io/acme/jobs/7?gh_jid=7",
        "https://job-boards.greenhouse.io/acme/jobs/7?gh_src=x&utm_source=y",
        "http://boards.greenhouse.io/acme/jobs/7/",
    ],
    ["https://acme.com/careers?gh_jid=7", "https://www.acme.com/careers/?gh_jid=7&ref=hn#apply"],
    ["https://acme.com/careers?gh_jid=8"],
    ["https://boards.greenhouse.io/embed/job_app?for=acme&token=7"],
    ["https://boards.greenhouse.io/embed/job_app?for=acme&token=8"],
    ["https://jobs.lever.co/acme/0a1b", "https://jobs.lever.co/acme/0a1b/apply?lever-source=LinkedIn"],
    [
        "https://acme.wd5.myworkdayjobs.com/en-US/Site/job/Oslo/Engineer_R1",
        "https://acme.wd5.myworkdayjobs.com/Site/job/Oslo/Engineer_R1",
    ],
    ["https://acme.wd5.myworkdayjobs.com/site/job/Oslo/Engineer_R1"],
    ["https://careers-acme.icims.com/jobs/9/engineer/job?in_iframe=1&hashed=-1", "https://careers-acme.icims.com/jobs/9/engineer/job"],
    ["https://jobs.acme.com/view?jobId=3", "https://jobs.acme.com/view?src=mail&jobId=3"],
    ["https://jobs.acme.com/view?jobId=4"],
    ["https://jobs.acme.com/view?jobId=%FF"],
    ["https://jobs.acme.com/view?jobId=%FE&ref="],
    ["https://acme.com/apply"],
]  # fmt: skip


def test_spellings_of_one_page_have_one_key_and_other_pages_have_others() -> None:
    keys = [{listing_key(url) for url in twins} for twins in ONE_PAGE]
    assert [len(found) for found in keys] == [1] * len(ONE_PAGE)
    assert len(set().union(*keys)) == len(ONE_PAGE)


@pytest.mark.parametrize("twins", ONE_PAGE)
def test_a_key_is_its_own_key(twins: list[str]) -> None:
    assert listing_key(listing_key(twins[0])) == listing_key(twins[0])


@pytest.mark.parametrize("text", ["", "javascript:alert(1)", "http://[x", "\ud800\x00", "https://a.com/" + "a" * 9_000])
def test_what_is_no_address_has_a_key_all_the_same(text: str) -> None:
    key = listing_key(text)
    assert key.startswith("no address:")
    assert listing_key(key) == key
    assert key.isprintable()
    assert len(key) <= 512


def test_a_fingerprint_sees_through_case_punctuation_legal_form_and_order_of_places() -> None:
    mark = fingerprint("Acme, Inc.", "Senior Engineer - Backend", "Remote - USA; Canada")
    assert mark == fingerprint(
        "ACME", "senior engineer, back-end".replace("back-end", "backend"), "Canada; USA, Remote"
    )
    assert len(mark) == 32
    others = [
        fingerprint("Acme", "Senior Engineer - Frontend", "Remote - USA; Canada"),
        fingerprint("Acme", "Senior Engineer - Backend", "Remote - USA"),
        fingerprint("Acmeville", "Senior Engineer - Backend", "Remote - USA; Canada"),
        fingerprint("Acme", "Engineer C++", None),
        fingerprint("Acme", "Engineer C#", None),
    ]
    assert len({mark, *others}) == 6


def test_without_company_or_title_there_is_no_fingerprint() -> None:
    assert fingerprint(None, "Engineer", "Oslo") == ""
    assert fingerprint("Acme", " - ", "Oslo") == ""
    assert fingerprint("", "", None) == ""


def sentences(count: int, seed: int) -> str:
    words = (
        "we build run test ship payments search data tools teams with care at scale for people who need them".split()
    )
    picked = (words[(seed * 31 + n * n * 7 + n * seed) % len(words)] for n in itertools.count())
    return " ".join(itertools.islice(picked, count))


def test_texts_with_a_few_other_words_are_near_and_other_texts_are_not() -> None:
    text = sentences(600, 1)
    slightly = text.replace("payments", "Payments,", 1) + " Apply today."
    assert near(text_hash(text), text_hash(text))
    assert near(text_hash(text), text_hash(slightly))
    assert not near(text_hash(text), text_hash(sentences(600, 2)))
    assert -(1 << 63) <= text_hash(text) < 1 << 63


def test_short_texts_are_never_near() -> None:
    assert text_hash("short " * 30) == 0
    assert text_hash("x" * 500) == 0
    assert not near(0, 0)
    assert not near(text_hash(sentences(600, 1)), 0)


def test_the_number_of_a_text_is_the_same_in_every_process() -> None:
    assert text_hash(sentences(200, 3)) == HASH_OF_A_TEXT


def test_a_text_of_a_megabyte_does_not_overflow_its_votes() -> None:
    one_word = text_hash("a " * 500_000)
    assert one_word == text_hash("a " * 5_000)


HASH_OF_A_TEXT = 3_596_455_626_157_226_615
