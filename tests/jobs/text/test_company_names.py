"""Keys of company names: any script, without the legal form, and never a part of a name for the whole."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.text.company_names import company_name_key, same_company
from tests.jobs.corpus import corpus_file


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Acme Corp", "acme"),
        ("  Acme  ,  Inc.  ", "acme"),
        ("ＡＣＭＥ", "acme"),
        ("Nestle\u0301", "nestlé"),
        ("ﬁnance", "finance"),
        ("İstanbul Tekstil", "istanbul tekstil"),
        ("日本電産株式会社", "日本電産"),
        ("㈱リクルート", "リクルート"),
        ("삼성전자 주식회사", "삼성전자"),
        ("ООО Яндекс", "яндекс"),
        ("हिन्दी", "हिन्दी"),
        ("Foo GmbH & Co. KG", "foo"),
        ("Bar S.p.A.", "bar"),
        ("Allegro sp. z o.o.", "allegro"),
        ("Grupo Bimbo, S.A.B. de C.V.", "grupo bimbo"),
        ("Novo Nordisk A/S", "novo nordisk"),
        ("Škoda Auto a.s.", "škoda auto"),
        ("McDonald’s", "mcdonalds"),
        ("AT&T Inc.", "at and t"),
        ("The Home Depot", "home depot"),
        ("MongoDB Careers", "mongodb"),
        # What is all form, all article or all punctuation stays a name.
        ("The Company", "the company"),
        ("GmbH", "gmbh"),
        ("!!!", "!!!"),
        ("", ""),
        (None, ""),
    ],
)
def test_a_key_is_the_name_without_its_legal_form(name: str | None, key: str) -> None:
    assert company_name_key(name) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [("Škoda", "Koda"), ("Żubr", "Zubr"), ("Ėmė", "Eme"), ("Ġenerali", "Generali"), ("Scale AI", "Scale")],
)
def test_names_that_differ_by_a_letter_of_their_own_have_two_keys(one: str, other: str) -> None:
    assert company_name_key(one) != company_name_key(other)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Meta", "Metabase", False),
        ("Meta Platforms, Inc.", "meta platforms", True),
        ("Git Lab", "GitLab Inc.", True),
        ("Northwind Robotics", "Northwind Robotic", True),
        ("Studio 54 Entertainment", "Studio 55 Entertainment", False),
        ("Generali", "Ġenerali", False),
        ("日本電産", "日本電産株式会社", True),
        ("Acme", "", False),
        ("", "", False),
    ],
)
def test_two_names_are_one_company_when_hardly_anything_differs(one: str, other: str, same: bool) -> None:
    assert same_company(one, other) is same
    assert same_company(other, one) is same


@given(st.text(max_size=300))
def test_a_key_is_its_own_key_in_every_form_of_its_letters(name: str) -> None:
    key = company_name_key(name)
    assert company_name_key(unicodedata.normalize("NFD", name[:100])) == company_name_key(
        unicodedata.normalize("NFC", name[:100])
    )
    assert key == key.strip()
    if any(character.isalnum() for character in name[:100]):
        assert key


def test_a_huge_name_costs_nothing() -> None:
    assert not same_company("a. " * 500_000, "b. " * 500_000)


def test_every_recorded_name_has_a_key_of_its_own_but_for_two_spellings_of_one() -> None:
    cases = json.loads(corpus_file("companies/company_name_keys.json").read_text(encoding="utf-8"))["cases"]
    names = [case["input"] for case in cases]
    keys: dict[str, list[str]] = {}
    for name in names:
        if name:
            keys.setdefault(company_name_key(name), []).append(name)
    shared = sorted(
        tuple(sorted(unicodedata.normalize("NFC", name) for name in group)) for group in keys.values() if len(group) > 1
    )
    assert shared == [("  Acme  ,  Inc.  ", "Acme Corp", "ＡＣＭＥ"), ("Nestlé", "Nestlé")]
    assert "" not in keys


def test_what_a_board_puts_behind_a_recorded_name_is_no_part_of_it() -> None:
    rows = json.loads(corpus_file("companies/original_companies.json").read_text(encoding="utf-8"))
    assert len(rows) == 19
    for row in rows:
        assert same_company(row["name"], row["name"].removesuffix(" Careers")), row["name"]
