"""The French questions are those of the draw; that the English ones are is checked where they are measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ramet.wiki.sources.dataset import default_data_dir
from tests.wiki.questions import pool

QUESTIONS: dict[str, list[dict[str, str]]] = json.loads(
    (Path(__file__).parent / "questions.json").read_text(encoding="utf-8")
)


def asked(name: str) -> list[tuple[str, str]]:
    return [(one["article"], one["section"]) for one in QUESTIONS[name]]


@pytest.mark.network
def test_the_french_leads_are_those_of_the_draw() -> None:
    drawn = pool.french(default_data_dir())
    assert asked("french") == [(article.title, "") for article in drawn[:20]]


@pytest.mark.parametrize("name", ["deep", "leads", "french"])
def test_each_asks_something_else(name: str) -> None:
    questions: list[Any] = QUESTIONS[name]
    assert len({one["question"] for one in questions}) == len(questions) == 20
    assert all(one["question"].endswith("?") for one in questions)
