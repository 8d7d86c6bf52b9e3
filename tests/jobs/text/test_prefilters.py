"""Shortcuts of the reading rules give what the plain rules give, and no test for a word hides a match."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.matching.duplicates import _words_of
from ramet.jobs.text import areas, arrangement, salaries, technologies, word_places, work_area
from ramet.jobs.text.languages import _ENGLISH, _OTHERS, is_english
from ramet.jobs.text.markup import decoded
from tests.jobs.corpus import corpus_file

SENTENCES = (
    "this role is on-site in our office five days a week", "the position is office/site only", "location: hybrid",
    "workplace type: remote", "work model: in office", "telework type: full-time office", "remote (us only)",
    "candidates must be based in the us or canada", "you live in texas", "only open to candidates in germany",
    "limited to residents of canada living in ontario", "us citizens only", "canada-based candidates only",
    "must be a us citizen", "uk work permit required", "authorized to work in the united states", "aws d1.1 welding",
)  # fmt: skip
REFERENCES = ("&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&nbsp;", "&#x27;", "&eacute;", "&copy", "&not", "&",
              "amp;", ";", "lt;", "#39;", "a", " ", "<", "&notin;", "&amp;lt;", "&ampfoo")  # fmt: skip


def lines_of_corpus() -> list[str]:
    rows = corpus_file("listings/listings_dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [line for row in rows for line in str(json.loads(row)["description"]).splitlines() if line.strip()]


def test_no_word_before_a_rule_for_arrangements_hides_a_match() -> None:
    found = set()
    for line in [*SENTENCES, *(line.lower() for line in lines_of_corpus())]:
        for rule, how, words, pattern in arrangement._SAID:
            if pattern.search(line):
                assert any(word in line for word in words), (pattern.pattern, line)
                found.add((rule, how))
    assert {("label", how) for how in ("hybrid", "remote", "onsite")} <= found


def test_no_word_before_a_rule_for_areas_hides_a_match() -> None:
    found = set()
    for line in [*(line.title().replace("Us ", "US ") for line in SENTENCES), *SENTENCES, *lines_of_corpus()]:
        for number, kind in enumerate(work_area._statements()):
            lower = line.lower()
            if any(word in lower for word in kind.words) and kind.said.search(line):
                assert any(word in lower for word in kind.others), (kind.others, line)
                found.add(number)
    assert len(found) >= 6


def test_a_name_by_its_letters_is_found_where_a_list_of_names_finds_it() -> None:
    names = sorted((name for name in areas._marks() if name not in areas._SHORT), key=len, reverse=True)
    plain = re.compile(rf"(?<!\w)(?i:{'|'.join(map(re.escape, names))})(?!\w)")
    by_letters = re.compile(rf"(?<!\w)(?i:{areas._any_of(names)})(?!\w)")
    for line in [*names, *(f"{one}, {other}" for one, other in zip(names, names[::-1], strict=True)), *SENTENCES]:
        assert by_letters.findall(line) == plain.findall(line)


@given(st.lists(st.sampled_from([*_ENGLISH, *_OTHERS, "python", "", "\n", "the,"])))
def test_common_words_are_counted_as_an_expression_counts_them(words: list[str]) -> None:
    text = " ".join(words)
    english, others = (len(re.findall(f" (?:{'|'.join(some)}) ", text)) for some in (_ENGLISH, _OTHERS))
    assert is_english(text) is (english > 2 * others)


@given(st.lists(st.sampled_from(REFERENCES)).map("".join) | st.text())
def test_references_are_decoded_as_the_standard_library_does(text: str) -> None:
    assert decoded(text) == unescape(text).encode("utf-8", "replace").decode("utf-8")


@given(st.text() | st.text(alphabet="aé_ -\u2019\u0301\u00b2\u4e2d9\u0660\ud800"))
def test_words_of_bytes_are_those_of_an_expression(text: str) -> None:
    assert _words_of(text) == [word.encode() for word in re.findall(r"\w+", text)]


def test_the_end_of_every_sign_is_known() -> None:
    for sign in (*salaries._SIGNS, *salaries._CURRENCIES, "$", "Rs.", "RM", "Rp.", "Ft", "NIS", "NTD", "Euro"):
        lower = sign.lower()
        assert lower[-1:] in salaries._ENDS_OF_SIGNS or lower[-2:] in salaries._ENDS_OF_SIGNS, sign


@pytest.mark.parametrize("text", ["AWS D1.1", "aws-CWI", "AWS QC1", "AWS certified welder", "Welding", "AWS w"])
def test_welding_is_told_from_the_cloud(text: str) -> None:
    assert technologies._is_welding(f"Knows {text} well")
    assert not technologies._is_welding("Knows AWS and Weldon's books")


@given(
    st.lists(st.sampled_from([*word_places._registered, *work_area._OF_WHO, " ", "x", "remote office ", "o", "on-"]))
)
def test_one_pass_finds_every_word_where_a_search_for_it_does(pieces: list[str]) -> None:
    text = "".join(pieces)
    for word in word_places._registered:
        found = [match.start() for match in re.finditer(re.escape(word), text)]
        assert list(word_places.places_of_word(text, word)) == found
        assert bool(word_places.around(text, [word], 0, len(word))) is bool(found)


def test_a_word_that_is_registered_later_is_found_in_a_text_that_was_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_places, "_registered", dict(word_places._registered))
    assert word_places.places_of_word("a zeppelin, a zeppelin", "zeppelin") == ()
    word_places.searched("zeppelin")
    assert list(word_places.places_of_word("a zeppelin, a zeppelin", "zeppelin")) == [2, 14]
    monkeypatch.undo()
    word_places._automaton.cache_clear()
    word_places._places.cache_clear()
