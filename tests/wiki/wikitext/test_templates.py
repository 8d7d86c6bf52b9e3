"""Templates whose text is known without asking a wiki show it, and parser functions what they return."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest

from ramet.wiki.wikitext.templates import CONTENT_MAX, KINDS
from ramet.wiki.wikitext.words import rule_of
from tests.wiki.wikitext.pages import article, shown
from tests.wiki.wikitext.sites import ENGLISH


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a {{no such template|b}} c {{lang}} d {{convert}} e", "a c d e"),
        ("{{#if:{{unknown}}|a|b}}{{#ifeq:{{unknown}}|a|b|c}}{{#switch:{{unknown}}|a=b|c}}x", "x"),
        ("{{#expr:1/0}}{{#expr:2+}}{{#expr:(1)}}{{#expr:9 9}}{{#invoke:a|b}}{{plural:x|a|b}}x", "x"),
        (f"{{{{lang|fr|{'a' * CONTENT_MAX}}}}}x", "x"),
        ("{{infobox|a={{lang|fr|b}}|c={{convert|1|km}}}}x", "x"),
        ("{{{lang|fr|b}}}x {{lang|fr|b", "x lang|fr|b"),
    ],
)
def test_what_a_template_shows_is_left_out_if_it_is_not_known(text: str, plain: str) -> None:
    assert shown(text) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (
            "{{convert|90|km|mi|abbr=on}} {{cvt|106460000|km2}} {{convert|1,234.5|lb|kg}}",
            "90 km 106,460,000 km2 1,234.5 lb",
        ),
        (
            "{{convert|3|to|5|m}}, {{convert|3|-|5|m|ft}}, {{convert|2|by|4|by|6|in}}",
            "3 to 5 m, 3\u20135 m, 2 by 4 by 6 in",
        ),
        (
            "{{lang|de|''Wort''}} {{Lang-fr|mot}} {{langx|la|verbum}} {{transliteration|ja|ISO|kotoba}}",
            "Wort mot verbum kotoba",
        ),
        (
            "{{nihongo|'''Tokyo'''|\u6771\u4eac|T\u014dky\u014d}} {{nihongo|A}}",
            "Tokyo (\u6771\u4eac, T\u014dky\u014d) A",
        ),
        ("C''n''{{Hydrogen}} {{chem|H|2|O}} {{chem2|CO2}}", "CnH H2O CO2"),
        ("{{frac|2}} {{frac|1|2}} {{sfrac|3|1|2}}", "1\u20442 1\u20442 3+1\u20442"),
        (
            "{{As of|2010|6}}, {{as of|2010|lc=y}} {{as of|2010|alt=in 2010}} {{as of|2010|3|5|since=y}}",
            "As of June 2010, as of 2010 in 2010 Since 5 March 2010",
        ),
        (
            "{{nowrap|a [[b|c]]}} {{abbr|d|long}} {{tooltip|e|f}} {{small|1=g=h}} {{nobr|{{lang|la|i}}}}",
            "a c d e g=h i",
        ),
        (
            "{{IPAc-en|\u02c8|b|\u025c\u02d0r|_|l|lang|pron}} {{IPA-de|\u02c8fo\u02d0|lang}} {{IPA|[x]}}",
            "/\u02c8b\u025c\u02d0r l/ \u02c8fo\u02d0 [x]",
        ),
        (
            "{{birth date and age|1912|6|23}} {{death date|1954|6|7|df=y}} {{start date|1999|12}} {{start date|2001}}",
            "June 23, 1912 7 June 1954 December 1999 2001",
        ),
        (
            "at {{coord|51|30|N|0|7|W|type:city}} {{coord|1.5|-2.5}} {{coord|1|2|display=title}}",
            "at 51\u00b030\u2032N 0\u00b07\u2032W 1.5, -2.5",
        ),
        ("{{val|1234.5|0.2|e=6|u=kg}} {{val|5}}", "1,234.5\u00b10.2\u00d7106 kg 5"),
        ("{{dts||10|17}} {{dts|2014|February|28}}", "October 17 February 28, 2014"),
        (
            "({{circa}} 100) {{circa|1200|1210}} a {{sic}} {{sic|hte}} {{sic|x|y|hide=y}}",
            "(c. 100) c. 1200\u20131210 a [sic] hte [sic] xy",
        ),
        (
            "{{sortname|Ann|Lee|dab=x}} {{HMS|Hood}} {{nq|w}} {{zh|c=\u5317\u4eac|p=B\u011bij\u012bng}}",
            "Ann Lee HMS Hood w \u5317\u4eac; B\u011bij\u012bng",
        ),
        (
            "{{angbr|x}} {{respell|BER|lin}} {{US$|5}} {{hlist|a|b}} {{snds}}c{{' \"}}",
            "\u27e8x\u27e9 BER-lin US$5 a \u00b7 b \u2013 c'\"",
        ),
        ("1{{ndash}}2{{snd}}3{{mdash}}4 {{!}} 5{{=}}6", "1\u20132 \u2013 3\u20144 | 5=6"),
        (
            "''Eagle''{{'s}} 5.98{{e|24}} kg, a {{RailGauge|1435mm}} line {{USA}} {{GER}} {{France}}",
            "Eagle's 5.98\u00d71024 kg, a 1435mm line United States Germany France",
        ),
        ("A {{citation needed span|is|date=2010}} {{eqm}} B", "A is \u21cc B"),
    ],
)
def test_templates_that_show_text(text: str, plain: str) -> None:
    assert shown(text) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("{{formatnum:1234567.5}} {{formatnum:1,234|R}} {{formatnum:12}} {{FORMATNUM:x}}", "1,234,567.5 1234 12 x"),
        ("{{lc:ABC}} {{UC:abc}} {{lcfirst:ABC}} {{ucfirst:abc}} {{lc:{{ucfirst:dE}}}}", "abc ABC aBC Abc de"),
        ("{{#if:x|a|b}} {{#if: |a|b}} {{#if:|a}} {{#ifeq:1|1.0|a|b}} {{#ifeq:x|y|a|b}}", "a b a b"),
        ("{{#switch:b|a=1|b|c=2|3}} {{#switch:z|a=1|#default=4}} {{#switch:z|a=1|5}}", "2 4 5"),
        ("{{plural:1|is|are}} {{plural:2|is|are}}", "is are"),
        ("{{#expr:1+2*3-4/8}} {{#expr: -7 + 10}} {{#expr:0.1+0.2}}", "6.5 3 0.3"),
        ("{{padleft:7|3}} {{padright:ab|4|-}} {{padleft:abc|2}}", "007 ab-- abc"),
    ],
)
def test_parser_functions_of_constants(text: str, plain: str) -> None:
    assert shown(text) == plain


@pytest.mark.parametrize(
    ("language", "text", "plain"),
    [
        ("fr", "{{formatnum:3769495}} {{formatnum:1.5}} {{formatnum:1\u202f234,5|R}}", "3 769 495 1,5 1234.5"),
        ("de", "{{formatnum:3769495.25}} {{enS|word}}", "3.769.495,25 word"),
        ("es", "{{formatnum:1234}} {{formatnum:12345}}", "1234 12 345"),
        (
            "ja",
            "{{formatnum:12345}} {{lang|en|word}} {{\u8aad\u307f\u4eee\u540d|\u6771\u4eac|\u3068\u3046}}",
            "12,345 word \u6771\u4eac",
        ),
        ("fr", "{{date|23|juin|1912}} {{unité|90|km}}", "23 juin 1912 90 km"),
        (
            "fr",
            "{{84e}} {{1er mai}} {{XXe si\u00e8cle}} {{Lien|langue=en|trad=B|fr=C}} {{refnec|d}} "
            "{{heure|4|30}} {{heure|1}}",
            "84e 1er mai XXe si\u00e8cle C d 4 h 30 1 h",
        ),
        (
            "fr",
            "{{euro|5}} {{euro}} l{{'}}or {{sp|XVII|e|ou|XVIII|e}} {{s2-|XV|e|XVI|e}} {{sp|}} "
            "{{MSAPI|x}} {{Allemagne}}",
            "5 \u20ac \u20ac l\u2019or XVIIe ou XVIIIe si\u00e8cles XVe et XVIe si\u00e8cles x Allemagne",
        ),
        (
            "it",
            "{{M|1|c|m}} {{m|61.000||km/h}} {{chiarire|allora|quando?}} {{colore|red|9}} "
            "5 {{m s.l.m.}} {{JPN}} {{exp|3|6}}",
            "1 cm 61.000 km/h allora 9 5 m s.l.m. Giappone 3\u00d7106",
        ),
        ("it", "{{F|storia}}{{bandiera|ITA}}x {{TeX}}", "x TeX"),
        (
            "de",
            '{{"|Wort}} {{Deutschland}} {{DEU}} {{EUR|1234}} {{H\u00f6he|115|DE-NHN}}',
            "\u201eWort\u201c Deutschland Deutschland 1.234 115 m",
        ),
        ("pt", "{{s\u00e9c|XIII}} {{fmtn|90000}} {{dni|1|maio|1900}}", "s\u00e9culo XIII 90 000 1 maio 1900"),
        ("es", "45{{esd}}km {{siglo|XX}}", "45 km siglo XX"),
        ("ar", "x {{\u0623\u0644\u0645\u0627\u0646\u064a\u0629|Spree}}", "x Spree"),
        ("ro", "{{conversie|22|\u2013|25|C|F}}", "22\u201325 C"),
        (
            "ru",
            "{{OldStyleDate|24|\u044f\u043d\u0432\u0430\u0440\u044f|1850|12}} "
            "{{\u043d\u043f5|A|B|de}} {{\u0424\u0440\u0430\u043d\u0446\u0438\u044f}}",
            "24 \u044f\u043d\u0432\u0430\u0440\u044f 1850 (12) B \u0424\u0440\u0430\u043d\u0446\u0438\u044f",
        ),
        ("ru", "{{lang-en|word}} {{nobr|a b}}", "word a b"),
        ("zh", "{{lang|en|word}} [[\u5206\u985e:x]]", "word"),
        ("zh", "{{tsl|en|X|\u4e2d\u6587}} {{link-en|\u4e2d|X}} {{JPN}}", "\u4e2d\u6587 \u4e2d \u65e5\u672c"),
        ("ltg", "{{Vol-la|Plantae}}, {{vol-xx|a}}", "lati\u0146u: Plantae, a"),
        ("numbers", "{{default}}{{fr}}{{lang|fr|a}}", "a"),
    ],
)
def test_each_language_has_its_own_templates_and_numbers(language: str, text: str, plain: str) -> None:
    assert shown(text, replace(ENGLISH, language=language)) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[[File:a.jpg|thumb|left|On the river|221x221px]]\nx", "On the river\n\nx"),
        ("[[File:a.jpg|The [[cube]] here|thumb]]\nx", "The cube here\n\nx"),
        (
            "[[File:a.jpg|thumb|\u30d6\u30e9\u30f3\u30c7\u30f3\u30d6\u30eb\u30af\u9580]]\nx",
            "\u30d6\u30e9\u30f3\u30c7\u30f3\u30d6\u30eb\u30af\u9580\n\nx",
        ),
        (
            "[[File:a.jpg|\u0645\u0635\u063a\u0631|\u0645\u062a\u062d\u0641|200\u0628\u0643]]\nx",
            "\u0645\u062a\u062d\u0641\n\nx",
        ),
        ("[[File:a|thumb|No fit]][[File:b|thumb|Good fit]]x", "No fit\n\nGood fit\n\nx"),
        ("a.<ref>y</ref>[[File:b|thumb|Cement works]]b", "a.\n\nCement works\n\nb"),
        ("a\n__notoc__\nb", "a\n\nb"),
        ("{|\n|data||second [[Main Page|link|text]]\n|}", "data\tsecond link|text"),
        ("*b [[fr:Foo]] c", "b c"),
        ('<gallery mode=x caption="Foo bar">\nFile:a.jpg|A\n</gallery>', "Foo bar\nA"),
    ],
)
def test_captions_switches_and_links_as_mediawiki_shows_them(text: str, plain: str) -> None:
    assert shown(text) == plain


def test_every_rule_can_be_found_and_has_a_way_to_show_text() -> None:
    """A name that is not casefolded, or has an underscore, would never be met."""
    data = tomllib.loads(files("ramet.wiki.wikitext").joinpath("words.toml").read_text(encoding="utf-8"))
    found = 0
    for language in data.keys() - {"countries", "infobox", "numbers", "pictures"}:
        rules = dict(data[language])
        rules.pop("labels", None)
        for name in rules.pop("texts", {}):
            assert rule_of(name.casefold(), language) is not None, (language, name)
            found += 1
        for title, entry in rules.items():
            assert entry.keys() & {"argument", "join", "aside", "text", "own_name", "kind"}, (language, title)
            assert entry.get("kind", "circa") in KINDS, (language, title)
            for name in entry["names"]:
                asked = name.casefold().replace("#", "7").replace("-*", "-xx")
                assert asked == " ".join(asked.replace("_", " ").split()), (language, name)
                assert rule_of(asked, language) is not None, (language, name)
                found += 1
    assert found > 1_000


def test_a_template_that_holds_a_long_text_at_every_depth_is_read_in_time() -> None:
    deep = 20_000
    read = article("x " + "{{lang|fr|" * deep + "y" * CONTENT_MAX + "}}" * deep + "{{#if:1|" * deep + "z" + "}}" * deep)
    assert read.text == "x z"
