"""`--sort COLUMN` of lists: rows in the order of a column, and what was sorted where not all rows were."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.cli import options, status
from tests.cli.conftest import Cli


def column(cli: Cli, name: str, *words: str) -> list[Any]:
    return [row[name] for row in cli.documents(*words)]


def test_tasks_come_in_the_order_of_a_column_and_from_the_other_end_with_a_minus(cli: Cli) -> None:
    cli.submit("node", {"name": "r", "depth": 2, "width": 2})
    cli.work()
    depths = column(cli, "spawn_depth", "tasks", "--sort", "depth")
    assert depths == sorted(depths)
    assert depths[0] < depths[-1]
    assert column(cli, "spawn_depth", "tasks", "--sort", "-depth") == depths[::-1]
    assert column(cli, "spawn_depth", "tasks", "--sort", "-depth", "--limit", "2") == depths[::-1][:2]


def test_rows_without_a_value_come_last_in_both_orders(cli: Cli) -> None:
    ended, _ = cli.submit("node", {"name": "now"})
    cli.work()
    waiting, _ = cli.submit("node", {"name": "later"}, "--delay", "5000")
    for name in ("ended", "-ended"):
        assert column(cli, "id", "tasks", "--sort", name) == [ended, waiting]


def test_lineages_of_status_are_sorted_before_they_are_cut(cli: Cli) -> None:
    _, large = cli.submit("node", {"name": "r", "depth": 1, "width": 3})
    _, small = cli.submit("node", {"name": "s"})
    cli.work()

    def first(*words: str) -> list[str]:
        [document] = cli.documents("status", "--limit", "1", *words)
        assert document["more_lineages"]
        return [lineage["tracking_id"] for lineage in document["lineages"]]

    assert first("--sort", "tasks") == [small]
    assert first("--sort", "-tasks") == [large]


def test_the_audit_log_is_sorted_too(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    for name in ("b", "a", "c"):
        cli.good("deny-list", "add", "host", f"{name}.example")
    subjects = column(cli, "subject", "audit-log", "--sort", "to-what")
    assert len(subjects) == 3
    assert subjects == sorted(subjects)
    assert column(cli, "subject", "audit-log", "--sort", "-to-what") == subjects[::-1]


def test_blocks_come_by_key_where_that_is_asked_for(cli: Cli) -> None:
    cli.submit("node", {"name": "r", "depth": 1, "width": 3}, "--max-fan-out", "0")
    cli.work()
    keys = column(cli, "key", "blocks", "--sort", "key")
    assert len(keys) == 3
    assert keys == sorted(keys)
    assert column(cli, "key", "blocks", "--sort", "-key") == keys[::-1]


def test_a_column_that_a_list_does_not_have_is_refused_by_name(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    said = cli.bad("tasks", "--sort", "price")
    assert "'price' is not one of state, kind, key, depth, attempts, created, ended" in said
    assert "--after" in cli.bad("tasks", "--sort", "kind", "--after", "1")
    assert "--oldest" in cli.bad("tasks", "--sort", "kind", "--oldest")


def test_where_more_rows_exist_than_are_sorted_it_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (options, status):
        monkeypatch.setattr(module, "SORTED_ROWS_MAX", 2)
    for name in ("a", "b", "c"):
        cli.submit("node", {"name": name})
    assert "... sorted: the newest 2 rows only" in cli.good("tasks", "--sort", "key")
    assert "... sorted" not in cli.good("tasks", "--sort", "key", "--key", "a")
