"""Mentions: whole titles, whatever their case, leftmost and longest; the same answer every time."""

from __future__ import annotations

import random
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("ahocorasick", reason="the extra [wiki] is not installed")

from ramet.wiki.sources.page_source import TitleMatcher

TITLES = ["New York", "New York City", "York", "City", "C++", "K2", "Café", "Straße", "2001: A Space", "1"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ()),
        ("nothing here", ()),
        ("new york", ("New York",)),
        ("In NEW YORK CITY.", ("New York City",)),
        # The longest that begins here does not stand alone; the next shorter one does.
        ("New York cityscape", ("New York",)),
        ("New Yorker", ()),
        ("york, then New York, then york", ("York", "New York")),
        ("Yorks york_ 2york", ()),
        ("K2 and K22 and (k2)", ("K2",)),
        ("C++, c++-like", ("C++",)),
        ("xC++", ()),
        ("cafe\u0301", ("Café",)),
        ("cafes\u0301 cafe", ()),
        ("die STRASSE", ("Straße",)),
        ("2001: a space odyssey", ("2001: A Space",)),
        ("1 of 10", ("1",)),
        ("city\u093f", ()),
    ],
)
def test_a_mention_is_a_whole_title(text: str, found: tuple[str, ...]) -> None:
    assert TitleMatcher(TITLES).find(text) == found


def test_an_article_does_not_link_to_itself_nor_to_what_its_own_title_contains() -> None:
    assert TitleMatcher(TITLES).find("New York City is a city", exclude="New York City") == ("City",)


def test_of_titles_that_differ_in_case_the_same_one_is_always_meant() -> None:
    for titles in (["Pear", "PEAR"], ["PEAR", "Pear"]):
        assert TitleMatcher(titles).find("pear") == ("PEAR",)


def test_no_titles_no_links() -> None:
    assert TitleMatcher([]).find("anything") == ()
    assert TitleMatcher([""]).find("anything") == ()


@given(
    st.lists(st.text("ab c-É", min_size=1, max_size=4).filter(str.strip), max_size=8, unique=True),
    st.text("aAbB cC-éÉ", max_size=40),
    st.randoms(use_true_random=False),
)
def test_it_finds_what_a_search_title_by_title_finds(titles: list[str], text: str, chance: random.Random) -> None:
    chance.shuffle(titles)
    assert TitleMatcher(titles).find(text) == by_scanning(titles, text)


def by_scanning(titles: list[str], text: str) -> tuple[str, ...]:
    """The rule, written out: at each place the longest title that stands alone, else one place on."""
    folded = unicodedata.normalize("NFC", text).casefold()
    found: dict[str, None] = {}
    place = 0
    while place < len(folded):
        here = [
            (-len(title), title)
            for title in titles
            if re.compile(rf"(?<!\w){re.escape(title.casefold())}(?!\w)").match(folded, place)
        ]
        if here:
            length, title = min(here)
            found[title] = None
            place -= length
        else:
            place += 1
    return tuple(found)
