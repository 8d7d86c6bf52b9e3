"""What a reader sees of templates and parser functions, from their arguments alone; and of pictures and their like."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet import title_key
from ramet.wiki.pages import Article, Markup, Page
from ramet.wiki.wikitext.markup import read_extensions
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from ramet.wiki.wikitext.plain_text import clean
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.templates import _SHOWN, _rules, shown
from tests.wiki.wikitext.sites import ENGLISH

FRENCH, GERMAN, RUSSIAN, JAPANESE = (replace(ENGLISH, language=code) for code in ("fr", "de", "ru", "ja"))
CORPUS = Path(__file__).parents[3].parent / "shared" / "wiki-corpus" / "enwiki-a.jsonl"


def article(text: str, site: Site = ENGLISH) -> Article:
    found = parse_page(Page("T", title_key("T"), Markup.WIKITEXT, text, "1"), site, ParseOptions())
    assert isinstance(found, Article), found
    return found


def read(text: str, site: Site = ENGLISH) -> str:
    return article(text, site).text


@pytest.mark.parametrize(
    ("text", "site", "expected"),
    [
        ("It has {{formatnum:3769495}} people and {{formatnum:0.5}}.", ENGLISH, "It has 3,769,495 people and 0.5."),
        ("Elle a {{formatnum:3769495}} habitants.", FRENCH, "Elle a 3 769 495 habitants."),
        ("Es sind {{formatnum:17000.25}}.", GERMAN, "Es sind 17.000,25."),
        ("Raw {{formatnum:1,234.5|R}} and {{formatnum:1234|NOSEP}}.", ENGLISH, "Raw 1234.5 and 1234."),
        ("No {{formatnum:number}}.", ENGLISH, "No number."),
        ("{{lc:ABC}} {{uc:abc}} {{ucfirst:word}} {{lcfirst:Word}}", ENGLISH, "abc ABC Word word"),
        ("a {{#if:x|shown|hidden}} b {{#if: |hidden|shown}} c {{#if:|hidden}}d", ENGLISH, "a shown b shown c d"),
        ("{{#ifeq:1.0|1|same|other}} {{#ifeq:a|b|same|other}}", ENGLISH, "same other"),
        ("{{#switch:b|a=1|b|c=2|#default=3}} {{#switch:z|a=1|last}} {{#switch:z|a=1|#default=3}}", ENGLISH, "2 last 3"),
        ("{{plural:1|page|pages}} {{plural:7|page|pages}} {{plural:2|one|many|2=two}}", ENGLISH, "page pages two"),
        ("{{padleft:7|3}} {{padright:7|3|x}} {{padleft:7|x}}", ENGLISH, "007 7xx 7"),
        ("{{#expr:2+3*4}} {{#expr: 7 / 2 }}", ENGLISH, "14 3.5"),
        ("a{{#expr:1/0}}b{{#expr:(1+2)*3}}c{{#expr:__import__}}d", ENGLISH, "abcd"),
        ("It is {{#if:{{unknown}}|not known|empty}}.", ENGLISH, "It is empty."),
    ],
)
def test_functions_that_need_no_template_are_computed(text: str, site: Site, expected: str) -> None:
    assert read(text, site) == expected


@pytest.mark.parametrize(
    ("text", "site", "expected"),
    [
        ("{{convert|90|km|mi|abbr=on}} long", ENGLISH, "90 km long"),
        ("{{cvt|106460000|km2|sqmi}}, {{convert|5|to|7|ft|m}}, {{convert|10|-|20|C}}", ENGLISH,
         "106,460,000 km2, 5 to 7 ft, 10–20°C"),
        ("a{{convert|x|km}}b", ENGLISH, "ab"),
        ("{{nihongo|'''Ranma'''|らんま|Ranma|extra}} is", ENGLISH, "Ranma (らんま, Ranma, extra) is"),
        ("{{nihongo|Ranma}} is", ENGLISH, "Ranma is"),
        ("{{lang|jv|Cino}} and {{lang-de|Wort}}, {{langx|fr|mot}}, {{lang-xyz|w}}", ENGLISH,
         "Cino and German: Wort, French: mot, w"),
        ("{{Nowrap|1 = a = b}} {{nobr|x}} {{small|[[A|b]]}}", ENGLISH, "a = b x b"),
        ("{{chem|H|2|O}} {{chem2|CO2}} {{frac|1|2}} {{frac|3|1|2}} {{frac|8}}", ENGLISH, "H2O CO2 1⁄2 3 1⁄2 1⁄8"),
        ("{{as of|2020|1|2}} and {{As of|lc=y|2021}}, {{as of|2020|alt=now}}", ENGLISH,
         "As of 2 January 2020 and as of 2021, now"),
        ("{{birth date|1912|6|23}}, {{birth date and age|df=yes|1970|12|1}}, {{death date|1954}}", ENGLISH,
         "June 23, 1912, 1 December 1970, 1954"),
        ("at {{coord|52|31|12|N|13|24|E|display=inline}} {{coord|1|N|2|E|display=title}}.", ENGLISH,
         "at 52°31′12″N 13°24′E."),
        ("{{val|1234.5|u=kg}} {{val|3|0.1}}", ENGLISH, "1,234.5 kg 3 ± 0.1"),
        ("{{circa|1500}} {{fl.|1200|1210}} {{snd}}a{{mdash}}b", ENGLISH, "c. 1500 fl. 1200–1210 – a—b"),
        ("{{IPAc-en|lang|ˈ|æ|l}} {{IPA-de|x}} {{respell|al|BAY}}", ENGLISH, "/ˈæl/ x al-BAY"),
        ("{{USS|Enterprise|CV-6}} {{ship|HMS|Hood}}", ENGLISH, "USS Enterprise (CV-6) HMS Hood"),
        ("{{ill|Some Title|de|Titel}} {{ill|T|de|lt=shown}}", ENGLISH, "Some Title shown"),
        ("{{Template:nowrap|a}} {{NOWRAP|b}} {{no_wrap|c}}", ENGLISH, "a b"),
        ("{{unité|12500|km}}, {{s-|XIX|e}}, {{date|1|mai|2000}}, {{citation|mot}}", FRENCH,
         "12 500 km, XIXe siècle, 1 mai 2000, « mot »"),
        ("{{Höhe|1234}}", GERMAN, "1.234 m"),
        ("{{не переведено|Статья|текст}} {{s|слово}}", RUSSIAN, "текст слово"),
        ("{{読み仮名|東京|とうきょう}}は", JAPANESE, "東京（とうきょう）は"),
        ("x{{convert|1|km}}y", FRENCH, "x1 kmy"),
        ("{|\n| a {{!}} b\n|}", ENGLISH, "b"),
        ("a {{nowrap|{{lang|de|{{small|tief}}}}}} b", ENGLISH, "a tief b"),
        ("{{{1|default}}} {{{{{x}}}}} {{unknown|{{nowrap|a}}}}z", ENGLISH, "z"),
    ],
)  # fmt: skip
def test_templates_show_what_their_arguments_say(text: str, site: Site, expected: str) -> None:
    assert read(text, site) == expected


@pytest.mark.parametrize("language", ["", "en", "fr", "de", "es", "it", "nl", "pt", "pl", "ru", "uk", "ja", "zh", "xx"])
def test_every_rule_is_one(language: str) -> None:
    rules = _rules(language)
    for name, rule in rules.items():
        assert name == name.lower() or name.endswith("-*"), name
        assert not rule.startswith("=") or rule == "=" or rule[1:] in rules, name
        assert not rule.startswith("@") or rule[1:] in _SHOWN, name
        assert rule.count("[") == rule.count("]")
        assert rule.count("{") == rule.count("}")


@given(st.text(alphabet="ab|={}[]#: \n123", max_size=200))
def test_no_content_raises(content: str) -> None:
    for name in ("convert|", "#switch:", "formatnum:", "coord|", "nihongo|", "#expr:", "as of|", "val|", "frac|", ""):
        found = shown(name + content, ENGLISH)
        assert found is None or len(found) <= 3 * len(name + content) + 600


@pytest.mark.parametrize(
    "text",
    ["{{nowrap|" * 20_000 + "x" + "}}" * 20_000, "{{#if:a|" * 20_000, "{{lang|de|" + "[[a|" * 50_000 + "}}",
     "{{#switch:" + "|a=" * 100_000 + "}}", "{{nowrap|" + "a|" * 100_000 + "}}", "{{nowrap|x}}" * 30_000,
     ("{{small|" * 9 + "word " * 300 + "}}" * 9) * 100, "{{padleft:1|500|ab}}" * 5_000, "[[File:a|thumb|" * 5_000,
     "[[File:a|thumb|x]]" * 20_000],
)  # fmt: skip
def test_hostile_templates_are_read_in_linear_time(text: str) -> None:
    """Quadratic time would end in the time limit of every test."""
    parse_page(Page("T", "T", Markup.WIKITEXT, text, "1"), ENGLISH, ParseOptions())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[File:A.jpg|thumb|left|A dam on the river|221x221px]]\nText.", "A dam on the river\n\nText."),
        ("[[File:A.svg|The [[cube]], an image|thumb]]\nText.", "The cube, an image\n\nText."),
        ("[[File:A.jpg|thumb|凱旋門]]\nText.", "凱旋門\n\nText."),
        ("[[File:A.jpg|мини|Рейхстаг]]\nText.", "Рейхстаг\n\nText."),
        ("[[File:A.jpg|thumb|caption]]\nText.", "caption\n\nText."),
        ("[[File:A.jpg|thumb|One]][[File:B.jpg|thumb|Two words]]Text.", "One\n\nTwo words\n\nText."),
        ("A word.<ref>x</ref>[[File:B.jpg|thumb|A factory]]Next.", "A word.\n\nA factory\n\nNext."),
        ("[[File:A.jpg|vignette|droite|redresse=1.2|Un mot|alt=x]]\nText.", "Un mot\n\nText."),
        ("Flag [[File:F.svg|20px|Flag]] of it.", "Flag of it."),
        ("[[File:A.jpg|right|200px]]\nText.", "Text."),
        ('<gallery caption="Views" mode=packed>\nA.jpg|One\n</gallery>', "Views\nOne"),
        ("a\n__notoc__\nb __NOEDITSECTION__ __Index__ __dunder__", "a\n\nb __dunder__"),
        ("{|\n|data||second [[A|b|with bar]]\n|}", "data\tsecond b|with bar"),
        ("*b [[de:Foo]] [[:de:Foo]]", "b de:Foo"),
    ],
)
def test_pictures_switches_and_labels(text: str, expected: str) -> None:
    assert read(text) == expected


def test_a_heading_without_text_has_its_place_in_the_paths_below_it() -> None:
    text = (
        "Lead.\n== Economy ==\n=== Army ===\n==== Overview ====\na\n=== Trade ===\nb\n== Law ==\nc\n==== Deep ====\nd"
    )
    assert [(section.heading, section.path) for section in article(text).sections] == [
        ("", ""),
        ("Overview", "Economy > Army > Overview"),
        ("Trade", "Economy > Trade"),
        ("Law", "Law"),
        ("Deep", "Law > Deep"),
    ]


NO_TEXT = frozenset(
    (
        "citation needed|cn|fact|rp|sfn|sfnp|sfnm|refn|efn|ref|note|clarify|when|who|which|where|by whom"
        "|page needed|vague|legend|failed verification|better source|better source needed|dead link|flagicon"
        "|flagicon image|clear|anchor|see also|main|disputed inline|verify source|unreliable source?|full"
        "|according to whom|update inline|inflation-fn|harvnb|harv|audio|listen|cite web|cite book|cite journal"
        "|cite news|citation|r|#tag:ref|update after|refimprove|dubious|specify|notetag|citation needed span"
        "|original research inline|portal|commons|webarchive|cbignore|-|authority control|defaultsort"
    ).split("|")
)
"""Templates that stand in sentences and have no text of their own: notes, marks for editors, pictures."""


@pytest.mark.skipif(not CORPUS.is_file(), reason="the shared wiki corpus is not beside this repository")
def test_of_two_hundred_sentences_at_most_one_loses_the_text_of_a_template() -> None:
    sentences, lost = 0, Counter[str]()
    with CORPUS.open(encoding="utf-8") as lines:
        for line in lines:
            raw = json.loads(line)
            if raw["redirect"] is not None or raw["ns"] != 0:
                continue
            for sentence in _sentences("".join(read_extensions(clean(raw["wikitext"])).text)):
                sentences += 1
                names = [found[1] for found in re.finditer(r"\{\{([^{}]*)\}\}", sentence)]
                gone = {name.partition("|")[0].strip().lower() for name in names if shown(name, ENGLISH) is None}
                lost.update(min(gone - NO_TEXT, default=None) and ["sentence", *(gone - NO_TEXT)])
    assert sentences > 1_000
    assert lost["sentence"] <= sentences * 0.005, lost.most_common(20)


def _sentences(text: str) -> list[str]:
    paragraphs = [line for line in text.split("\n") if line and line[0] not in "{|!*#:;=["]
    return [one for line in paragraphs for one in re.split(r"(?<=[.!?])\s+", line) if len(one.split()) >= 5]
