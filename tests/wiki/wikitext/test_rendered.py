"""HTML of a wiki gives the sections and the text that wikitext gives, with what templates show."""

from __future__ import annotations

import pytest

from ramet.wiki.pages import Section
from ramet.wiki.wikitext.rendered import rendered_sections
from tests.wiki.wikitext.pages import article, wikitext

PAGE = """<div class="mw-parser-output"><table class="infobox vcard"><tbody><tr><td>Mayor</td></tr></tbody></table>
<div role="note" class="hatnote">Main article: X</div>
<p><b>Berlin</b> is a&#160;city<sup id="c" class="reference"><a href="#x">[1]</a></sup> of 892&nbsp;km<sup>2</sup>
&amp; more.
</p><ul><li>one</li>
<li>two<ul><li>nested</li></ul></li></ul><p>a<br />b</p>
<div class="mw-heading mw-heading2"><h2 id="H">History <i>x</i></h2><span class="mw-editsection">[edit]</span></div>
<h3><span class="mw-headline" id="A">Army</span><span class="mw-editsection">[edit]</span></h3>
<p>So <span class="mwe-math-element"><span style="display: none;"><math
alttext="{\\displaystyle x&lt;1}"><mi>x</mi></math></span><img class="mwe" alt="{\\displaystyle x&lt;1}" /></span>
holds.<style>.a{}</style><!-- not <b>this</b> --></p>
<p><span style="display:none">hidden</span>Second</p>
<table class="wikitable"><tbody><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></tbody></table>
<figure><a href="/f"><img alt="no text" src="x.png" /></a><figcaption>A view</figcaption></figure>
<h2>Empty</h2><h4>Deep</h4><pre>k  = 1
  v</pre><div class="mw-references-wrap"><ol class="references"><li>A note</li></ol></div>
<div class="navbox">Elsewhere</div><div id="toc">Contents</div></div>"""


def test_a_page_is_read_as_its_wikitext_would_be() -> None:
    assert rendered_sections(PAGE) == (
        Section("", 1, "Berlin is a city of 892 km2 & more.\n\none\ntwo\nnested\n\na\nb"),
        Section("Army", 3, "So x<1 holds.\n\nSecond\n\nA\tB\n1\t2\n\nA view", "History x > Army"),
        Section("Deep", 4, "k = 1\nv", "Empty > Deep"),
    )


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("a < b & c &lt; d &nosuch; &#0;", "a < b & c < d &nosuch; \ufffd"),
        ("<p>a</div></p></b>b", "a\n\nb"),
        ("<div class='navbox'>x<p>y</div>z", "z"),
        ("<p title='a>b' CLASS=\"reference x\">gone</p>kept", "kept"),
        ("<h1>H</h1>", ""),
        ("<b>bold</b><i>er</i> <u> u </u>", "bolder u"),
        ("a<script>if (1 < 2) { x }</script>b", "ab"),
        ("x<!-- never closed <p>", "x"),
        ("x <p title='never closed", "x"),
        ("\x02\x05 a\r\nb", "a b"),
    ],
)
def test_broken_and_odd_html_gives_text(html: str, text: str) -> None:
    assert "".join(section.text for section in rendered_sections(html)) == text


@pytest.mark.parametrize(
    "piece",
    ["<div>", "<!--", "<a ", "<a x='", "</p>", "<p><b></p>", "<h2>", "<td>", "<", "<i class=reference>", " \r\n<br>"],
)
def test_hostile_html_costs_time_in_proportion_and_raises_nothing(piece: str) -> None:
    assert all(len(section.text) < 100_000 for section in rendered_sections(piece * 50_000))


def test_links_categories_and_fields_are_those_of_the_wikitext() -> None:
    page = wikitext("{{Infobox x|a=b}} It {{links}} to [[Tarn]]. [[Category:Isles]]", html="<p>It leads to Tarn.</p>")
    read = article(page)
    assert (read.text, read.links, read.categories) == ("It leads to Tarn.", ("Tarn",), ("Isles",))
    assert '"a": "b"' in read.infobox
