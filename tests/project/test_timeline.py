"""The timeline in docs/concepts/ordering.md is what the store does with that history."""

from __future__ import annotations

import asyncio
from itertools import combinations
from xml.etree import ElementTree

import pytest

from docs import draw_timeline
from docs.draw_timeline import HISTORY, PICTURE, Asked, Ran
from ramet.model.paths import conflict


@pytest.fixture(scope="module")
def ran() -> list[Ran]:
    return asyncio.run(draw_timeline.run(HISTORY))


def test_the_picture_is_what_the_store_did(ran: list[Ran]) -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw_timeline.picture_of(ran), "run make docs"


def test_everybody_begins_as_soon_as_nobody_earlier_stands_in_the_way(ran: list[Ran]) -> None:
    assert [one.asked for one in ran] == sorted(HISTORY, key=lambda asked: asked.submitted)
    for number, one in enumerate(ran):
        earlier = [other.ended for other in ran[:number] if conflict(other.asked.path, one.asked.path)]
        assert one.began == max([one.asked.submitted, *earlier])
        assert one.ended == one.began + one.asked.takes


def test_the_history_shows_every_rule(ran: list[Ran]) -> None:
    at_once = {
        (one.asked.name, other.asked.name)
        for one, other in combinations(ran, 2)
        if one.began < other.ended and other.began < one.ended
    }
    assert ("reviewer A", "reviewer B") in at_once  # siblings
    waited = {one.asked.name: one.waited_for for one in ran if one.waited_for}
    assert waited["review"] == ("edit",)  # a child for its parent
    assert set(waited["publish"]) == {"check", "reviewer A", "reviewer B"}  # fan-in
    assert waited["index"] == ("publish",)  # nobody overtakes who waits


def test_the_picture_is_sound_for_readers_of_light_and_dark_pages_and_of_neither(ran: list[Ran]) -> None:
    text = draw_timeline.picture_of([*ran, Ran(Asked("<&>", ["<", "&"], 1, 1), ("<",), 2, 3)])
    root = ElementTree.fromstring(text)
    assert "prefers-color-scheme: dark" in text
    described = root.findtext("{http://www.w3.org/2000/svg}desc") or ""
    assert all(f"{one.asked.name} " in described for one in ran)
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"<&>", "<:&", "on <"} <= texts
