"""Paths as values: which conflict, and how they are written down (DESIGN §7). tests/paths has them on databases."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import pytest

from ramet.model.paths import (
    DEPTH_MAX,
    ELEMENT_BYTES_MAX,
    STRIPES,
    InvalidPath,
    PathPause,
    PathRule,
    PathTask,
    conflict,
    nodes_of,
    path_from,
    path_key,
    path_of,
    path_text,
    some_path,
    stripe_of,
)


def test_a_path_is_any_sequence_of_texts_and_none_is_the_empty_one() -> None:
    assert path_of(None) == path_of([]) == ()
    assert path_of(["a", ""]) == path_of(("a", "")) == ("a", "")
    assert len(path_of(["a"] * DEPTH_MAX)) == DEPTH_MAX
    assert path_of(["\xfc" * (ELEMENT_BYTES_MAX // 2)])


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ("a", "a path is a list of strings, not 'a': write path=['a']"),
        (b"a", "a path is a list of strings, not b'a': write path=[b'a']"),
        (7, "a path is a list of strings, not 7: write path=[7]"),
        (["a"] * (DEPTH_MAX + 1), "a path of 33 elements is too deep: use at most 32"),
        (["a", 7], "path element 7 is not a string: give every element as text"),
        (["a\0"], "path element 'a\\x00' contains a NUL character: leave it out"),
        (["\ud800"], "path element '\\ud800' contains a lone surrogate: leave it out"),
        (["\xfc" * 513], "a path element of 1026 bytes is too long: use at most 1024, or its hash"),
    ],
)
def test_what_is_no_path_is_refused_in_words(elements: Any, words: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        path_of(elements)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("a", "b", "together"),
    [
        (["a"], ["a"], False),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a", "c"], True),
        (["a"], ["b"], True),
        ([], ["a"], True),
        ([], [], True),
    ],
)
def test_two_paths_conflict_when_one_is_a_prefix_of_the_other(a: list[str], b: list[str], together: bool) -> None:
    assert conflict(a, b) is conflict(b, tuple(a)) is not together


def test_a_path_on_one_line_is_unambiguous() -> None:
    assert path_key([]) == "root"
    assert path_key(["a:b%", "c"]) == "a%3Ab%25:c"
    assert path_key(["a%3Ab"]) != path_key(["a:b"])


def test_a_path_comes_back_from_the_database() -> None:
    assert path_text(()) is None
    assert path_text(("a", "gr\xfcn")) == '["a","gr\xfcn"]'
    assert path_from(None) == path_from("") == ()
    assert path_from('["a","gr\xfcn"]') == ("a", "gr\xfcn")


def test_a_rule_comes_back_from_what_json_made_of_it() -> None:
    assert PathRule.restored(None) is None
    assert PathRule.restored([["a", "b"]]) == PathRule(("a", "b"), "queue", "skip", False)
    assert PathRule.restored([["a"], "lineage", "run", True]) == PathRule(("a",), "lineage", "run", True)


def test_every_prefix_has_a_number_and_shares_it_with_the_paths_that_it_conflicts_with() -> None:
    nodes = nodes_of(("a", "b"), "queue")
    assert len(nodes) == len({*nodes}) == 2
    assert nodes_of(("a",), "queue") == nodes[:1]
    assert nodes_of(("ab",), "queue")[0] not in nodes
    for other in (nodes_of(("a",), "other"), nodes_of(("a",), "queue", "lineage")):
        assert not {*other} & {*nodes}
    assert nodes_of((), "queue") == ()


def test_numbers_of_prefixes_are_the_same_in_every_version() -> None:
    """Rows that an earlier version wrote are found by them."""
    digest = blake2b(b'["q", "l"]' + b"\0\0\0\2\xc3\xbc" + b"\0\0\0\1b", digest_size=8).digest()
    assert nodes_of(("\xfc", "b"), "q", "l")[1] == int.from_bytes(digest, "big", signed=True)
    assert nodes_of(("a",), "default")[0] == -873_592_245_430_884_856
    assert all(-(2**63) <= node < 2**63 for node in nodes_of(("a",) * 32, "q"))
    assert min(nodes_of(("a",) * 32, "q")) < 0


def test_paths_with_one_first_element_are_in_one_part() -> None:
    assert STRIPES == 1_024
    assert stripe_of((1_025, 7)) == 1
    assert stripe_of((-1, 7)) == 1_023


WAITING = PathTask(
    "t", "line", "page", "key", "pending", "path", ("doc",), "default", "queue", 7, False, False, "u", 0.0, None
)  # fmt: skip
PLACES: list[tuple[str, dict[str, Any]]] = [
    ("runs", {"state": "processing", "holds": True}),
    ("ended", {"state": "cancelled", "holds": True}),
    ("next", {"holds": True}),
    ("waits", {}),
    ("gave up", {"ticket": None, "gave_up": True, "waits_for": None}),
    ("after", {"ticket": None, "gave_up": True}),
]


@pytest.mark.parametrize(("place", "fields"), PLACES, ids=[place for place, _ in PLACES])
def test_a_task_stands_in_one_place(place: str, fields: dict[str, Any]) -> None:
    assert WAITING._replace(**fields).place == place


def test_what_is_about_one_path_wants_one() -> None:
    assert some_path(["a", "b"]) == ("a", "b")
    wanted: tuple[list[str] | None, ...] = (None, [])
    for nothing in wanted:
        with pytest.raises(InvalidPath) as refused:
            some_path(nothing)
        assert str(refused.value) == "the path is empty: give at least one element"


@pytest.mark.parametrize(
    ("path", "queue", "tracking_id", "covered"),
    [
        (("a", "b"), "q", None, True),
        (["a", "b", "c"], "q", None, True),
        (("a",), "q", None, False),
        (("a", "c"), "q", None, False),
        (("b", "a", "b"), "q", None, False),
        (("a", "b"), "other", None, False),
        (("a", "b"), "q", "line", False),
    ],
)
def test_a_pause_holds_its_path_and_what_is_below_in_its_queue_and_scope(
    path: Sequence[str], queue: str, tracking_id: str | None, covered: bool
) -> None:
    assert PathPause(("a", "b"), "q", None, 5.0, "ann", None).covers(path, queue, tracking_id) is covered
    within = PathPause(("a", "b"), "q", "line", 5.0, "ann", None)
    assert within.covers(path, queue, tracking_id) is (tracking_id == "line")
