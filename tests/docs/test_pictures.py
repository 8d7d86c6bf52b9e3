"""The pictures of docs/concepts are what their programs draw, and say in words what they show."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from xml.etree import ElementTree

import pytest

from docs import draw_concepts, draw_lifecycle
from ramet.model.task.task import TaskState
from ramet.model.task.transitions import TRANSITIONS

NAMES = "{http://www.w3.org/2000/svg}"
DRAWN: dict[str, Callable[[], str]] = {draw_lifecycle.PICTURE.name: draw_lifecycle.drawn, **draw_concepts.PICTURES}


def words_of(picture: ElementTree.Element) -> str:
    return " ".join(element.text or "" for element in picture.iter(f"{NAMES}text"))


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_what_its_program_draws(name: str) -> None:
    assert (draw_concepts.FOLDER / name).read_text(encoding="utf-8") == DRAWN[name](), "run make docs"


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_sound_for_readers_of_light_and_dark_pages_and_of_neither(name: str) -> None:
    text = DRAWN[name]()
    picture = ElementTree.fromstring(text)
    assert "prefers-color-scheme: dark" in text
    assert picture.findtext(f"{NAMES}title")
    assert len(picture.findtext(f"{NAMES}desc") or "") > 80
    styled = set(re.findall(r"\.(\w+)", picture.findtext(f"{NAMES}style") or ""))
    used = {part for element in picture.iter() for part in element.get("class", "").split()}
    assert used <= styled


@pytest.mark.parametrize("name", DRAWN)
def test_nothing_is_drawn_outside_the_paper(name: str) -> None:
    picture = ElementTree.fromstring(DRAWN[name]())
    width, height = map(float, picture.get("viewBox", "").split()[2:])
    for element in picture.iter(f"{NAMES}text"):
        characters = len(element.text or "") * 7.3
        begins = float(element.get("x", "0")) - characters * {"middle": 0.5, "end": 1.0}.get(
            element.get("text-anchor", ""), 0.0
        )
        assert begins > -8, element.text
        assert begins + characters < width + 8, element.text
        assert 0 < float(element.get("y", "0")) < height, element.text


def test_the_life_of_a_task_shows_every_transition_of_the_code() -> None:
    edges = draw_lifecycle.edges()
    for state, other in product(TaskState, TaskState):
        names = {row.name for row in TRANSITIONS if state.value in row.sources and other.value in row.targets}
        assert set(filter(None, edges.get((state.value, other.value), "").split(", "))) == names
    shown = words_of(ElementTree.fromstring(draw_lifecycle.drawn()))
    assert [row.name for row in TRANSITIONS if row.name not in shown] == []
    assert [state for state in TaskState if state not in shown] == []
