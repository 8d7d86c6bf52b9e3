"""Words are found whole and in any of their spellings, in any script, in long texts quickly enough."""

from __future__ import annotations

import pytest

from ramet.jobs.matching.words import after, before, first_word, fold, has_word


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("Entry-Level Engineer", "entry level", True),
        ("Entry–level engineer", "entry-level", True),
        ("Co-op, Software", "co op", True),
        ("International Engineer", "intern", False),
        ("Internal tools", "intern", False),
        ("Engineer (Intern)", "intern", True),
        ("SALES/SUPPORT", "support", True),
        ("C++ developer", "c", False),
        ("C developer", "c", True),
        ("a C# shop", "c#", True),
        ("Straßenbau", "strasse", False),
        ("STRASSE 5", "straße", True),
        ("営業担当", "営業", True),
        ("Менеджер по продажам", "менеджер", True),
        ("must\nrelocate", "must relocate", False),
        ("must   relocate", "must relocate", True),
        ("anything", "", False),
        ("anything", "-", False),
    ],
)
def test_a_word_is_found_whole_or_not_at_all(text: str, word: str, found: bool) -> None:
    assert has_word(fold(text), fold(word)) is found


def test_the_first_word_is_told_as_it_was_given() -> None:
    assert first_word(fold("senior sales manager"), ["Manager", "sales"]) == "Manager"
    assert first_word(fold("engineer"), ["sales", "  "]) is None


def test_neighbours_are_of_the_same_clause() -> None:
    text = fold("We ask for much. It does not need a security clearance, or does it?")
    at = text.index("security")
    assert before(text, at, 3) == ["not", "need", "a"]
    assert before(text, at, 9) == ["it", "does", "not", "need", "a"]
    assert before(text, at, 0) == []
    assert after(text, at, 5) == ["security", "clearance"]


def test_a_word_that_nearly_fits_everywhere_costs_no_more_than_reading() -> None:
    text = fold("salesa " * 150_000)
    assert not has_word(text, "sales")
    assert before(text, len(text), 2) == ["salesa", "salesa"]
