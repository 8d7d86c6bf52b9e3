"""Titles are read as MediaWiki reads them, and hostile ones are refused with a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.keys import InvalidKey, title_key
from ramet.wiki.wikitext.plain_text import decode_entities
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.titles import WikiTitle, namespace_number, read_title, redirect_target
from tests.wiki.wikitext.sites import DICTIONARY, ENGLISH, LATGALIAN

PIECES = st.lists(st.sampled_from([*"aZé:#%|[]{}<>&;_ /.~=\n\t\x00\u200e\ud800\u0301", "&amp;", "%3A", "fr", "File"]))


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("mercury (planet)", WikiTitle(0, "Mercury (planet)")),
        ("  plain__page _", WikiTitle(0, "Plain page")),
        ("A", WikiTitle(0, "A")),
        (":Plain page", WikiTitle(0, "Plain page")),
        ("Cafe\u0301", WikiTitle(0, "Café")),
        ("Caf%C3%A9", WikiTitle(0, "Café")),
        ("Caf&eacute;", WikiTitle(0, "Café")),
        ("Caf&#xE9;&nbsp;Noir", WikiTitle(0, "Café Noir")),
        ("AT&amp;T", WikiTitle(0, "AT&T")),
        ("100%25 pure", WikiTitle(0, "100% pure")),
        ("100% pure", WikiTitle(0, "100% pure")),
        ("\u200eLeft\u200f", WikiTitle(0, "Left")),
        ("Mercury#Orbit_and rotation", WikiTitle(0, "Mercury", "Orbit and rotation")),
        ("Mercury #Orbit", WikiTitle(0, "Mercury", "Orbit")),
        ("Mercury%23Orbit", WikiTitle(0, "Mercury", "Orbit")),
        ("Mercury#a:b", WikiTitle(0, "Mercury", "a:b")),
        ("#Orbit", WikiTitle(0, "", "Orbit")),
        ("#Talk:Orbit", WikiTitle(0, "", "Talk:Orbit")),
        ("/sub page", WikiTitle(0, "/sub page")),
        ("...And Justice", WikiTitle(0, "...And Justice")),
        ("2001: A Space Odyssey", WikiTitle(0, "2001: A Space Odyssey")),
        ("Mission: Impossible", WikiTitle(0, "Mission: Impossible")),
        ("Category:things", WikiTitle(14, "Things")),
        ("CATEGORY : things", WikiTitle(14, "Things")),
        (":category:things#x", WikiTitle(14, "Things", "x")),
        ("User_talk:someone", WikiTitle(3, "Someone")),
        ("Image:a.png", WikiTitle(6, "A.png")),
        ("Help:about: this", WikiTitle(12, "About: this")),
        ("Talk:about: this", WikiTitle(1, "About: this")),
        ("WP:NPOV", WikiTitle(4, "NPOV")),
        ("fr:simple", WikiTitle(0, "simple", "", "fr")),
        (":FR: :Simple_x#y", WikiTitle(0, "Simple x", "y", "fr")),
        ("wikt:", WikiTitle(0, "", "", "wikt")),
        ("Zh-min-nan:x", WikiTitle(0, "x", "", "zh-min-nan")),
    ],
)
def test_a_title_is_read_as_mediawiki_reads_it(raw: str, read: WikiTitle) -> None:
    assert read_title(raw, ENGLISH) == read


def test_prefixes_are_the_wikis_own() -> None:
    assert read_title("KATEGOREJA:latgola", LATGALIAN) == WikiTitle(14, "Latgola")
    assert read_title("Category:latgola", LATGALIAN) == WikiTitle(14, "Latgola")
    assert read_title("Portal:x", LATGALIAN) == WikiTitle(0, "Portal:x")
    assert read_title("xx:x", LATGALIAN) == WikiTitle(0, "Xx:x")
    assert namespace_number("user_Talk ", LATGALIAN) == 3
    assert namespace_number("nothing", LATGALIAN) is None
    assert read_title("Talk:X", Site("a file that states no namespaces")).namespace == 1


def test_a_wiki_without_capitals_keeps_the_first_letter() -> None:
    assert read_title("cat", DICTIONARY).text == "cat"
    assert read_title("Cat", DICTIONARY).text == "Cat"
    assert read_title("\u00e9 _x", DICTIONARY).text == "é x"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "is empty"),
        (" _ ", "is empty"),
        (":", "is empty"),
        ("#", "is empty"),
        ("Category:", "is empty"),
        ("Category:#x", "is empty"),
        ("::Main", "begins with a colon"),
        ("Help::x", "begins with a colon"),
        ("Bad[title]", "no title may have"),
        ("a|b", "no title may have"),
        ("a{{b}}", "no title may have"),
        ("a&lt;b", "no title may have"),
        ("a\nb", "no title may have"),
        ("a\x00b", "no title may have"),
        ("a\ud800b", "no title may have"),
        ("a%FFb", "no title may have"),
        ("a%2525b", "no title may have"),
        ("a&amp;eacute;b", "no title may have"),
        ("a~~~~", "signature"),
        ("..", "between slashes"),
        ("a/../b", "between slashes"),
        ("./a", "between slashes"),
        ("Talk:File:x", "two namespaces"),
        ("Talk:fr:x", "two namespaces"),
        ("é" * 128, "255 bytes"),
        ("a" * 100_000, "255 bytes"),
    ],
)
def test_what_can_be_no_title_is_refused_with_the_reason(raw: str, reason: str) -> None:
    with pytest.raises(InvalidKey, match=reason) as refused:
        read_title(raw, ENGLISH)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


@given(PIECES.map("".join))
def test_any_text_is_a_canonical_title_or_refused(raw: str) -> None:
    for site in (ENGLISH, DICTIONARY):
        try:
            title = read_title(raw, site)
        except InvalidKey:
            continue
        if title.text and site.capital_first and not title.interwiki:
            assert title_key(title.text) == title.text
        assert not set(title.text) & set("[]{}|<>#\n\x00\ud800")
        assert title.is_article == (title.namespace == 0 and title.text != "" and not title.interwiki)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("#REDIRECT [[Plain page]]", WikiTitle(0, "Plain page")),
        ("  \n#redirect[[plain_page#Second|shown]] {{R from subtopic}}", WikiTitle(0, "Plain page", "Second")),
        ("#Redirect : [[Caf%C3%A9]]", WikiTitle(0, "Café")),
        ("#REDIRECT [[:Category:Things]]", WikiTitle(14, "Things")),
        ("#REDIRECT [[fr:Simple]]", WikiTitle(0, "Simple", "", "fr")),
        ("#REDIRECT [[\n]] [[X]]", None),
        ("#REDIRECT Plain page", None),
        ("#REDIRECT to [[Plain page]]", None),
        ("See #REDIRECT [[Plain page]]", None),
        ("#REDIRECT [[Bad<title>]]", None),
        ("#REDIRECT [[never closed", None),
        ("", None),
    ],
)
def test_a_redirect_leads_where_mediawiki_would_follow_it(text: str, target: WikiTitle | None) -> None:
    assert redirect_target(text, ENGLISH) == target


def test_a_redirect_is_known_by_the_words_of_its_wiki() -> None:
    german = replace(ENGLISH, redirect_words=("#redirect", "#weiterleitung"))
    assert redirect_target("#WEITERLEITUNG [[Ziel]]", german) == WikiTitle(0, "Ziel")
    assert redirect_target("#Weiterleitung [[Ziel]]", ENGLISH) is None
    assert redirect_target("#REDIRECT [[Ziel]]", replace(german, redirect_words=("#weiterleitung",))) is not None


@pytest.mark.parametrize("text", ["#REDIRECT [[" + "[" * 1_000_000, "#REDIRECT [[" + "a|" * 500_000, "[[" * 500_000])
def test_a_hostile_redirect_is_looked_at_once(text: str) -> None:
    assert redirect_target(text, ENGLISH) is None


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("&lt;b&gt; &amp;amp; &#233;&#xe9;&eacute;", "<b> &amp; ééé"),
        ("a & b; &unknown; &amp &;", "a & b; &unknown; &amp &;"),
        ("&#0;&#1;&#55296;&#xD800;&#x110000;&#9999999999;", "\ufffd" * 6),
        ("&#10;&#128;", "\n\ufffd"),
    ],
)
def test_character_references_become_characters_that_can_be_kept(text: str, decoded: str) -> None:
    assert decode_entities(text) == decoded
