"""Every section that says something is there, under the heading that its reader sees."""

from __future__ import annotations

from ramet.wiki.pages import Markup, Page, Section
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from tests.wiki.wikitext.pages import article
from tests.wiki.wikitext.sites import ENGLISH


def sections(text: str) -> list[tuple[int, str, str]]:
    return [(section.level, section.heading, section.text) for section in article(text).sections]


def test_lead_and_short_sections_are_kept_and_empty_ones_left_out() -> None:
    text = "Lead.\n== A ==\na\n=== B ===\n\n{{only a template}}\n==== C ====\n[[Category:x]]\n== D ==\nd\n"
    assert sections(text) == [(1, "", "Lead."), (2, "A", "a"), (2, "D", "d")]


def test_a_page_without_headings_is_its_lead() -> None:
    read = article("'''A''' is a letter.")
    assert (read.lead, read.text) == ("A is a letter.", "A is a letter.")


def test_a_page_that_begins_with_a_heading_has_no_lead() -> None:
    read = article("{{Infobox}}\n== A ==\na")
    assert read.sections == (Section("A", 2, "a", "A"),)
    assert read.lead == ""


def test_a_heading_without_text_has_its_place_in_the_paths_below_it() -> None:
    text = "Lead.\n== Economy ==\n=== Army ===\n==== Overview ====\na\n=== Trade ===\nb\n== Law ==\n==== Deep ====\nd"
    assert [(section.heading, section.path) for section in article(text).sections] == [
        ("", ""),
        ("Overview", "Economy > Army > Overview"),
        ("Trade", "Economy > Trade"),
        ("Deep", "Law > Deep"),
    ]


def test_headings_are_those_that_mediawiki_shows() -> None:
    text = (
        "==A==\n1\n===''B'' [[c|d]]<ref>e</ref> {{f}}&amp;===  \n2\n=== uneven ==\n3\n== x === <!-- c -->\n4\n"
        "<!-- c -->== after ==\n5\n== no heading == x\n == nor this ==\n====\n=seven=\n8\n======= deep =======\n9\n"
        "{{anchor}}== anchored =={{x}}\n10\n<nowiki>\n== kept ==\n</nowiki>"
    )
    assert sections(text) == [
        (2, "A", "1"),
        (3, "B d &", "2"),
        (2, "= uneven", "3"),
        (2, "x =", "4"),
        (2, "after", "5\n== no heading == x\n== nor this ==\n===="),
        (2, "seven", "8"),
        (6, "= deep =", "9"),
        (2, "anchored", "10\n\n== kept =="),
    ]


def test_a_template_that_spans_headings_takes_them_with_it_and_an_open_one_does_not() -> None:
    assert sections("a {{x|\n== B ==\nb}} c\n== D ==\nd {{open|\n== E ==\ne") == [
        (1, "", "a c"),
        (2, "D", "d open|"),
        (2, "E", "e"),
    ]


def test_a_heading_of_a_template_alone_leaves_its_text() -> None:
    assert sections("a\n== {{unknown|X}} ==\nb") == [(1, "", "a"), (2, "", "b")]


def test_a_table_may_hold_headings() -> None:
    assert sections("{|\n|\n== A ==\na\n| width=1 |\n== B ==\nb\n|}") == [(2, "A", "a"), (2, "B", "b")]


def test_plain_text_is_cut_as_article_sets_are() -> None:
    page = Page(
        "Page", "Page", Markup.PLAIN, "Lead [[x]]\n== A ==\n''a''", "7", categories=("C", "C"), links=("page", "B")
    )
    read = parse_page(page, ENGLISH, ParseOptions())
    assert read == article(page)
    assert [section.text for section in article(page).sections] == ["Lead [[x]]", "''a''"]
    assert article(page).links == ("B",)
    assert article(page).categories == ("C",)
