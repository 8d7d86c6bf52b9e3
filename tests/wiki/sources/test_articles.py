"""Articles: sections are cut at headings, nothing but emptiness is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.keys import InvalidKey
from ramet.wiki.pages import Article, Section, split_sections
from tests.wiki.article_texts import article_from_text


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("", ()),
        (" \n\t", ()),
        ("x", (Section("", 1, "x"),)),
        ("== H ==\nbody", (Section("H", 2, "body", "H"),)),
        ("lead\n== H ==\nbody", (Section("", 1, "lead"), Section("H", 2, "body", "H"))),
        ("lead\n==H==\nbody", (Section("", 1, "lead"), Section("H", 2, "body", "H"))),
        ("lead\n== H ==\n=== Deep ===\nbody", (Section("", 1, "lead"), Section("Deep", 3, "body", "H > Deep"))),
        ("====== Six ======\nbody", (Section("Six", 6, "body", "Six"),)),
        ("lead\n== H =\nx", (Section("", 1, "lead\n== H =\nx"),)),
        ("a == b == c", (Section("", 1, "a == b == c"),)),
        ("== a = b ==\nbody", (Section("a = b", 2, "body", "a = b"),)),
        ("= Title =\nlead", (Section("", 1, "= Title =\nlead"),)),
        ("==  ==\nlead", (Section("", 1, "==  ==\nlead"),)),
    ],
)
def test_sections_are_cut_at_headings(text: str, sections: tuple[Section, ...]) -> None:
    assert split_sections(text) == sections


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="=\r"), max_size=20), max_size=5))
def test_no_text_is_lost(bodies: list[str]) -> None:
    text = "\n".join(f"{body}\n== heading ==" for body in bodies)
    assert [section.text for section in split_sections(text)] == [body.strip() for body in bodies if body.strip()]


def test_the_lead_is_what_precedes_the_first_heading() -> None:
    assert article_from_text("T", "lead\n\nmore\n== H ==\nbody").lead == "lead\n\nmore"
    assert article_from_text("T", "== H ==\nbody").lead == ""


def test_an_article_has_a_canonical_key_and_keeps_its_display_title() -> None:
    article = article_from_text(" iota_archipelago ", "x", categories=["A ", "", "B", "A"], description=" d ")
    assert article == Article(
        "iota_archipelago", "Iota archipelago", (Section("", 1, "x"),), ("A", "B"), description="d"
    )


def test_what_is_no_title_is_refused() -> None:
    with pytest.raises(InvalidKey):
        article_from_text("  ", "text")
