"""Markup to text: lines, references, what is no text; and markup made to hang a reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from ramet.jobs.text.markup import bounded, text_of
from tests.jobs.corpus import corpus_file

MEGABYTE = 1_000_000
PIECES = [
    "<div>", "<a ", '<a "', "<script ", "<script>", "<!--", "<", "&", "\0", "\u202e", " ", "<a b='x' ", "</", "<!",
    "<svg></svg", "<p>a</p>", "\n", "<script></scrip", "<table><td>", "<a><b><i><p>", "<svg><desc>", "<select><option>",
    "<font>", "<li>", "<math><mi>", "<b></p>", "<noscript><p>", "<td", "<ul><li>", "</div>", "&#", "&lt;", "<?",
]  # fmt: skip


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>A&nbsp;b</h1>c<div>d<br/>e</div>", "A b\nc\nd\ne"),
        ("<ul><li>one<li>two\n and\t more</ul>end", "one\ntwo and more\nend"),
        ("a<script>if (a < b) { '</p>' }</script>b<style>p {}</style>c", "a b c"),
        ("in <b>wor</b><i>ds</i>", "in words"),
        ("<!-- > no -- --->yes<!-- never closed", "yes"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></table>", "a b\nc"),
        ("<a title='>' href=\"<p>\">link</a> rest", "link rest"),
        ("&lt;p&gt; &amp;amp; &copy; &#65;&#x42; &nosuch; &#xD800;", "<p> &amp; © AB &nosuch; �"),
        ("3 < 4 and 5 > 4", "3 < 4 and 5 > 4"),
        ("<title>t</title><noscript>on</noscript><svg><text>s</text></svg><select><option>o</select>x", "x"),
        ("plain\n\n  text <b>kept</b>\n", "plain\ntext kept"),
        ("soft\u00adhy\u200bphen \u202eturned\u202c", "softhyphen turned"),
        ("<STYLE>x</Style ><P>a</P>", "a"),
        ("<stylish>kept</stylish>", "kept"),
        ("a<script", "a"),
        ("cut <p", "cut"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
        ("<br>" + "&#" + "9" * 5_000 + ";", "�"),
        ("", ""),
    ],
)
def test_text(html: str, text: str) -> None:
    assert text_of(html) == text


@given(st.text(alphabet="<>/!-&#;\"'= abp\n\0\ud800\u202e" + "é"))
def test_any_text_has_a_text_that_can_be_stored(html: str) -> None:
    text = text_of(html)
    assert "\0" not in text
    text.encode("utf-8")
    assert all(line == " ".join(line.split()) and line for line in text.split("\n") if text)


@pytest.mark.parametrize("piece", PIECES)
def test_a_megabyte_made_to_hang(piece: str) -> None:
    html = piece * (MEGABYTE // len(piece))
    assert len(text_of(html)) <= MEGABYTE
    LexborHTMLParser(bounded(html))


def test_a_megabyte_of_attributes_and_of_digits() -> None:
    assert text_of("<p a" + "/b" * MEGABYTE + ">x") == "x"
    assert bounded("<p>kept</p><p " + "b " * MEGABYTE + ">x") == "<p>kept</p>"
    assert bounded("<p>kept</p><script " + "b " * MEGABYTE + "></script>x") == "<p>kept</p>"
    assert text_of("&#" + "9" * MEGABYTE) == "�"


def test_what_a_parser_can_take_is_left_as_it_is() -> None:
    nested = "<div>" * 300 + "<p>x<li>y<br>" * 1_000 + "</div>" * 300
    assert bounded(nested) == nested
    picture = f'<p><img src="data:image/png;base64,{"iVBOR/" * 20_000}" alt="a b">' + "<p>x" * 500
    assert bounded(picture) == picture
    assert bounded("<div>" * 500 + "never").count("<div>") == 400
    LexborHTMLParser(bounded("lone \ud800"))


@pytest.mark.parametrize("name", ["jobylon_mcdonalds_se", "peoplestrong_bajaj", "talentclue_ayuda", "icims_list"])
def test_words_of_real_pages_are_those_of_a_tree(name: str) -> None:
    html = corpus_file(f"html/{name}.html").read_text(encoding="utf-8")
    assert bounded(html) == html
    tree = LexborHTMLParser(html)
    unread = "script,style,title,template,noscript,svg,iframe,object,select,textarea"
    for node in tree.css(unread):
        node.decompose()
    assert tree.body is not None
    # A tree joins what two blocks or cells say; so only the letters are compared.
    assert "".join(text_of(html).split()) == "".join(tree.body.text(separator="").split())


def test_lines_with_a_few_elements_between_stay_lines() -> None:
    lines = ["About Acme", "We build robots.", "Job Summary", "Lead our Kubernetes team.", "Requirements", "Python"]
    assert text_of("\n".join(lines) + "<br>Apply now").split("\n") == [*lines, "Apply now"]


def test_a_source_that_is_wrapped_has_no_lines_of_its_own() -> None:
    source = (
        "<p>We build robots\nthat move boxes\nfrom here to\nthere, and we\nneed a person\nwho likes it.</p><p>Now</p>"
    )
    assert text_of(source).split("\n") == [
        "We build robots that move boxes from here to there, and we need a person who likes it.",
        "Now",
    ]
