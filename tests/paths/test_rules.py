"""The rules and the examples of the original design, and what a path is made of. Every test runs on every database."""

from __future__ import annotations

import pytest

from ramet.model.paths import path_key
from ramet.model.task.task import NewTask
from tests.paths.named_tasks import Desk, on

# --- the four rules


async def test_tasks_on_the_same_path_run_one_after_the_other(desk: Desk) -> None:
    path = ("doc1", "scope1", "branch1")
    await desk.submit(on("job1", *path), on("job2", *path), on("job3", *path))
    assert await desk.start() == ["job1"]
    assert await desk.start() == []
    await desk.end("job1")
    assert await desk.start() == ["job2"]
    await desk.end("job2")
    assert await desk.start() == ["job3"]


async def test_tasks_on_different_paths_run_in_parallel(desk: Desk) -> None:
    await desk.submit(on("job1", "doc1", "scope1"), on("job2", "doc2", "scope1"))
    assert await desk.start() == ["job1", "job2"]


async def test_a_longer_path_waits_for_its_prefix(desk: Desk) -> None:
    await desk.submit(on("job1", "doc1"), on("job2", "doc1", "operation1"))
    assert await desk.start() == ["job1"]
    await desk.end("job1")
    assert await desk.start() == ["job2"]


async def test_siblings_run_in_parallel(desk: Desk) -> None:
    await desk.submit(on("job1", "doc1", "op1"), on("job2", "doc1", "op2"))
    assert await desk.start() == ["job1", "job2"]


# --- the three examples


async def test_example_1_operations_on_documents(desk: Desk) -> None:
    await desk.submit(on("job1", "doc1"), on("job2", "doc1"), on("job3", "doc2"))
    assert await desk.start() == ["job1", "job3"]
    await desk.end("job3")
    assert await desk.start() == []
    await desk.end("job1")
    assert await desk.start() == ["job2"]


async def test_example_2_an_import_with_records_and_a_validation(desk: Desk) -> None:
    records = [on(f"record-{number}", "i", f"r{number}") for number in (1, 2, 3)]
    await desk.submit(on("import", "i"), *records, on("validate", "i", "r1", "validate"))
    assert await desk.start() == ["import"]
    await desk.end("import")
    assert await desk.start() == ["record-1", "record-2", "record-3"]
    await desk.end("record-2", "record-3")
    assert await desk.start() == []
    await desk.end("record-1")
    assert await desk.start() == ["validate"]


def review() -> list[NewTask]:
    """The document workflow of the third example."""
    return [
        on("INIT", "d"),
        on("START_REVIEW", "d", "review"),
        on("ASSIGN A", "d", "review", "A"),
        on("ASSIGN B", "d", "review", "B"),
        on("VALIDATE", "d", "validation"),
        on("PUBLISH", "d", "publish"),
    ]


async def test_example_3_a_review_workflow(desk: Desk) -> None:
    await desk.submit(*review())
    assert await desk.start() == ["INIT"]
    await desk.end("INIT")
    assert await desk.start() == ["PUBLISH", "START_REVIEW", "VALIDATE"]
    await desk.end("START_REVIEW")
    assert await desk.start() == ["ASSIGN A", "ASSIGN B"]


async def test_example_3_publication_does_not_depend_on_validation(desk: Desk) -> None:
    await desk.submit(*review())
    assert await desk.start() == ["INIT"]
    await desk.end("INIT")
    await desk.start()
    await desk.fail("VALIDATE")
    await desk.end("PUBLISH")
    assert await desk.told_of("PUBLISH") == ("success", None)


# --- keys, elements, queues, scopes


@pytest.mark.parametrize(
    ("elements", "key"),
    [
        ((), "root"),
        (("doc1",), "doc1"),
        (("doc1", "scope1", "branch1"), "doc1:scope1:branch1"),
        (("A:B",), "A%3AB"),
        (("A", "B"), "A:B"),
        (("100%",), "100%25"),
        (("a%3Ab",), "a%253Ab"),
        (("", ""), ":"),
    ],
)
def test_how_a_path_is_shown(elements: tuple[str, ...], key: str) -> None:
    assert path_key(elements) == key


async def test_no_path_constrains_nothing(desk: Desk) -> None:
    await desk.submit(on("parent", "doc1"), on("free1"), on("free2"), on("named", "root"))
    assert await desk.start() == ["free1", "free2", "named", "parent"]
    assert await desk.rows("ramet_paths") == 2


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (("A", "B"), ("A:B",)),
        (("A:B",), ("A%3AB",)),
        (("ab",), ("a", "b")),
        (("",), ("root",)),
        (("", "a"), ("a",)),
        (("\u00e9",), ("e\u0301",)),
        (("A",), ("a",)),
        (("A",), ("A ",)),
        (("/",), ("", "")),
        (("%",), ("%25",)),
        (("[]",), ("[", "]")),
        (("x" * 1_023 + "a",), ("x" * 1_023 + "b",)),
    ],
)
async def test_what_looks_alike_is_not_the_same(desk: Desk, a: tuple[str, ...], b: tuple[str, ...]) -> None:
    await desk.submit(on("a", *a), on("b", *b))
    assert await desk.start() == ["a", "b"]


@pytest.mark.parametrize(
    "element", ["", ":", "%", "/", "é", "\N{BALLOON}", "root", "'; --", "\\", '"', "\n", "x" * 1_024]
)
async def test_any_string_is_an_element(desk: Desk, element: str) -> None:
    await desk.submit(on("parent", element), on("child", element, element), on("other", element, "other"))
    assert (await desk.world.get("child")).path == (element, element)
    assert await desk.start() == ["parent"]
    await desk.end("parent")
    assert await desk.start() == ["child", "other"]


async def test_a_deep_path_waits_for_every_prefix_of_it(desk: Desk) -> None:
    elements = tuple(f"e{number}" for number in range(32))
    await desk.submit(*(on(f"at{length:02}", *elements[:length]) for length in range(1, 33)))
    assert await desk.order() == [[f"at{length:02}"] for length in range(1, 33)]


async def test_paths_of_different_queues_never_meet(desk: Desk) -> None:
    await desk.submit(on("here", "doc1"), on("there", "doc1", queue="q"), on("below", "doc1", "a", queue="q"))
    assert await desk.start(queues=("default", "q")) == ["here", "there"]
    await desk.end("here")
    assert await desk.start(queues=("default", "q")) == []
    await desk.end("there")
    assert await desk.start(queues=("default", "q")) == ["below"]


async def test_paths_meet_whatever_the_lineage_and_the_kind(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"))
    await desk.submit(on("second", "doc1", kind="image"))
    assert await desk.start() == ["first"]


async def test_a_path_with_the_scope_of_its_lineage_meets_only_those_of_it(desk: Desk) -> None:
    await desk.submit(on("a1", "doc1", scope="lineage"), on("a2", "doc1", "x", scope="lineage"))
    await desk.submit(on("b1", "doc1", scope="lineage"), on("b2", "doc1", scope="lineage"))
    await desk.submit(on("everybody", "doc1"))
    assert await desk.start() == ["a1", "b1", "everybody"]
    await desk.end("a1")
    assert await desk.start() == ["a2"]
    await desk.end("b1")
    assert await desk.start() == ["b2"]


async def test_children_on_paths_wait_as_roots_do(desk: Desk) -> None:
    await desk.submit(on("parent", "doc1"))
    await desk.start()
    await desk.spawn("parent", on("below", "doc1", "a"), on("beside", "doc2"), on("same", "doc1"))
    assert await desk.start() == ["beside"]
    await desk.end("parent", spawns=[on("last", "doc1", "a")])
    assert await desk.start() == ["below"]
    await desk.end("below")
    assert await desk.start() == ["same"]
    await desk.end("same")
    assert await desk.start() == ["last"]
