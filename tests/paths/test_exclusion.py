"""The database itself refuses two claims on conflicting paths, whatever statement asks for them (promise I7)."""

from __future__ import annotations

import pytest

from ramet.store.errors import StoreError
from ramet.store.rows import paths
from ramet.store.rows.paths import PathRow
from ramet.store.session import Session
from tests.paths.named_tasks import Desk, on

REFUSED = "(?i)check constraint"


async def run_wrongly(desk: Desk, statement: str) -> None:
    """A statement that no part of the store would run."""
    await desk.store.ensure_tables([statement])


async def waiting(desk: Desk) -> None:
    await desk.submit(on("first", "doc1", "a"), on("second", "doc1"), on("free"))
    assert await desk.start() == ["first", "free"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ramet_live SET state = 'processing', fence = fence + 1",
        "UPDATE ramet_live SET state = 'processing' WHERE state = 'pending'",
        "UPDATE ramet_live SET holds_path = 0 WHERE state = 'processing' AND holds_path = 1",
    ],
)
async def test_a_statement_that_claims_one_who_waits_is_refused(desk: Desk, statement: str) -> None:
    await waiting(desk)
    with pytest.raises(StoreError, match=REFUSED):
        await run_wrongly(desk, statement)
    assert await desk.world.states("first", "second") == ["processing", "pending"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ramet_path_holders SET holders = holders + 1",
        "UPDATE ramet_path_holders SET holders = 1 WHERE below = 1",
        "UPDATE ramet_path_holders SET below = 1 WHERE holders = 1",
        "UPDATE ramet_path_holders SET below = below - 2",
    ],
)
async def test_a_second_holder_of_a_path_is_refused(desk: Desk, statement: str) -> None:
    await waiting(desk)
    with pytest.raises(StoreError, match=REFUSED):
        await run_wrongly(desk, statement)


@pytest.mark.parametrize(
    ("first", "second"), [(("doc1",), ("doc1",)), (("doc1",), ("doc1", "a")), (("doc1", "a", "b"), ("doc1",))]
)
async def test_a_store_that_finds_nobody_in_the_way_lets_nobody_in(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    """The look for who is in the way may be wrong: the table of holders is not asked, it refuses."""

    def nobody(session: Session, lines: list[PathRow]) -> list[None]:
        return [None] * len(lines)

    await desk.submit(on("first", *first))
    assert await desk.start() == ["first"]
    with monkeypatch.context() as patch:
        patch.setattr(paths, "blockers", nobody)
        with pytest.raises(StoreError, match=REFUSED):
            await desk.submit(on("second", *second))
        await desk.submit(on("beside", "doc2"))
    assert await desk.store.get("second") is None
    assert await desk.start() == ["beside"]
