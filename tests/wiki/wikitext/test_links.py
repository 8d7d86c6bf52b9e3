"""The links and categories of a page are those that stand in its text, wherever it is."""

from __future__ import annotations

import pytest

from ramet.wiki.pages import RefusalReason
from ramet.wiki.wikitext.parser import ParseOptions
from tests.wiki.wikitext.pages import article, refused, wikitext
from tests.wiki.wikitext.sites import LATGALIAN


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[[b]] [[C#d|e]] [[f (g)|]] [[:h]] [[Caf%C3%A9]] [[i_j]]", ("B", "C", "F (g)", "H", "Café", "I j")),
        ("[[b]] [[B]] [[b#x]] [[ b ]] [[B_|y]] [[Cafe\u0301]] [[Café]]", ("B", "Café")),
        ("[[page]] [[Page#x]] [[#x]] [[#x|y]] [[b]]", ("B",)),
        ("[[Category:x]] [[:Category:x]] [[File:x]] [[Talk:x]] [[fr:x]] [[:fr:x]] [[b]]", ("B",)),
        ("<!-- [[x]] --><nowiki>[[x]]</nowiki><pre>[[x]]</pre><source>[[x]]</source><math>[[x]]</math> [[b]]", ("B",)),
        ("<includeonly>[[x]]</includeonly><noinclude>[[b]]</noinclude><onlyinclude>[[c]]</onlyinclude>", ("B", "C")),
        ("{{t|[[b|1]]|x={{u|[[c]]}}}}", ("B", "C")),
        ("[[File:a.jpg|thumb|[[b]] and [[c|d]]]]", ("B", "C")),
        ("<ref>[[b]]<nowiki>[[x]]</nowiki></ref><references><ref>[[c]]</ref></references>", ("B", "C")),
        ("<gallery>\na.jpg|[[b]]\n</gallery><imagemap>\na.jpg\nrect 1 2 3 4 [[c|d]]\n</imagemap>", ("B", "C")),
        ("{|\n| [[b|1]] || [[c]]\n|}\n== [[d]] ==\n* [[e]]", ("B", "C", "D", "E")),
        ("[[{{x}}]] [[a{{x}}|y]] [[bad<title>]] [[a\nb]] [[a|b", ()),
        ("[[x|[[b]]]] [[c|d] e]] [[f|g\nh]] [[i|{{j}}]] [[k|<nowiki>]]</nowiki>]]", ("B", "C", "F", "I", "K")),
        ("[[b<!-- c -->]] [<nowiki/>[x]] [[[[c]]]] [ [[d]] ]", ("B", "C", "D")),
        ("[[[x]]] [[[[[x]]]]] [[http://x]] [[ //x]] [[mailto:x|y]] [[:http://b]]", ("Http://b",)),
        ("<ref>never closed [[b]] <!-- [[x]]", ("B",)),
        ("<timeline>[[x]]</timeline>", ()),
    ],
)
def test_links_are_those_of_the_text_in_reading_order(text: str, links: tuple[str, ...]) -> None:
    assert article(f"text {text}").links == links


def test_the_first_links_are_kept_where_there_are_too_many() -> None:
    text = " ".join(f"[[Target {number}]] [[target {number}]]" for number in range(1_200))
    assert article(text, options=ParseOptions(links_max=3)).links == ("Target 0", "Target 1", "Target 2")
    assert len(article(text).links or ()) == 1_200
    assert article(text, options=ParseOptions(links_max=0)).links == ()


def test_links_that_the_source_states_are_taken_where_all_are_asked_for() -> None:
    page = wikitext("[[b]]", links=("c", "Page", "C", "[no title]\x00"))
    assert article(page).links == ("B",)
    assert article(page, options=ParseOptions(links="all")).links == ("c",)
    assert article(wikitext("[[b]]"), options=ParseOptions(links="all")).links == ("B",)


def test_categories_are_named_once_and_hidden_ones_not_at_all() -> None:
    text = (
        "x [[Category:things]] [[CATEGORY : Things|sort]] [[category:Other_ones|{{PAGENAME}}]] [[:Category:No]]"
        " [[Category:All stub articles]] <nowiki>[[Category:No]]</nowiki> {{t|[[Category:In an argument]]}}"
    )
    assert article(text).categories == ("Things", "Other ones", "In an argument")
    assert article(wikitext(text, categories=("Stated", "Stated"))).categories == ("Stated",)
    assert article(wikitext(text, categories=())).categories == ()
    assert article("x [[Kategoreja:latgola]] [[category:b]]", LATGALIAN).categories == ("Latgola", "B")


@pytest.mark.parametrize(
    "text",
    [
        "a __DISAMBIG__",
        "a {{disambig}}",
        "a {{ Disambiguation |x}}",
        "a {{Template:Hndis|name=[[x]]}}",
        "{{other|{{disambig}}}} a",
        "a\n{{disambig\n| x\n}}",
    ],
)
def test_a_disambiguation_page_is_refused_or_read_as_asked(text: str) -> None:
    assert refused(text).reason is RefusalReason.DISAMBIGUATION
    assert article(text, options=ParseOptions(disambiguation="links")).lead.startswith("a")
    assert article(wikitext(text, disambiguation=False)).lead.startswith("a")


@pytest.mark.parametrize(
    "text", ["a {{disambiguation needed}} <nowiki>{{disambig}}</nowiki> {{{disambig}}}", "a <!-- {{disambig}} -->"]
)
def test_what_only_looks_like_disambiguation_is_none(text: str) -> None:
    assert article(text).lead == "a {{disambig}}" or article(text).lead == "a"
    assert refused(wikitext(text, disambiguation=True)).reason is RefusalReason.DISAMBIGUATION


@pytest.mark.parametrize("text", ["", " \n", "{{Infobox}}", "<!-- x -->", "[[Category:x]]", "\x00"])
def test_a_page_without_text_and_links_is_unparsable(text: str) -> None:
    refusal = refused(text)
    assert refusal.reason is RefusalReason.UNPARSABLE
    assert "'Page'" in refusal.detail


def test_a_page_of_links_alone_is_an_article() -> None:
    read = article("{{Navigation|[[b]]}}")
    assert (read.sections, read.links) == ((), ("B",))


def test_a_page_that_is_a_redirect_still_is_refused() -> None:
    assert refused("#redirect [[Page]]").reason is RefusalReason.REDIRECT_LOOP


def test_a_page_that_is_too_large_is_not_read() -> None:
    assert refused("é" * 2_000_001).reason is RefusalReason.TOO_LARGE
    assert article("é" * 2_000_000).lead
    assert refused("\ud800" * 4_000_001).reason is RefusalReason.TOO_LARGE


def test_what_the_source_states_is_handed_on() -> None:
    page = wikitext("a", "pAGE", description="a few words", url="https://en.example.org/wiki/PAGE")
    read = article(page)
    assert (read.title, read.key, read.revision) == ("pAGE", "PAGE", "7")
    assert (read.description, read.url) == (page.description, page.url)
