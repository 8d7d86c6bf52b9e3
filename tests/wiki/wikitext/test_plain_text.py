"""What a reader sees of wikitext is kept, and the markup is not."""

from __future__ import annotations

import pytest

from tests.wiki.wikitext.pages import article, shown, wikitext
from tests.wiki.wikitext.sites import LATGALIAN


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("''a'' '''b''' '''''c''''' d''e", "a b c de"),
        ("l'''amour'' d'été, '''''both'''''", "l'amour d'été, both"),
        ("''''four'''' and ''''''six''''''", "'four' and 'six'"),
        ("a'' b\nc''", "a b\nc"),
        ("[[Cat]]s, [[Dog|hounds]] and [[a_b#c|d]]", "Cats, hounds and d"),
        ("[[Mercury (planet)|]] [[Help:Editing, advanced (x)|]]", "Mercury Editing, advanced"),
        ("[[:Category:Things]] [[:File:a.png]] [[:fr:Simple]]", "Category:Things File:a.png fr:Simple"),
        ("a [[Category:Things]] b\n[[category:things|sort]]\nc", "a b\nc"),
        ("a\n[[fr:Simple]]\n[[de:Einfach]]\nb [[wikt:word]] [[wikt:word|word]]", "a\nb wikt:word word"),
        ("[[File:a.jpg|thumb|left|200px|A ''cat'' on [[mat]].]]'''Cats''' sit.", "A cat on mat.\n\nCats sit."),
        ("[[Image:a.jpg|thumb|Paris]]\nx [[File:i.png|20px|icon of it]] y", "Paris\n\nx y"),
        ("[[File:a.jpg|thumb]]\n[[File:b.jpg|mini|hochkant=1.2]]\n[[File:c.jpg]]x", "x"),
        ("[[File:a.jpg|thumb|One [[File:b.jpg|thumb|Two]] end]]", "One end"),
        ("[[File:a.jpg|thumb|[http://a.b 25° N]]] x", "25° N\n\nx"),
        (
            "[http://a.b/c?d=e label ''x''] [https://a.b] [//a.b c] [mailto:a@b.c me] [1] [sic: x]",
            "label x c me [1] [sic: x]",
        ),
        ("see http://a.b/c.", "see http://a.b/c."),
        ("a<br>b<br />c<BR/>d", "a\nb\nc\nd"),
        ("<span style=\"color:red\">a</span><sup>2</sup> <div class='x'>b</div><small>c</small>", "a2\nb\nc"),
        ("1 < 2 > 1, <stdio.h>, <a@b.c>, <unknown>", "1 < 2 > 1, <stdio.h>, <a@b.c>, <unknown>"),
        ("x<ref>note [[y]]</ref> y<ref name=a/>, z<REF name='b'>{{cite}}</REF>.", "x y, z."),
        ("a {{template|with {{nested|x}} [[link|label]]}}, b {{{argument|default}}} c", "a, b c"),
        (
            "Achilles ({{unknown|grc|x}}; {{listen|y}}, ''Akhilleus'', {{z}}) ({{only}}, {{gone}}) f()",
            "Achilles (Akhilleus) f()",
        ),
        ("a\n{{template\n|x=1\n}}\nb", "a\nb"),
        ("a <!-- comment\n== no heading == --> b", "a b"),
        (
            "<nowiki>[[a]] ''b'' {{c}} &lt;</nowiki> &lt;ref&gt; &amp;amp; &eacute;&#233;&nbsp;x",
            "[[a]] ''b'' {{c}} < <ref> &amp; éé x",
        ),
        ("a [<nowiki />[x]] b", "a x b"),
        ("a\n<pre>\n  [[x]]\n    y\n</pre>\nb", "a\n\n  [[x]]\n    y\n\nb"),
        ("<source lang=c>a[b[0]] = {{1}};</source>", "a[b[0]] = {{1}};"),
        ("<math>\n\\frac{{a}}{b}\n</math> is it", "\\frac{{a}}{b} is it"),
        ("<code>a ''b''</code>", "a b"),
        ("* a\n** b\n# c\n: d\n; e : f\n----\ng", "a\nb\nc\nd\ne : f\n\ng"),
        ("__NOTOC__ a __bez_satura__ __BEZ_SATURA__ __init__", "a __bez_satura__ __init__"),
        ("<includeonly>a</includeonly><noinclude>b</noinclude><onlyinclude>c</onlyinclude>", "bc"),
        ("<poem>\na\n''b''\n</poem>", "a\nb"),
        ("<gallery mode=x>\nFile:a.jpg|A [[b|c]]\nb.jpg|alt=no|D\nc.jpg\n</gallery>", "A c\nD"),
        ("<timeline>\nx = y\n</timeline>z<imagemap>\nrect 1 2 3 4 [[a]]\n</imagemap>", "z"),
        ("a\tb\u00a0c \u2003 d\r\ne", "a b c d\ne"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("-{zh-hans:a}- | b", "-{zh-hans:a}- | b"),
    ],
)
def test_what_is_shown_is_plain(text: str, plain: str) -> None:
    assert shown(text) == plain


@pytest.mark.parametrize(
    ("table", "plain"),
    [
        (
            '{| class="x" style="y"\n|+ Caption\n! A !! scope=col | B\n|-\n| style="z" | 1 || [[Two|2]]\n|}',
            "Caption\nA\tB\n1\t2",
        ),
        ("a\n:{|\n|\n* x\n* y\n|rowspan=2|z\n|}b", "a\n\nx\ny\nz\nb"),
        ("{|\n| a\n{|\n| b\n|}\n| c || || d\n|}\nend!", "a\n\nb\n\nc\td\n\nend!"),
        ("{{Table}}\n|-\n| a || b\n|}\n! no cell", "a\tb\n\n! no cell"),
        ("<table border=1><tr><td>a<td bgcolor=x>b</tr><tr><th>c</th></tr></table>", "a\tb\n\nc"),
        ("{|\n| never closed", "never closed"),
    ],
)
def test_tables_are_read_cell_by_cell(table: str, plain: str) -> None:
    assert shown(table) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("{{Infobox | a = [[b|c]]\nx", "Infobox | a = c\nx"),
        ("a }} b ]] c |} d", "a b c d"),
        ("[[broken link | [[nested]] x", "broken link | nested x"),
        ("[[a\nb]] [[a|b", "a\nb a|b"),
        ("<ref>never closed [[x]]", "never closed x"),
        ("<nowiki>never ''closed''", "never closed"),
        ("a <!-- never closed", "a"),
        ("'''bold ''italic", "'bold italic"),
        ("</div>x<div style=y", "x<div style=y"),
        ("[[[a]]] [http://x [[b]]]", "[a] b"),
    ],
)
def test_broken_markup_goes_and_its_text_stays(text: str, plain: str) -> None:
    assert shown(text) == plain


def test_namespaces_are_the_wikis_own() -> None:
    text = "[[Attēls:a.jpg|thumb|Caption here]]\n[[Kategoreja:Latgola]]\n[[File:b.jpg|thumb|Second one]]\nEnd"
    assert shown(text, LATGALIAN) == "Caption here\n\nSecond one\n\nEnd"


def test_no_control_character_or_surrogate_is_left() -> None:
    read = article(wikitext("a\x00b\x02\x031\x03c\x04\x05\x7f\ud800&#0;&#xD800;\x85 == d"))
    assert read.text == "ab1c\ufffd\ufffd\ufffd == d"
    read.text.encode()
