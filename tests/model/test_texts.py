"""Texts that both databases can hold: what is refused and in which words, what is mended, and where each bound is."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.values import NAME_BYTES_MAX, InvalidText, check_name, check_text, is_storable, on_one_line, storable

HALF = "\ud83d"
"""Half of a surrogate pair."""


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("", ""),
        ("plain", "plain"),
        ("two\nlines\t\x01", "two\nlines\t\x01"),
        ("grin 😀", "grin 😀"),
        ("\0", "?"),
        (f"a\0b{HALF}c\udfff\n", "a?b?c?\n"),
        ("\ud800\udbff\udc00", "???"),
        ("\ud7ff\ue000", "\ud7ff\ue000"),
    ],
)
def test_what_no_database_holds_is_found_and_becomes_a_question_mark(text: str, stored: str) -> None:
    assert storable(text) == stored
    assert is_storable(text) is (text == stored)


def test_a_text_that_is_cut_is_judged_by_what_is_left_of_it() -> None:
    assert storable("abcdef", 3) == "abc"
    assert storable("abc\0", 3) == "abc"
    assert storable("a\0cd", 3) == "a?c"
    assert storable("abc", 3) == "abc"


@pytest.mark.parametrize(
    ("text", "line"),
    [("plain é", "plain é"), ("a\nb\r\tc", "a\\nb\\r\\tc"), ("é\x00", "é\\x00"), ("\u2028x", "\\u2028x"), ("", "")],
)
def test_what_is_not_to_be_seen_is_written_as_an_escape_and_the_rest_stays(text: str, line: str) -> None:
    assert on_one_line(text) == line


REFUSED: list[tuple[Any, dict[str, int], str]] = [
    (5, {}, "reason is a int: give text"),
    (None, {}, "reason is a NoneType: give text"),
    ("a\0", {}, "reason 'a\\x00' holds a NUL or half a character (a lone surrogate): leave that out"),
    (HALF, {}, "reason '\\ud83d' holds a NUL or half a character (a lone surrogate): leave that out"),
    ("abcd", {"characters_max": 3}, "reason has 4 characters: give at most 3"),
    ("ééé", {"bytes_max": 5}, "reason '\\xe9\\xe9\\xe9' has 6 bytes: give at most 5"),
    ("x" * 60, {"bytes_max": 59}, f"reason '{'x' * 60}' has 60 bytes: give at most 59"),
    ("x" * 61, {"bytes_max": 60}, f"reason '{'x' * 57}...' has 61 bytes: give at most 60"),
    ("😀", {"bytes_max": 3}, "reason '\\U0001f600' has 4 bytes: give at most 3"),
]


@pytest.mark.parametrize(("text", "bounds", "message"), REFUSED)
def test_a_text_that_cannot_be_stored_is_refused_in_one_line_that_says_what_to_do(
    text: Any, bounds: dict[str, int], message: str
) -> None:
    with pytest.raises(InvalidText) as caught:
        check_text("reason", text, **bounds)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("", {"characters_max": 0, "bytes_max": 0}),
        ("two\nlines", {}),
        ("x" * 5_000, {}),
        ("éàü", {"characters_max": 3}),
        ("éàü", {"bytes_max": 6}),
        ("😀", {"bytes_max": 4}),
        ("abcd", {"bytes_max": 4}),
        ("abcd", {"bytes_max": 15}),
    ],
)
def test_a_text_within_its_bounds_is_taken_as_it_is(text: str, bounds: dict[str, int]) -> None:
    assert check_text("reason", text, **bounds) == text


def test_a_name_has_something_in_it_and_fits_an_index_entry() -> None:
    longest = "é" * 127 + "x"
    assert len(longest.encode()) == NAME_BYTES_MAX == 255
    assert check_name("kind", longest) == longest
    for name, message in {
        "": "kind is empty: give a name",
        longest + "x": f"kind {'é' * 57 + '...'!a} has 256 bytes: give at most 255",
        "a\0": "kind 'a\\x00' holds a NUL or half a character (a lone surrogate): leave that out",
    }.items():
        with pytest.raises(InvalidText) as caught:
            check_name("kind", name)
        assert str(caught.value) == message
