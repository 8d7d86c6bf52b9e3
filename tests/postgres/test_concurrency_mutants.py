"""What holds the rows is what keeps a crowd from doing wrong: with one hold less, the same crowd does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ramet.store.postgres.session import Mode, PostgresSession
from ramet.store.postgres.store import PostgresStore
from ramet.store.rows.retained_slots import FLOW
from ramet.store.session import Session
from ramet.store.store import Store
from ramet.store.verbs import claim, resources
from tests.postgres.crowd import crowd, judged, prepare

ACTORS, STEPS, TIMES = 6, 120, 6
Patch = pytest.MonkeyPatch


def rows_not_held(patch: Patch) -> None:
    patch.setattr(PostgresSession, "for_update", "")


def nobody_counts_alone(patch: Patch) -> None:
    patch.setattr(PostgresSession, "lock", lambda self, name: None)


def alone_is_beside(patch: Patch) -> None:
    begin = PostgresSession.begin

    def beside(self: PostgresSession, mode: Mode) -> None:
        begin(self, "beside" if mode == "alone" else mode)

    patch.setattr(PostgresSession, "begin", beside)


def stale_claims_count_for_nothing(patch: Patch) -> None:
    def counted(session: Session) -> object:
        session.lock(FLOW)
        return resources.in_use(session)

    patch.setattr(claim, "locked_usage", counted)
    patch.setattr(resources, "locked_usage", counted)


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(rows_not_held, marks=pytest.mark.nightly),
        nobody_counts_alone,
        pytest.param(stale_claims_count_for_nothing, marks=pytest.mark.nightly),
        # Few verbs run alone: it takes long until two of them meet.
        pytest.param(alone_is_beside, marks=pytest.mark.nightly),
    ],
)
async def test_without_it_a_crowd_does_wrong(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, mutant: Callable[[Patch], None]
) -> None:
    stores: list[Store] = [PostgresStore(postgres_url) for _ in range(ACTORS)]
    await prepare(stores[0])
    mutant(monkeypatch)
    found: list[str] = []
    for turn in range(TIMES):
        try:
            found += await judged(stores[0], await crowd(stores, f"turn{turn}-", STEPS))
        except AssertionError as error:
            found.append(str(error))
        if found:
            break
    for store in stores:
        await store.close()
    assert found, f"nobody noticed that {mutant.__name__}"
