"""Whatever a page holds, reading it ends soon, raises nothing, and gives the same twice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramet.wiki.pages import Article, Refusal
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from tests.wiki.wikitext.pages import wikitext
from tests.wiki.wikitext.sites import ENGLISH, LATGALIAN

pytestmark = pytest.mark.proof

NESTED = 20_000
LONG = 80_000

OPENED = [
    *(
        "{{",
        "{{a|",
        "{{a|b=",
        "{{{",
        "{{{a|",
        "[[",
        "[[a|",
        "[[File:a|",
        "[[File:a|thumb|",
        "\n{|",
        "\n{|\n|",
        "\n{|\n|-\n!",
    ),
    *(
        "<div>",
        "<ref>",
        "<ref name='",
        "<b><i>",
        '<a b="',
        "<gallery>",
        "<poem>",
        "<nowiki>",
        "<pre>",
        "<math>",
        "<!--",
    ),
    *(
        "<includeonly>",
        "<ref",
        "<",
        "[",
        "[http://a ",
        "[//",
        "'",
        "''a '''b ",
        "''\n",
        "(",
        "({{a}}, ",
        "&",
        "&#x",
        "__A",
        "_",
    ),
    *(
        "\n=",
        "=",
        "\n==a",
        "\n=a=",
        "\n*",
        "\n" + ":" * 50,
        "\n;a:",
        "\n|",
        "||",
        "\n! a !!",
        "{{a|[[b|\n{|\n|<ref>",
        "-{",
        "%3",
        "|",
    ),
    *(
        "[[a|[b]",
        "[[a\n",
        "]]",
        "}}",
        "|}",
        "</ref>",
        "</div>",
        "#REDIRECT ",
        "\n",
        " ",
        "\t\n",
        "\x04 ",
        "\ud800",
        "é",
        "{{a}}",
    ),
]
CLOSED = [
    *(("{{", "}}"), ("{{a|", "}}"), ("{{{", "}}}"), ("[[", "]]"), ("[[a|", "]]"), ("[[File:a|thumb|Cap ", "]]")),
    *(
        ("\n{|\n|", "\n|}"),
        ("<div>", "</div>"),
        ("<ref>", "</ref>"),
        ("<poem>", "</poem>"),
        ("<gallery>\na|", "\n</gallery>"),
    ),
    *(
        ("<!--", "-->"),
        ("'''''", "'''''"),
        ("(", ")"),
        ("[http://a ", "]"),
        ("<nowiki>", "</nowiki>"),
        ("{{{{[[", "]]}}}}"),
    ),
]


RUNS = [
    " ",
    "\u00a0",
    "<td>",
    " <td>",
    "{{a}} ",
    " ,",
    "\n",
    "\n ",
    "=",
    "'",
    "-",
    "*",
    "_",
    "(",
    "[",
    "]",
    "{",
    "}",
    "|",
    ":",
    ";",
    "1",
    "a|",
]


def read(text: str) -> Article | Refusal:
    return parse_page(wikitext(text), ENGLISH, ParseOptions())


# Time in proportion to the text is less than a second; any other takes minutes and is stopped by the guard.
@pytest.mark.timeout(60)
@pytest.mark.parametrize("opening", OPENED)
def test_what_is_opened_and_never_closed_does_no_harm(opening: str) -> None:
    read(opening * NESTED)
    read("text " + opening * (LONG // len(opening)) + " text")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("opening", "closing"), CLOSED)
def test_what_is_nested_deeply_does_no_harm(opening: str, closing: str) -> None:
    times = LONG // len(opening + closing)
    read(opening * NESTED + "x" + closing * NESTED)
    read(f"{opening}x{closing}" * times)
    read("text " + opening * times + closing * (times // 2))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("run", RUNS)
def test_a_long_run_after_anything_does_no_harm(run: str) -> None:
    for before in (
        "{{a}}",
        "[[a|",
        "(",
        "\n|",
        "\n=",
        "[http://a ",
        "__A",
        "&",
        "<b",
        "[[File:a|",
        "[[a (",
        "<gallery>\na|[[b|",
    ):
        read(f"text {before}{run * (LONG // len(run))}text|]]</gallery>")


@pytest.mark.timeout(60)
def test_a_long_line_is_read_like_any_other() -> None:
    article = read("lorem ''ipsum'' [[dolor]] <ref>sit</ref> {{amet}} & consetetur, '''sadipscing''' " * (LONG // 80))
    assert isinstance(article, Article)
    assert article.links == ("Dolor",)
    assert len(article.sections[0].text) > LONG // 3


PIECES = st.sampled_from(
    [
        *(
            "{{",
            "}}",
            "{{{",
            "}}}",
            "[[",
            "]]",
            "[",
            "]",
            "|",
            "||",
            "\n",
            "\n\n",
            " ",
            "=",
            "==",
            "\n==",
            "==\n",
            "'",
            "''",
            "'''",
        ),
        *(
            "{|",
            "|}",
            "\n{|",
            "\n|}",
            "\n|-",
            "\n|",
            "\n!",
            "!!",
            "<",
            ">",
            "/>",
            "<ref>",
            "</ref>",
            "<ref/>",
            "<nowiki>",
        ),
        *(
            "</nowiki>",
            "<pre>",
            "</pre>",
            "<!--",
            "-->",
            "<br>",
            "<div>",
            "</div>",
            "<gallery>",
            "</gallery>",
            "<poem>",
            "</poem>",
        ),
        *(
            "<includeonly>",
            "</includeonly>",
            "<noinclude>",
            "<math>",
            "</math>",
            "*",
            "#",
            ":",
            ";",
            "1",
            "a|",
            "----",
            "__TOC__",
            "http://a",
        ),
        *(
            "File:a.jpg",
            "Category:b",
            "fr:c",
            "Talk:d",
            "thumb",
            "a",
            "Page",
            "B c",
            "é",
            "e\u0301",
            "&amp;",
            "&#0;",
            "&#xD800;",
        ),
        *(
            "\x00",
            "\x02",
            "0",
            "\x03",
            "\x04",
            "\x05",
            "\ud800",
            "\u200e",
            "\ufffd",
            "\r",
            "\t",
            "%5B",
            "#REDIRECT",
            "ref",
            "{{disambig}}",
        ),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
def test_any_text_is_an_article_or_refused_and_the_same_twice(text: str) -> None:
    for site in (ENGLISH, LATGALIAN):
        for options in (ParseOptions(), ParseOptions(links="all", disambiguation="links", links_max=2)):
            article = parse_page(wikitext(text), site, options)
            assert parse_page(wikitext(text), site, options) == article
            if isinstance(article, Refusal):
                assert "\n" not in article.detail
                continue
            said = "".join(
                (*article.categories, *(article.links or ()), *(s.heading + s.text for s in article.sections))
            )
            said.encode()
            assert not set(said) & set("\x00\x01\x02\x03\x04\x05\x7f\r")
            assert all(section.text == section.text.strip() != "" for section in article.sections)
            assert [section.level for section in article.sections].count(1) <= 1
            assert len(article.links or ()) <= options.links_max
