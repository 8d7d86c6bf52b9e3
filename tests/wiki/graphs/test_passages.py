"""Passages cover a text, overlap, and keep sentences whole; two rankings become one."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.wiki.graphs.base import FoundPassage
from ramet.wiki.graphs.passages import OVERLAP, WORDS, cut, is_navigation, passages_of
from ramet.wiki.graphs.search import fused
from ramet.wiki.pages import Article, Section

SENTENCE = "Number {} is told of in a sentence of ten words.\n"


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in cut(text)]


@given(st.text(alphabet="ab .!?\n京都。ก\u0640", max_size=3_000))
def test_every_word_is_in_a_passage_and_passages_go_forward(text: str) -> None:
    spans = cut(text)
    covered = {place for start, end in spans for place in range(start, end)}
    assert all(place in covered for place, letter in enumerate(text) if not letter.isspace())
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert spans == sorted(spans)
    assert len({start for start, _ in spans}) == len(spans), "each begins somewhere else"


def test_a_short_text_is_one_passage_and_one_without_words_none() -> None:
    assert pieces(" A pier. \n") == ["A pier."]
    assert pieces(" \n ") == []


def test_sentences_stay_whole_and_the_last_ones_begin_the_next_passage() -> None:
    text = "".join(SENTENCE.format(number) for number in range(100))
    found = pieces(text)
    whole = {SENTENCE.format(number).strip() for number in range(100)}
    for piece in found:
        lines = piece.split("\n")
        assert set(lines) <= whole
        assert len(piece.split()) <= WORDS
    for before, after in pairwise(found):
        shared = [line for line in after.split("\n") if line in before.split("\n")]
        assert shared == before.split("\n")[-len(shared) :]
        assert 0 < len(shared) * 10 <= OVERLAP


def test_a_sentence_longer_than_a_passage_is_cut_between_words() -> None:
    words = [f"w{number}" for number in range(3 * WORDS + 7)]
    found = pieces(" ".join(words))
    assert [word for piece in found for word in piece.split()] == words
    assert [len(piece.split()) for piece in found] == [WORDS, WORDS, WORDS, 7]


def test_scripts_without_spaces_are_cut_by_their_own_marks() -> None:
    sentence = "京都市は京都府の南部に位置する市である。"
    found = pieces(sentence * 60)
    assert len(found) > 3
    assert all(piece.startswith("京都") and piece.endswith("。") for piece in found)


@pytest.mark.parametrize("text", ["." * 300_000, "a." * 150_000, "!?" * 100_000 + "a", "。" * 300_000, "\n" * 300_000,
                                  "«" * 300_000, "a" * 300_000, '."' * 100_000 + "a"])  # fmt: skip
def test_hostile_texts_are_cut_in_linear_time(text: str) -> None:
    """Quadratic time would be minutes, and end in the time limit of every test."""
    assert len(cut(text)) <= len(text)


@pytest.mark.parametrize(
    ("heading", "level", "left_out"),
    [
        ("External links", 2, True),
        ("see  also:", 2, True),
        ("Einzelnachweise", 2, True),
        ("参考文献", 2, True),
        ("Voir aussi", 2, True),
        ("Bibliography", 3, False),
        ("Literature", 2, False),
        ("History", 2, False),
        ("", 1, False),
    ],
)
def test_sections_that_only_lead_elsewhere_have_no_passages(heading: str, level: int, left_out: bool) -> None:
    section = Section(heading, level, "Some text of it.")
    assert is_navigation(section) is left_out
    assert (passages_of(Article("A", "A", (section,))) == []) is left_out


def test_headings_of_navigation_are_told_by_language() -> None:
    told = json.loads((files("ramet.wiki.graphs") / "navigation_headings.json").read_text(encoding="utf-8"))
    assert len(told) >= 30
    assert all(len(headings) == len(set(headings)) >= 3 for headings in told.values())


def found_at(key: str, score: float, start: int = 0) -> FoundPassage:
    return FoundPassage(score, key, 0, start, start + 9)


def test_two_rankings_become_one_by_shares_of_their_best() -> None:
    words = [found_at("a", 10.0, 1), found_at("b", 5.0, 1), found_at("c", 1.0, 1)]
    vectors = [found_at("b", 0.8, 2), found_at("d", 0.4, 2), found_at("a", -0.2, 2)]
    found = fused([words, vectors])
    assert [(one.title_key, round(one.score, 3)) for one in found] == [
        ("b", 0.75),
        ("a", 0.5),
        ("d", 0.25),
        ("c", 0.05),
    ]
    assert [one.start for one in found] == [2, 1, 2, 1]


def test_an_empty_ranking_and_one_without_a_best_change_no_order() -> None:
    words = [found_at("a", 2.0), found_at("b", 1.0)]
    assert [one.title_key for one in fused([words, []])] == ["a", "b"]
    assert [one.title_key for one in fused([words, [found_at("b", 0.0)]])] == ["a", "b"]
    assert fused([[], []]) == []


def test_answers_to_the_questions_are_published_one_by_one() -> None:
    """What `python -m tests.wiki.questions --answers` wrote: bars of the default search."""
    folder = Path(__file__).parents[1] / "questions"
    for name, bars in (("english", {"deep": (0.85, 0.95), "leads": (0.7, 0.95)}), ("french", {"french": (0.5, 0.9)})):
        answers = json.loads((folder / f"answers_{name}.json").read_text(encoding="utf-8"))
        for kind, (first, five) in bars.items():
            ranks = [one["rank"] for one in answers if one["kind"] == kind]
            assert len(ranks) == 20
            assert sum(rank == 1 for rank in ranks) >= 20 * first
            assert sum(rank is not None and rank <= 5 for rank in ranks) >= 20 * five
