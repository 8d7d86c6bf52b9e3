"""Stores that get paths wrong, each in one way: a few histories find every one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ramet.model.paths import PathRule, nodes_of
from ramet.store.maintenance import path_followup
from ramet.store.rows import paths
from ramet.store.rows.paths import PathRow
from ramet.store.session import Session
from ramet.store.state import path_changes, path_enter, path_follow
from ramet.store.state.path_follow import SKIP, WAKE, PathWave
from tests.paths.histories import first_failure

HISTORIES = 200
"""So many at most find each of them; most need fewer than ten."""

Patches = list[tuple[Any, str, Any]]


def _nothing(*arguments: Any, **more: Any) -> None:
    """Does not do what it should."""


def _nobody(session: Session, lines: Sequence[PathRow]) -> list[None]:
    return [None] * len(lines)


def _only_the_path_itself(session: Session, lines: Sequence[PathRow]) -> None:
    rows = [(line.node, 1, line.ticket, line.seq) for line in lines]
    session.insert("ramet_path_tickets", ("node", "exact", "ticket", "seq"), rows)


def _backwards(session: Session, lines: Sequence[PathRow]) -> list[PathRow]:
    return path_enter.line_up(session, lines[::-1])


def _only_lets_go(session: Session, gone: Sequence[PathRow], looks: int = 0) -> None:
    paths.drop_tickets(session, gone)
    paths.shift_holders(session, [line for line in gone if line.holds], ())


def _without(what: str) -> Callable[[Session, Sequence[PathWave]], None]:
    def insert_waves(session: Session, waves: Sequence[PathWave]) -> None:
        _insert_waves(session, [wave for wave in waves if wave.what != what])

    return insert_waves


_insert_waves = path_follow.insert_waves
_line_of = paths.line_of


def _skips_everybody(seq: int, tracking_id: str, rule: PathRule, queue: str) -> PathRow:
    return _line_of(seq, tracking_id, rule, queue)._replace(skips=1)


def _for_everybody(seq: int, tracking_id: str, rule: PathRule, queue: str) -> PathRow:
    return _line_of(seq, tracking_id, rule._replace(scope="queue"), queue)


def _for_every_queue(seq: int, tracking_id: str, rule: PathRule, queue: str) -> PathRow:
    return _line_of(seq, tracking_id, rule, "")


def _joined(elements: tuple[str, ...], queue: str, owner: str = "") -> tuple[int, ...]:
    """["A", "B"] is ["A:B"]."""
    return tuple(nodes_of((":".join(elements[:length]),), queue, owner)[0] for length in range(1, len(elements) + 1))


MUTANTS: dict[str, Patches] = {
    "nobody looks who stands before": [(paths, "blockers", _nobody)],
    "prefixes are forgotten": [(paths, "add_tickets", _only_the_path_itself)],
    "paths are compared as joined": [(paths, "nodes_of", _joined)],
    "what is due last comes first": [(path_followup, "line_up", _backwards)],
    "nobody is looked at again": [(path_follow, "leave_line", _only_lets_go)],
    "those left to a wave are forgotten": [(path_follow, "insert_waves", _without(WAKE))],
    "a retry takes a new ticket": [(path_changes, "PATH_HOLD_SECONDS_MAX", -1.0)],
    "a ticket is kept for ever": [(path_changes, "PATH_HOLD_SECONDS_MAX", 1e9)],
    "those behind a given-up ticket stay": [(path_follow, "_waves_below", _nothing)],
    "nobody comes after a given-up ticket": [(path_follow, "held_by_waves", lambda *_, **__: {})],
    "nobody is skipped": [(path_follow, "insert_waves", _without(SKIP))],
    "everybody is skipped": [(paths, "line_of", _skips_everybody), (path_enter, "line_of", _skips_everybody)],
    "who is behind a failed one is not skipped": [(path_follow, "_end_with_waves", _nothing)],
    "a running task that is cancelled frees its path": [(path_changes, "may_still_run", lambda *_: False)],
    "a path is never let go of": [(path_changes, "_release", _nothing)],
    "lineages share their paths": [(paths, "line_of", _for_everybody), (path_enter, "line_of", _for_everybody)],
    "queues share their paths": [
        (paths, "line_of", _for_every_queue), (path_enter, "line_of", _for_every_queue),
    ],
    "revived alone": [(path_changes, "_revive_skipped", _nothing)],
}  # fmt: skip


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_store_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, attribute, wrong in MUTANTS[name]:
        assert hasattr(module, attribute), f"{attribute} is called something else by now"
        monkeypatch.setattr(module, attribute, wrong)
    assert first_failure("sqlite", range(HISTORIES)) is not None, "nobody noticed"
